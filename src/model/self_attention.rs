//! The kinds of self-attention that a layer can have.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::shape::LOW_RANK_LENGTH;
use crate::sorting;

/// What the tokens of a layer see of one another, and how they weigh it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum SelfAttentionKind {
    /// Every token sees all: `full`. Vaswani et al. 2017, section 3.2.
    #[default]
    Full,
    /// A token sees its neighbours: `window:R`, also with a few tokens that see and are seen by all:
    /// `window:R+global:TOKENS`. Beltagy et al. 2020, "Longformer", section 3.1.
    Window {
        /// Neighbours on each side.
        radius: usize,
        /// Tokens that see all and are seen by all.
        globals: Globals,
    },
    /// A token sees its neighbours, and the sums of blocks of tokens: `transient-global:R`, in models with weights for it.
    /// Guo et al. 2022, "LongT5", section 3.1.
    TransientGlobal {
        /// Neighbours on each side.
        radius: usize,
    },
    /// A token sees its block of tokens, the two beside it, the first and the last one: `blocks:SIZE`. Tokens of the first
    /// and of the last block see all. Zaheer et al. 2020, "Big Bird", section 2.
    Blocks(TokenBlocks),
    /// All tokens have the same weight: `uniform`.
    Uniform,
    /// The keys are the queries: `shared-qk`. Kitaev et al. 2020, "Reformer", section 2.
    SharedQk,
    /// Keys and values are projected along the length: `linformer:K`. Wang et al. 2020, "Linformer". A layer without learned
    /// projections replaces each by the nearest matrix of rank K.
    Linformer {
        /// Rows after the projection. A text of up to so many tokens is attended to in full.
        rank: usize,
        /// Whether the layer has learned projections to so many rows. A choice does not say so: the model does.
        is_learned: bool,
    },
    /// Scores are v · tanh(q + k), v a vector of equal numbers: `additive`. Bahdanau et al. 2015, appendix A.1.2, where v
    /// is learned.
    Additive,
}

impl SelfAttentionKind {
    /// The longest text whose keys and values are projected, tokens.
    pub const LINFORMER_LIMIT: usize = LOW_RANK_LENGTH;
}

/// The blocks of a text, for [`SelfAttentionKind::Blocks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenBlocks {
    /// Tokens of a block; the last block of a text has those that are left over.
    pub size: usize,
    /// Blocks that training drew at random for each block. Otherwise each of them is the first block again, as in Hugging
    /// Face's classes, so that its keys count as many times more: `blocks:SIZE+random:COUNT`.
    pub random: usize,
}

impl TokenBlocks {
    /// Most tokens of a block, and most random blocks.
    pub const LIMIT: usize = 1 << 12;

    /// The longest text whose tokens see all others, as in Hugging Face's classes.
    pub fn full_length(self) -> usize {
        (5 + 2 * self.random) * self.size
    }

    /// Tokens of the first block and of the last one.
    pub fn end_tokens(self) -> usize {
        2 * self.size
    }
}

/// Tokens of a text that see all tokens, and are seen by all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Globals {
    /// No token.
    #[default]
    None,
    /// Those that each request names.
    Requested,
    /// These tokens of every text, ascending from 0.
    Tokens(Vec<usize>),
}

