//! The languages of a model, for a page's menus.

use serde::Serialize;
use wordloom::TextError;
use wordloom::model::generation_config::GenerationConfig;
use wordloom::text::{TargetRole, Tokenizer};

/// The languages that a call can choose, by the model's own codes.
#[derive(Default, Serialize)]
pub struct Languages {
    /// Source languages; empty if a call cannot choose one.
    pub source: Vec<String>,
    /// Target languages; empty for a model of one pair.
    pub target: Vec<String>,
    /// The supported pairs; `None` if all combinations are supported.
    pub pairs: Option<Vec<[String; 2]>>,
}

impl Languages {
    pub fn of(tokenizer: &Tokenizer) -> Self {
        let codes = tokenizer.languages();
        let owned = |is: &dyn Fn(&str) -> bool| -> Vec<String> {
            codes.iter().filter(|code| is(code)).map(|&code| code.to_owned()).collect()
        };
        let Some(&first) = codes.first() else { return Self::default() };
        match tokenizer.direction(Some(first), None) {
            Err(TextError::NoLanguages { .. }) => Self { target: owned(&|_| true), ..Self::default() },
            // each language has a token
            Ok(direction) if direction.target.is_some() => {
                Self { source: owned(&|_| true), target: owned(&|_| true), pairs: None }
            }
            // T5's tasks, which are few
            _ => {
                let pairs: Vec<[String; 2]> = codes
                    .iter()
                    .flat_map(|&source| codes.iter().map(move |&target| [source, target]))
                    .filter(|&[source, target]| tokenizer.direction(Some(source), Some(target)).is_ok())
                    .map(|pair| pair.map(str::to_owned))
                    .collect();
                let side = |side: usize| owned(&|code| pairs.iter().any(|pair| pair[side] == code));
                Self { source: side(0), target: side(1), pairs: Some(pairs) }
            }
        }
    }
}

/// The default source and target language; `None` if unknown.
pub fn default_languages(tokenizer: &Tokenizer, defaults: &GenerationConfig) -> [Option<String>; 2] {
    let codes = tokenizer.languages();
    let find = |is: &dyn Fn(&str) -> bool| codes.iter().find(|code| is(code)).map(|&code| code.to_owned());
    let Ok(usual) = tokenizer.direction(None, None) else { return [None, None] };
    let Some(target) = usual.target else { return [None, None] };
    let token = match target.role {
        TargetRole::ForcedBos => defaults.forced_bos_token_id,
        TargetRole::DecoderStart => defaults.decoder_start_token_id,
    };
    let names_target = |code: &str| {
        let direction = tokenizer.direction(None, Some(code)).ok();
        token.is_some() && direction.and_then(|direction| direction.target?.token) == token
    };
    [
        find(&|code| tokenizer.direction(Some(code), None).is_ok_and(|direction| direction == usual)),
        find(&names_target),
    ]
}
