//! The tree of a beam search, with JavaScript's names.

use std::borrow::Cow;

use serde::Serialize;
use wasm_bindgen::JsValue;
use wordloom::decode::{Fate, SearchTree};
use wordloom::text::Tokenizer;
use wordloom::transformer::{Cancel, GenerateOptions, Keep};
use wordloom::translate::Sentence;
use wordloom::{TranslateOptions, Translator};

use crate::failure::Failure;
use crate::options::{object, refuse_ignored, take, translation_options};
use crate::results::{SentenceHypothesis, to_js};

/// A sentence's tokens, the prefix of its translation, and the options of the search.
pub struct Input {
    source_ids: Vec<u32>,
    prefix: Vec<u32>,
    options: TranslateOptions,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Searched<'a> {
    beams: usize,
    length_penalty: f32,
    hypotheses: Vec<SentenceHypothesis<'a>>,
    nodes: Vec<Node<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Node<'a> {
    parent: Option<u32>,
    step: u32,
    id: u32,
    piece: Cow<'a, str>,
    log_probability: f32,
    sum: f32,
    fate: Fate,
    /// Whether the token ends a translation.
    ends: bool,
    /// The text of a finished hypothesis.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl Input {
    pub fn new(input: &JsValue) -> Result<Self, Failure> {
        let mut input = object(input)?;
        let prefix: Option<Vec<u32>> = take(&mut input, "prefix", "a list of token ids")?;
        Ok(Self {
            source_ids: take(&mut input, "sourceIds", "a list of token ids")?,
            prefix: prefix.unwrap_or_default(),
            options: translation_options(input, false)?,
        })
    }

    pub async fn run(&self, translator: &Translator, cancel: Cancel) -> Result<JsValue, Failure> {
        let options = TranslateOptions { cancel, ..self.options.clone() };
        refuse_ignored(&options.generation, translator.transformer(), &[])?;
        let request = translator.request(&self.source_ids, &self.prefix, &options)?;
        let search = GenerateOptions::default().keep(Keep { tree: true, ..Keep::default() });
        let requests = std::slice::from_ref(&request);
        let found = translator.transformer().generate(requests, search.cancel(&options.cancel)).await?;
        let found = found.into_iter().next().unwrap_or_default();
        let Sentence { hypotheses, tree, .. } = translator.sentence(String::new(), &request, found)?;
        let tree = tree.unwrap_or_default();
        let (tokenizer, defaults) = (translator.tokenizer(), translator.transformer().generation_config());
        let of_model = translator.transformer().config().tokens.eos;
        let asked = options.generation.eos_token_id.as_ref().or(defaults.eos_token_id.as_ref());
        let ends = asked.map_or_else(|| of_model.into_iter().collect(), |ids| ids.as_slice().to_vec());
        to_js(&Searched {
            beams: tree.beams,
            length_penalty: tree.length_penalty,
            hypotheses: hypotheses.iter().map(|one| SentenceHypothesis::of(one, tokenizer)).collect(),
            nodes: nodes(&tree, &self.prefix, &ends, tokenizer)?,
        })
    }
}

fn nodes<'a>(
    tree: &SearchTree,
    prefix: &[u32],
    ends: &[u32],
    tokenizer: &'a Tokenizer,
) -> Result<Vec<Node<'a>>, Failure> {
    let described = tree.nodes.iter().enumerate().map(|(index, node)| {
        let text = match node.fate {
            Fate::Finished => Some(tokenizer.decode(&[prefix, &tree.tokens(index)].concat(), true)?),
            Fate::Kept | Fate::Rejected => None,
        };
        Ok(Node {
            parent: node.parent,
            step: node.step,
            id: node.token,
            piece: tokenizer.target_token(node.token).unwrap_or_default(),
            log_probability: node.log_probability,
            sum: node.sum,
            fate: node.fate,
            ends: ends.contains(&node.token),
            text,
        })
    });
    described.collect()
}