/// An error in the name of a kind, or in the choice of layers.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SelfAttentionError {
    /// A kind that does not exist.
    #[error(
        "there is no kind of attention {0:?}; kinds are full, window:R, window:R+global:TOKENS, transient-global:R, \
         blocks:SIZE, blocks:SIZE+random:COUNT, linformer:K, additive, uniform and shared-qk, window:8 for example"
    )]
    Kind(String),
    /// A rank of 0, or that is no number.
    #[error("{0:?}: keys and values are projected to 1 dimension or more, linformer:32 for example")]
    Rank(String),
    /// A text that is too long for a projection.
    #[error(
        "{kind} projects texts of {limit} tokens at most, but this one has {length}: the time grows with the square of the \
         length; window:R has no limit"
    )]
    TooLong {
        /// The kind.
        kind: String,
        /// Tokens of the text.
        length: usize,
        /// Most tokens.
        limit: usize,
    },
    /// Learned projections to more rows than a text can have tokens.
    #[error(
        "{kind} projects to more rows than the model's {positions} positions; take linformer:{positions} or fewer"
    )]
    RankBeyond {
        /// The kind.
        kind: String,
        /// Most tokens of a text.
        positions: usize,
    },
    /// Learned projections for a family that has no place for them.
    #[error(
        "{kind}: this \"{model_type}\" model has no place for learned projections; encoder–decoders with positions do: marian, bart, \
         mbart, m2m_100, pegasus, vanilla_transformer"
    )]
    NoPlace {
        /// The kind.
        kind: String,
        /// Family of the model.
        model_type: &'static str,
    },
    /// A window without neighbours, or that is no number.
    #[error("{0:?}: a window has 1 neighbour on each side or more, window:8 for example")]
    Window(String),
    /// Global tokens that are no list of numbers.
    #[error("{0:?}: global tokens are numbers from 0, joined by +, window:8+global:0+5 for example")]
    Globals(String),
    /// Blocks without tokens, or numbers that are none.
    #[error(
        "{0:?}: a block has 1 to {limit} tokens, and each block 0 to {limit} random ones, blocks:64 or \
         blocks:64+random:3 for example",
        limit = TokenBlocks::LIMIT
    )]
    Blocks(String),
    /// A selector that names no layer.
    #[error(
        "{0:?}: LAYER=KIND is needed, encoder.2=window:8 or encoder.*=window:8 for example, joined by commas"
    )]
    Selector(String),
    /// A layer that is chosen twice.
    #[error("the attention of {0} is chosen twice")]
    Twice(String),
    /// A layer that the model lacks.
    #[error("there is no layer {layer} to choose the attention of: the model has {}", available(*.layers))]
    Layer {
        /// Selector of the layer.
        layer: String,
        /// Number of encoder layers.
        layers: usize,
    },
    /// Uniform attention for a layer with a switch of its scores.
    #[error(
        "encoder.{layer}=uniform has no scores, which the switch {switch} changes; leave one of them out"
    )]
    Scores {
        /// Index of the layer.
        layer: usize,
        /// The switch.
        switch: String,
    },
    /// Self-attention of a decoder, whose kind is fixed.
    #[error("{0}: only an encoder's self-attention can have another kind; encoder.* names all of its layers")]
    Decoder(String),
    /// Sums of blocks for a model without weights for them.
    #[error("{kind} needs weights that this \"{model_type}\" model does not have; window:R needs none")]
    NoWeights {
        /// The kind.
        kind: String,
        /// Family of the model.
        model_type: &'static str,
    },
    /// Blocks, or learned projections, for a model whose scores depend on distances.
    #[error(
        "{kind}: this \"{model_type}\" model adds a bias for the distance of two tokens, which this kind has no place for; \
         window:R has one"
    )]
    Distances {
        /// The kind.
        kind: String,
        /// Family of the model.
        model_type: &'static str,
    },
    /// Global tokens for a model that takes none.
    #[error(
        "this \"{model_type}\" model takes no global tokens from a request; `window:R+global:TOKENS` gives its layers some"
    )]
    NoGlobals {
        /// Family of the model.
        model_type: &'static str,
    },
    /// A global token beyond the text.
    #[error("global token {token} is beyond the text of {length} tokens; they count from 0")]
    GlobalBeyond {
        /// The token.
        token: usize,
        /// Tokens of the text.
        length: usize,
    },
    /// Layers with different blocks.
    #[error("all layers with blocks must have the same, but one has {first} and another {second}")]
    DifferentBlocks {
        /// Blocks of the first layer with any.
        first: String,
        /// Other blocks.
        second: String,
    },
    /// Layers with different global tokens.
    #[error("all layers must have the same global tokens, but one has {first} and another {second}")]
    DifferentGlobals {
        /// Tokens of the first layer with any.
        first: String,
        /// Other tokens.
        second: String,
    },
}

