//! A search, with the texts of its tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wordloom::trace::{TracedSearch, TracedSentence};

use super::layout::Layout;
use crate::engine::Explored;
use crate::texts::shortened;

pub struct Found {
    pub search: Arc<TracedSearch>,
    pub layout: Layout,
    /// The forced beginning of its translations.
    pub prefix: Vec<u32>,
    /// Every letter of its tokens once.
    pub letters: String,
    /// Texts of finished hypotheses, by node. A missing text is joined from pieces when it is first shown.
    texts: BTreeMap<usize, String>,
    /// Tokens that end a translation; `None` if there is no model to continue with.
    ends: Option<BTreeSet<u32>>,
    /// Known tokens without text.
    special: BTreeSet<u32>,
}

/// The largest number of letters in a token's label.
const LONGEST: usize = 24;

impl Found {
    /// A search of the model.
    pub fn by_engine(explored: Explored) -> Self {
        let Explored { search, prefix, texts, ends } = explored;
        Self { prefix, texts, special: ends.clone(), ends: Some(ends), ..Self::new(search) }
    }

    /// A search from a trace.
    pub fn in_file(search: &TracedSearch, sentence: &TracedSentence) -> Self {
        let special = sentence.target_tokens.iter().filter(|target| target.token.special);
        Self { special: special.map(|target| target.token.id).collect(), ..Self::new(search.clone()) }
    }

    fn new(search: TracedSearch) -> Self {
        let letters: BTreeSet<char> = search.pieces.values().flat_map(|piece| piece.chars()).collect();
        Self {
            layout: Layout::new(&search.tree),
            search: Arc::new(search),
            prefix: Vec::new(),
            letters: letters.into_iter().collect(),
            texts: BTreeMap::new(),
            ends: None,
            special: BTreeSet::new(),
        }
    }

    pub fn is_of_a_file(&self) -> bool {
        self.ends.is_none()
    }

    /// Whether a node's token ends a translation.
    pub fn ends(&self, node: usize) -> bool {
        self.ends.as_ref().is_some_and(|ends| ends.contains(&self.search.tree.nodes[node].token))
    }

    /// The forced beginning that continues from a node; `None` if the node cannot be continued.
    pub fn prefix_through(&self, node: usize) -> Option<Vec<u32>> {
        let ends = self.ends.as_ref()?;
        let tokens = self.search.tree.tokens(node);
        (!tokens.iter().any(|token| ends.contains(token))).then(|| [self.prefix.clone(), tokens].concat())
    }

    fn piece(&self, token: u32) -> &str {
        self.search.pieces.get(&token).map_or("", String::as_str)
    }

    /// A node's token for display: the mark of a word's beginning is a space, and control tokens have a name.
    pub fn label(&self, node: usize) -> String {
        self.label_of(self.search.tree.nodes[node].token)
    }

    pub fn label_of(&self, token: u32) -> String {
        match self.piece(token).replace('▁', " ").trim() {
            "" => "␣".into(),
            "</s>" => "end".into(),
            piece => shortened(piece, LONGEST),
        }
    }

    /// The text of some tokens, joined from their pieces.
    pub fn words(&self, tokens: &[u32]) -> String {
        let text =
            tokens.iter().filter(|token| !self.special.contains(token)).map(|token| self.piece(*token));
        text.collect::<String>().replace('▁', " ").trim().to_owned()
    }

    /// The text of a finished hypothesis.
    pub fn text(&mut self, node: usize) -> &str {
        if !self.texts.contains_key(&node) {
            let tokens = [self.prefix.clone(), self.search.tree.tokens(node)].concat();
            self.texts.insert(node, self.words(&tokens));
        }
        let text = &self.texts[&node];
        if text.is_empty() { "(nothing)" } else { text }
    }
}
