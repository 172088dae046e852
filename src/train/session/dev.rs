//! The dev set: its loss, and the scores of its translations.

use super::super::batches::{BatchError, Batches, Capacity, Epoch, TooLong};
use super::super::pairs::SentencePair;
use super::super::run::dev_losses;
use super::super::{Losses, Pair, TrainError, Trainer};
use super::encoder::{Encoded, chosen_languages};
use super::error::SessionError;
use super::options::Options;
use crate::device::Device;
use crate::evaluate::{bleu, chrf};
use crate::model::Model;
use crate::transformer::{Cancel, GenerateOptions, Transformer};
use crate::translate::{TranslateOptions, Translator};

/// Most tokens of a test translation for each token of its source, and a few more: a model that has learned little repeats
/// itself to the end.
const LONGEST_RATIO: usize = 2;
const LONGEST_MORE: usize = 10;

/// The dev set of a training.
#[derive(Clone, Debug)]
pub struct Dev {
    pairs: Vec<Pair>,
    batches: Epoch,
    /// Number of pairs that fit no batch.
    left_out: usize,
    /// Indices of pairs to translate, and their references.
    translated: Vec<(usize, String)>,
}

impl Dev {
    /// * `kept`: pairs that fit the model, with their indices among `texts`
    /// * `translated`: number of pairs to translate for scores
    ///
    /// # Errors
    /// [`BatchError`] if no pair fits into a batch.
    pub fn new(
        (pairs, indices): Encoded,
        texts: &[SentencePair],
        capacity: Capacity,
        translated: usize,
    ) -> Result<Self, BatchError> {
        let batches = Batches::new(&pairs, capacity, 0, TooLong::LeaveOut)?;
        let (left_out, batches) = (batches.left_out(), batches.epoch(0));
        let count = translated.min(pairs.len());
        // at equal distances: files are often sorted by length
        let translated = (0..count)
            .map(|index| index * pairs.len() / count)
            .map(|index| (index, texts[indices[index]].target.clone()))
            .collect();
        Ok(Self { pairs, batches, left_out, translated })
    }

    /// Number of pairs that are longer than a batch, and count for no loss.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// The loss of all other pairs.
    ///
    /// # Errors
    /// [`TrainError`]; [`TrainError::Cancelled`] if `cancel` ends it.
    pub async fn losses(&self, trainer: &mut Trainer, cancel: &Cancel) -> Result<Losses, TrainError> {
        dev_losses(trainer, &self.pairs, &self.batches, cancel).await
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
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
    /// Returns [`SessionError::Interrupted`] after Ctrl-C.
    pub(super) async fn scores(
        &self,
        device: &Device,
        model: &Model,
        options: &Options,
        (beams, cancel): (Option<usize>, &Cancel),
    ) -> Result<[f64; 2], SessionError> {
        let transformer = Transformer::load(device, model, &mut |_| {})?;
        let translator = Translator::from_parts(transformer, model.tokenizer()?);
        let [from, to] = chosen_languages(options, translator.tokenizer());
        let mut search = TranslateOptions::default();
        search.generation.num_beams = beams;
        (search.source_language, search.target_language) = (from.map(str::to_owned), to.map(str::to_owned));
        self.scores_of(&translator, &search, cancel).await
    }

    /// BLEU and chrF of the translated pairs.
    ///
    /// # Errors
    /// [`SessionError::Interrupted`] if `cancel` ends the search; errors of the search and of the device.
    pub async fn scores_of(
        &self,
        translator: &Translator,
        options: &TranslateOptions,
        cancel: &Cancel,
    ) -> Result<[f64; 2], SessionError> {
        let limit = translator.transformer().config().positions.longest_input();
        let requests = self.translated.iter().map(|(index, _)| {
            let source = &self.pairs[*index].source;
            let longest = (LONGEST_RATIO * source.len() + LONGEST_MORE).min(limit);
            translator.request(source, &[], &options.clone().max_length(longest))
        });
        let requests = requests.collect::<Result<Vec<_>, _>>()?;
        let generate = GenerateOptions::default().cancel(cancel);
        let found = translator.transformer().generate(&requests, generate).await?;
        let texts = found.iter().map(|found| {
            let tokens = found.hypotheses.first().map_or(&[][..], |best| &best.tokens);
            translator.tokenizer().decode(tokens, true)
        });
        let texts = texts.collect::<Result<Vec<String>, _>>()?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let references: Vec<&str> = self.translated.iter().map(|(_, reference)| reference.as_str()).collect();
        let references = [references];
        Ok([bleu(&texts, &references)?.score, chrf(&texts, &references)?.score])
    }
}