fn available(layers: usize) -> String {
    match layers {
        0 => "no encoder".to_owned(),
        _ => format!("encoder layers 0 to {}", layers - 1),
    }
}

impl fmt::Display for Globals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Requested => f.write_str("those of the request"),
            Self::Tokens(tokens) => {
                f.write_str(&tokens.iter().map(usize::to_string).collect::<Vec<_>>().join("+"))
            }
        }
    }
}

impl fmt::Display for SelfAttentionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("full"),
            Self::Window { radius, globals: Globals::None } => write!(f, "window:{radius}"),
            Self::Window { radius, globals: Globals::Requested } => write!(f, "window:{radius}+global"),
            Self::Window { radius, globals } => write!(f, "window:{radius}+global:{globals}"),
            Self::TransientGlobal { radius } => write!(f, "transient-global:{radius}"),
            Self::Blocks(TokenBlocks { size, random: 0 }) => write!(f, "blocks:{size}"),
            Self::Blocks(TokenBlocks { size, random }) => write!(f, "blocks:{size}+random:{random}"),
            Self::Uniform => f.write_str("uniform"),
            Self::SharedQk => f.write_str("shared-qk"),
            Self::Linformer { rank, .. } => write!(f, "linformer:{rank}"),
            Self::Additive => f.write_str("additive"),
        }
    }
}

impl FromStr for SelfAttentionKind {
    type Err = SelfAttentionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        match (name, value) {
            ("full", "") => Ok(Self::Full),
            ("uniform", "") => Ok(Self::Uniform),
            ("shared-qk", "") => Ok(Self::SharedQk),
            ("additive", "") => Ok(Self::Additive),
            ("linformer", rank) => match rank.parse() {
                Ok(rank @ 1..) => Ok(Self::Linformer { rank, is_learned: false }),
                _ => Err(SelfAttentionError::Rank(text.to_owned())),
            },
            ("transient-global", radius) => match radius.parse() {
                Ok(radius @ 1..) => Ok(Self::TransientGlobal { radius }),
                _ => Err(SelfAttentionError::Window(text.to_owned())),
            },
            ("blocks", value) => match blocks(value) {
                Some(blocks) => Ok(Self::Blocks(blocks)),
                None => Err(SelfAttentionError::Blocks(text.to_owned())),
            },
            ("window", value) => {
                let (radius, globals) = match value.split_once("+global:") {
                    None => (value, Globals::None),
                    Some((radius, tokens)) => (radius, global_tokens(text, tokens)?),
                };
                match radius.parse() {
                    Ok(radius @ 1..) => Ok(Self::Window { radius, globals }),
                    _ => Err(SelfAttentionError::Window(text.to_owned())),
                }
            }
            _ => Err(SelfAttentionError::Kind(text.to_owned())),
        }
    }
}

/// Reads `SIZE` or `SIZE+random:COUNT`.
fn blocks(value: &str) -> Option<TokenBlocks> {
    let (size, random) = value.split_once("+random:").unwrap_or((value, "0"));
    let (size, random) = (size.parse().ok()?, random.parse().ok()?);
    let is_sound = (1..=TokenBlocks::LIMIT).contains(&size) && random <= TokenBlocks::LIMIT;
    is_sound.then_some(TokenBlocks { size, random })
}

fn global_tokens(text: &str, tokens: &str) -> Result<Globals, SelfAttentionError> {
    let numbers: Result<Vec<usize>, _> = tokens.split('+').map(str::parse).collect();
    let mut numbers = numbers.map_err(|_| SelfAttentionError::Globals(text.to_owned()))?;
    sorting::sort(&mut numbers);
    numbers.dedup();
    Ok(Globals::Tokens(numbers))
}

