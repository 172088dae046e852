//! The dev set: its loss, and the scores of its translations.

use wordloom::evaluate::{EvaluateError, bleu, chrf};
use wordloom::train::batches::{Batches, Capacity, Epoch, TooLong};
use wordloom::train::pairs::SentencePair;
use wordloom::train::run::dev_losses;
use wordloom::train::{Losses, Pair, TrainError, Trainer};
use wordloom::transformer::{Cancel, GenerateError, GenerateOptions};
use wordloom::{Device, Model, Transformer, TranslateOptions, Translator};

use super::arguments::Arguments;
use super::data::{Encoded, chosen_languages};
use crate::CliError;

/// Most tokens of a test translation for each token of its source, and a few more: a model that has learned little repeats
/// itself to the end.
const LONGEST_RATIO: usize = 2;
const LONGEST_MORE: usize = 10;

/// The dev set of a training.
pub struct Dev {
    pairs: Vec<Pair>,
    batches: Epoch,
    /// Indices of pairs to translate, and their references.
    translated: Vec<(usize, String)>,
}

impl Dev {
    /// `kept`: pairs that fit the model, with their indices among `texts`.
    pub fn new(
        (pairs, indices): Encoded,
        texts: &[SentencePair],
        capacity: Capacity,
        translated: usize,
    ) -> Result<Self, CliError> {
        let batches = Batches::new(&pairs, capacity, 0, TooLong::LeaveOut)?.epoch(0);
        let count = translated.min(pairs.len());
        // at equal distances: files are often sorted by length
        let translated = (0..count)
            .map(|index| index * pairs.len() / count)
            .map(|index| (index, texts[indices[index]].target.clone()))
            .collect();
        Ok(Self { pairs, batches, translated })
    }

    /// The loss of all pairs.
    pub async fn losses(&self, trainer: &mut Trainer) -> Result<Losses, TrainError> {
        dev_losses(trainer, &self.pairs, &self.batches).await
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Number of pairs to translate.
    pub fn translated(&self) -> usize {
        self.translated.len()
    }

    /// BLEU and chrF of the translated pairs, with a number of beams or the model's own.
    ///
    /// Returns [`CliError::Interrupted`] after Ctrl-C.
    pub async fn scores(
        &self,
        device: &Device,
        model: &Model,
        arguments: &Arguments,
        (beams, cancel): (Option<usize>, &Cancel),
    ) -> Result<[f64; 2], CliError> {
        let transformer = Transformer::load(device, model, &mut |_| {})?;
        let translator = Translator::from_parts(transformer, model.tokenizer()?);
        let [from, to] = chosen_languages(arguments, translator.tokenizer());
        let mut options = TranslateOptions::default();
        options.generation.num_beams = beams;
        (options.source_language, options.target_language) = (from.map(str::to_owned), to.map(str::to_owned));
        self.scores_of(&translator, &options, cancel).await
    }

    /// As [`Dev::scores`], with a translator and its options.
    pub async fn scores_of(
        &self,
        translator: &Translator,
        options: &TranslateOptions,
        cancel: &Cancel,
    ) -> Result<[f64; 2], CliError> {
        let limit = translator.transformer().config().positions.longest_input();
        let requests = self.translated.iter().map(|(index, _)| {
            let source = &self.pairs[*index].source;
            let longest = (LONGEST_RATIO * source.len() + LONGEST_MORE).min(limit);
            translator.request(source, &[], &options.clone().max_length(longest))
        });
        let requests = requests.collect::<Result<Vec<_>, _>>()?;
        let generate = GenerateOptions::default().cancel(cancel);
        let found = translator.transformer().generate(&requests, generate).await;
        let found = found.map_err(|error| match error {
            GenerateError::Cancelled => CliError::Interrupted,
            error => error.into(),
        })?;
        let texts = found.iter().map(|found| {
            let tokens = found.hypotheses.first().map_or(&[][..], |best| &best.tokens);
            translator.tokenizer().decode(tokens, true)
        });
        let texts = texts.collect::<Result<Vec<String>, _>>()?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let references: Vec<&str> = self.translated.iter().map(|(_, reference)| reference.as_str()).collect();
        let failed = |error: EvaluateError| CliError::Input(error.to_string());
        let references = [references];
        Ok([
            bleu(&texts, &references).map_err(failed)?.score,
            chrf(&texts, &references).map_err(failed)?.score,
        ])
    }
}
