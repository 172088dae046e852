//! The places of a model that can be switched.

/// A stack of layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stack {
    Encoder,
    Decoder,
}

impl Stack {
    pub fn name(self) -> &'static str {
        match self {
            Self::Encoder => "encoder",
            Self::Decoder => "decoder",
        }
    }
}

/// A block of a layer. Vaswani et al. 2017, section 3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Block {
    /// Self-attention, or the recurrent unit in its place.
    SelfAttention,
    Cross,
    FeedForward,
}

impl Block {
    pub const ALL: [Self; 3] = [Self::SelfAttention, Self::Cross, Self::FeedForward];

    pub fn name(self) -> &'static str {
        match self {
            Self::SelfAttention => "self",
            Self::Cross => "cross",
            Self::FeedForward => "feed-forward",
        }
    }
}

/// A part of a block or of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// The block itself.
    Whole,
    Residual,
    Norm,
    Scale,
    Query,
    Key,
    /// A head, or every head.
    Head(Option<usize>),
    Positions,
}

/// The layers that a switch names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layers {
    /// Not named: the whole stack, its ends included.
    Whole,
    /// `*`
    Every,
    One(usize),
}

/// The place that a switch names; what it does not name is everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub stack: Option<Stack>,
    pub layers: Layers,
    pub block: Option<Block>,
    pub part: Part,
}

/// One place of a model. Without a layer and block: before the first layer or after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Target {
    pub stack: Stack,
    pub layer: Option<usize>,
    pub block: Option<Block>,
    pub part: Part,
}

impl Place {
    /// Reads `[STACK.][LAYER.][BLOCK.]PART`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words: Vec<&str> = text.split('.').collect();
        words.reverse(); // the next word is the last
        let stack =
            [Stack::Encoder, Stack::Decoder].into_iter().find(|stack| words.last() == Some(&stack.name()));
        if stack.is_some() {
            words.pop();
        }
        let layers = match (stack, words.last()) {
            (Some(_), Some(&"*")) => Layers::Every,
            (Some(_), Some(word)) => word.parse().map_or(Layers::Whole, Layers::One),
            _ => Layers::Whole,
        };
        if layers != Layers::Whole {
            words.pop();
        }
        let block = Block::ALL.into_iter().find(|block| words.last() == Some(&block.name()));
        if block.is_some() {
            words.pop();
        }
        words.reverse();
        let part = match (&words[..], block) {
            ([], Some(_)) => Part::Whole,
            (["residual"], _) => Part::Residual,
            (["norm"], _) => Part::Norm,
            (["positions"], None) if layers == Layers::Whole => Part::Positions,
            (["scale"], _) => Part::Scale,
            (["query"], _) => Part::Query,
            (["key"], _) => Part::Key,
            (["head", "*"], _) => Part::Head(None),
            (["head", number], _) => Part::Head(Some(number.parse().ok()?)),
            _ => return None,
        };
        Some(Self { stack, layers, block, part })
    }

    /// Whether the place includes a place of a model.
    pub fn includes(&self, target: &Target) -> bool {
        let layer = match self.layers {
            Layers::Whole => true,
            Layers::Every => target.layer.is_some(),
            Layers::One(layer) => target.layer == Some(layer),
        };
        let part = match (self.part, target.part) {
            (Part::Head(None), Part::Head(_)) => true,
            (own, other) => own == other,
        };
        let stack = self.stack.is_none_or(|stack| stack == target.stack);
        layer && part && stack && self.block.is_none_or(|block| Some(block) == target.block)
    }

    /// Order of places that include the same one: the greatest decides.
    pub fn rank(&self) -> impl Ord + use<> {
        let one_head = matches!(self.part, Part::Head(Some(_)));
        (self.layers, self.block.is_some(), self.stack.is_some(), one_head)
    }
}