/// Kinds for some layers, `encoder.2=window:8,encoder.*=uniform`: a layer's own number goes before `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelfAttentionChoice {
    /// Selected layers, `None` for all others, and their kind.
    choices: Vec<(Option<usize>, SelfAttentionKind)>,
}

impl fmt::Display for SelfAttentionChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (layer, kind)) in self.choices.iter().enumerate() {
            let layer = layer.map_or("*".to_owned(), |layer| layer.to_string());
            write!(f, "{}encoder.{layer}={kind}", if index > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

impl FromStr for SelfAttentionChoice {
    type Err = SelfAttentionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut choices: Vec<(Option<usize>, SelfAttentionKind)> = Vec::new();
        for part in text.split(',') {
            let wrong = || SelfAttentionError::Selector(part.to_owned());
            let (layer, kind) = part.split_once('=').ok_or_else(wrong)?;
            let (stack, number) = layer.split_once('.').ok_or_else(wrong)?;
            let number = match number {
                "*" => None,
                number => Some(number.parse().map_err(|_| wrong())?),
            };
            match stack {
                "encoder" => {}
                "decoder" | "cross" => return Err(SelfAttentionError::Decoder(layer.to_owned())),
                _ => return Err(wrong()),
            }
            if choices.iter().any(|(other, _)| *other == number) {
                return Err(SelfAttentionError::Twice(layer.to_owned()));
            }
            choices.push((number, kind.parse()?));
        }
        Ok(Self { choices })
    }
}

impl SelfAttentionChoice {
    /// Whether no layer is chosen.
    pub fn is_empty(&self) -> bool {
        self.choices.is_empty()
    }

    /// The chosen kinds.
    #[cfg(feature = "training")]
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &SelfAttentionKind> {
        self.choices.iter().map(|(_, kind)| kind)
    }

    /// The kinds of an encoder's layers; `own` are those that the model was trained with.
    pub(super) fn over(
        &self,
        own: &[SelfAttentionKind],
    ) -> Result<Vec<SelfAttentionKind>, SelfAttentionError> {
        let layers = own.len();
        let missing = |layer: String| SelfAttentionError::Layer { layer, layers };
        let beyond = self.choices.iter().find_map(|(layer, _)| layer.filter(|&layer| layer >= layers));
        if let Some(layer) = beyond {
            return Err(missing(format!("encoder.{layer}")));
        }
        if layers == 0 && !self.choices.is_empty() {
            return Err(missing("encoder.*".to_owned()));
        }
        let chosen = |wanted: Option<usize>| {
            self.choices.iter().find(|(layer, _)| *layer == wanted).map(|(_, kind)| kind.clone())
        };
        let kinds: Vec<SelfAttentionKind> = own
            .iter()
            .enumerate()
            .map(|(layer, own)| match chosen(Some(layer)).or_else(|| chosen(None)) {
                Some(kind) => kind.learned_if_own(own),
                None => own.clone(),
            })
            .collect();
        one_set_of_globals(&kinds)?;
        one_set_of_blocks(&kinds)?;
        Ok(kinds)
    }
}

/// Checks that all layers with global tokens have the same.
fn one_set_of_globals(kinds: &[SelfAttentionKind]) -> Result<(), SelfAttentionError> {
    let mut globals =
        kinds.iter().map(SelfAttentionKind::globals).filter(|globals| **globals != Globals::None);
    let Some(first) = globals.next() else { return Ok(()) };
    match globals.find(|other| *other != first) {
        None => Ok(()),
        Some(second) => {
            let [first, second] = [first, second].map(Globals::to_string);
            Err(SelfAttentionError::DifferentGlobals { first, second })
        }
    }
}

/// Checks that all layers with blocks have the same.
fn one_set_of_blocks(kinds: &[SelfAttentionKind]) -> Result<(), SelfAttentionError> {
    let mut blocks = kinds.iter().filter(|kind| kind.blocks().is_some());
    let Some(first) = blocks.next() else { return Ok(()) };
    match blocks.find(|other| *other != first) {
        None => Ok(()),
        Some(second) => {
            let [first, second] = [first, second].map(SelfAttentionKind::to_string);
            Err(SelfAttentionError::DifferentBlocks { first, second })
        }
    }
}

impl SelfAttentionKind {
    /// The kind for texts of `length` tokens: texts of few blocks are attended to in full, and so are those that a projection
    /// would not change.
    pub fn for_length(&self, length: usize) -> &Self {
        const FULL: &SelfAttentionKind = &SelfAttentionKind::Full;
        match *self {
            Self::Blocks(blocks) if length <= blocks.full_length() => FULL,
            Self::Linformer { rank, .. } if length <= rank => FULL,
            _ => self,
        }
    }

