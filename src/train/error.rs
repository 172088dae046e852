//! Errors of training.

use super::batches::BatchError;
use super::schedule::ScheduleError;
use super::tasks::TaskError;
use crate::gpu::GpuError;
use crate::graph::GraphError;
use crate::model::ModelError;
use crate::text::TextError;
use crate::transformer::{ForwardError, GenerateError};

/// An error of training.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The model has no decoder, or no encoder.
    #[error("{model} is a {model_type} model: only models with an encoder and a decoder can be trained")]
    NoEncoderDecoder {
        /// The model.
        model: String,
        /// `model_type` in `config.json`.
        model_type: &'static str,
    },
    /// No weight is left to train.
    #[error("no weight of {model} is trained: `--freeze` and `--train-only` leave none")]
    NothingToTrain {
        /// The model.
        model: String,
    },
    /// A pattern of `--freeze` or `--train-only` fits no weight.
    #[error("{option} {pattern}: no tensor of {model} has it in its name; one of its names is {example}")]
    UnknownPlace {
        /// Name of the option.
        option: &'static str,
        /// The pattern.
        pattern: String,
        /// The model.
        model: String,
        /// Name of a tensor.
        example: String,
    },
    /// A number of the recipe is out of range.
    #[error("{option} is {value}, but {want} is needed")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Given value.
        value: String,
        /// Values that are allowed.
        want: &'static str,
    },
    /// A GPU was to multiply in bf16.
    #[error("products in bf16 are made on the CPU only: take --device cpu, or --precision f32")]
    Bf16OnGpu,
    /// A sentence is longer than the model's positions.
    #[error("a {side} of {tokens} tokens is longer than the model's {limit} positions; leave the pair out")]
    TooLong {
        /// `source` or `target`.
        side: &'static str,
        /// Tokens of the sentence.
        tokens: usize,
        /// Positions of the model.
        limit: usize,
    },
    /// The sentences of a batch do not fit into its rows.
    #[error("a batch has {tokens} {side} tokens, but room for {rows}")]
    TooManyTokens {
        /// `source` or `target`.
        side: &'static str,
        /// Tokens of the batch.
        tokens: usize,
        /// Rows of the program.
        rows: usize,
    },
    /// A token id beyond the vocabulary.
    #[error("a {side} has the token id {id}, but the model's vocabulary has {vocabulary} tokens")]
    TokenId {
        /// `source` or `target`.
        side: &'static str,
        /// The id.
        id: u32,
        /// Size of the vocabulary.
        vocabulary: usize,
    },
    /// The loss is not a number any more.
    #[error(
        "the loss of step {step} is {loss}: training has diverged. The largest gradient was {gradient} in {tensor}. \
         Lower the learning rate (--learning-rate), raise the warm-up (--warmup), or clip gradients (--max-norm)"
    )]
    Diverged {
        /// Number of the step, from 1.
        step: u64,
        /// The loss.
        loss: f32,
        /// The tensor with the largest gradient.
        tensor: String,
        /// Largest absolute value in it.
        gradient: f32,
    },
    /// Moments of another model.
    #[error("the state of the optimizer has {got} values for {weight}, but the model has {want}")]
    ForeignState {
        /// Name of the weight.
        weight: String,
        /// Stored elements.
        got: usize,
        /// Elements of the weight.
        want: usize,
    },
    /// The caller's [`Cancel`](crate::transformer::Cancel) ended the work.
    #[error("the work was cancelled")]
    Cancelled,
    /// A small task is not valid.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The model in training cannot answer.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The model in training cannot be run.
    #[error(transparent)]
    Forward(#[from] ForwardError),
    /// The examples of an epoch make no batches.
    #[error(transparent)]
    Batches(#[from] BatchError),
    /// The examples of an epoch make no tokens.
    #[error(transparent)]
    Text(#[from] TextError),
    /// Options that make no learning rate.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The model cannot be read.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model cannot be trained.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The device failed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}