    /// The kind in a layer whose own one is `own`: with its learned projections, if they have so many rows.
    fn learned_if_own(self, own: &Self) -> Self {
        match (&self, own) {
            (Self::Linformer { rank, .. }, Self::Linformer { rank: learned, .. }) if rank == learned => {
                own.clone()
            }
            _ => self,
        }
    }

    /// Rows of learned projections.
    pub fn learned_rank(&self) -> Option<usize> {
        match *self {
            Self::Linformer { rank, is_learned: true } => Some(rank),
            _ => None,
        }
    }

    /// What the kind stands for if it needs learned weights that the model does not have.
    fn approximation(&self) -> Option<String> {
        let what = match self {
            Self::Linformer { rank, is_learned: false } => {
                format!("no learned projections, so keys and values are the nearest matrices of rank {rank}")
            }
            Self::Additive => "no learned vector v, so all tanh(q + k) count the same".to_owned(),
            _ => return None,
        };
        Some(format!("{self} is an approximation: the model has {what}"))
    }

    /// A sentence for each kind that stands for learned weights which the model does not have.
    pub(crate) fn approximations(kinds: &[Self]) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        for note in kinds.iter().filter_map(Self::approximation) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes
    }

    /// Checks that a layer can attend to a text of `length` tokens.
    pub(crate) fn check_length(&self, length: usize) -> Result<(), SelfAttentionError> {
        match self.for_length(length) {
            Self::Linformer { is_learned: false, .. } if length > Self::LINFORMER_LIMIT => {
                let limit = Self::LINFORMER_LIMIT;
                Err(SelfAttentionError::TooLong { kind: self.to_string(), length, limit })
            }
            _ => Ok(()),
        }
    }

    /// The blocks that a token sees.
    pub fn blocks(&self) -> Option<TokenBlocks> {
        match *self {
            Self::Blocks(blocks) => Some(blocks),
            _ => None,
        }
    }

    /// Tokens that see all and are seen by all.
    pub fn globals(&self) -> &Globals {
        const NONE: &Globals = &Globals::None;
        match self {
            Self::Window { globals, .. } => globals,
            _ => NONE,
        }
    }

    /// Whether the scores of a text of `length` tokens are one matrix of products, `[length, length]`.
    pub fn has_products(&self, length: usize) -> bool {
        match self.for_length(length) {
            Self::Full | Self::Uniform | Self::SharedQk | Self::Linformer { is_learned: false, .. } => true,
            Self::Additive
            | Self::Window { .. }
            | Self::TransientGlobal { .. }
            | Self::Blocks(_)
            | Self::Linformer { .. } => false,
        }
    }

    /// Neighbours that a token sees on each side; `None`: all tokens, or blocks of them.
    pub fn radius(&self) -> Option<usize> {
        match *self {
            Self::Window { radius, .. } | Self::TransientGlobal { radius } => Some(radius),
            Self::Full
            | Self::Uniform
            | Self::SharedQk
            | Self::Linformer { .. }
            | Self::Additive
            | Self::Blocks(_) => None,
        }
    }
}
