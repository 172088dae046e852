//! One teacher-forced pass: what the model computes for given sources and given targets, attention included.

use super::Transformer;
use crate::gpu::GpuError;
use crate::graph::{Graph, GraphError, Plan, Session, State, StateTable};
use crate::model::decoder::{History, decoder, memory_key_values};
use crate::model::encoder::encoder;
use crate::model::{Memory, Sequences, Tap};

/// A batch of sources and targets, padded to common lengths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForwardInput {
    /// Sentences.
    pub batch: usize,
    /// Tokens of each source, padding included.
    pub source_length: usize,
    /// Tokens of each target.
    pub target_length: usize,
    /// `[batch, source_length]`
    pub input_ids: Vec<u32>,
    /// `[batch, source_length]`, 1 where there is a token, 0 where there is padding.
    pub attention_mask: Vec<u32>,
    /// `[batch, target_length]`, beginning with the decoder's start token.
    pub decoder_input_ids: Vec<u32>,
}

/// A host tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Sizes, outermost first.
    pub shape: Vec<usize>,
    /// Row-major.
    pub data: Vec<f32>,
}

/// What a forward pass gives. Names are those of Hugging Face's `Seq2SeqLMOutput`.
#[derive(Clone, Debug, PartialEq)]
pub struct ForwardOutput {
    /// `[batch, source_length, d_model]`
    pub encoder_last_hidden_state: Tensor,
    /// `[batch, target_length, target_vocabulary]`
    pub logits: Tensor,
    /// For each layer `[batch, heads, source_length, source_length]`
    pub encoder_attentions: Vec<Tensor>,
    /// For each layer `[batch, heads, target_length, target_length]`
    pub decoder_attentions: Vec<Tensor>,
    /// For each layer `[batch, heads, target_length, source_length]`
    pub cross_attentions: Vec<Tensor>,
}

/// Why a forward pass could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ForwardError {
    /// An input tensor has another size than its shape says.
    #[error("{input} has {got} elements, but [{rows}, {columns}] needs {}", rows * columns)]
    Size {
        /// Which one.
        input: &'static str,
        /// Its elements.
        got: usize,
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        columns: usize,
    },
    /// An empty input.
    #[error("{input} is empty; at least one sentence of one token is needed")]
    Empty {
        /// Which one.
        input: &'static str,
    },
    /// A sequence longer than the model's positions.
    #[error("{input} has {length} tokens a sentence, but the model has {limit} positions")]
    TooLong {
        /// Which one.
        input: &'static str,
        /// Its length.
        length: usize,
        /// The model's positions.
        limit: usize,
    },
    /// A token id that the model does not have.
    #[error("{input} has token id {token} at [{row}, {column}], but the vocabulary has {vocabulary} tokens")]
    Token {
        /// Which one.
        input: &'static str,
        /// The id.
        token: u32,
        /// Sentence.
        row: usize,
        /// Token of the sentence.
        column: usize,
        /// Tokens of the vocabulary.
        vocabulary: usize,
    },
    /// A mask with a value that is neither 0 nor 1.
    #[error("attention_mask has the value {value} at [{row}, {column}]; 1 is a token, 0 is padding")]
    Mask {
        /// The value.
        value: u32,
        /// Sentence.
        row: usize,
        /// Token of the sentence.
        column: usize,
    },
    /// A size that a graph cannot have.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A fault of the device.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

/// The states that a forward pass leaves its results in.
struct Outputs {
    hidden: State,
    logits: State,
    encoder_attentions: Vec<State>,
    decoder_attentions: Vec<State>,
    cross_attentions: Vec<State>,
}

impl Transformer {
    /// Runs the encoder over the sources and the decoder over the given targets.
    ///
    /// # Errors
    /// [`ForwardError`] naming the input that does not fit the model.
    pub async fn forward(&self, input: &ForwardInput) -> Result<ForwardOutput, ForwardError> {
        self.check(input)?;
        let ForwardInput { batch, source_length, target_length, .. } = *input;
        let config = &self.config;
        let mut states = StateTable::default();
        let source_tokens = states.u32("source tokens", batch * source_length, 1);
        let source_positions = states.u32("source positions", batch * source_length, 1);
        let source_mask = states.u32("source mask", batch, source_length);
        let target_tokens = states.u32("target tokens", batch * target_length, 1);
        let target_positions = states.u32("target positions", batch * target_length, 1);
        let target_mask = states.u32("target mask", batch, target_length);
        let mut attentions = |kind: &str, layers: usize, heads: usize, queries: usize, keys: usize| {
            (0..layers)
                .map(|layer| states.f32(format!("{kind} attentions {layer}"), batch * heads * queries, keys))
                .collect::<Vec<_>>()
        };
        let (s, t) = (source_length, target_length);
        let (encoder_stack, decoder_stack) = (config.encoder, config.decoder);
        let encoder_attentions = attentions("encoder", encoder_stack.layers, encoder_stack.heads, s, s);
        let decoder_attentions = attentions("decoder", decoder_stack.layers, decoder_stack.heads, t, t);
        let cross_attentions = attentions("cross", decoder_stack.layers, decoder_stack.heads, t, s);
        let out = Outputs {
            hidden: states.f32("encoder_last_hidden_state", batch * s, config.d_model),
            logits: states.f32("logits", batch * t, config.target_vocabulary),
            encoder_attentions,
            decoder_attentions,
            cross_attentions,
        };

        let mut graph = Graph::new("forward");
        let g = &mut graph;
        let taps = |states: &[State]| states.iter().map(|&state| Tap(Some(state))).collect::<Vec<_>>();
        let source = Sequences { batch, length: s, mask: g.state(source_mask) };
        let target = Sequences { batch, length: t, mask: g.state(target_mask) };
        let (tokens, positions) = (g.state(source_tokens), g.state(source_positions));
        let encoder_taps = taps(&out.encoder_attentions);
        let memory = encoder(g, config, &self.blueprint, tokens, positions, &source, &encoder_taps)?;
        g.keep(memory, out.hidden)?;
        let memories = (0..config.decoder.layers)
            .map(|layer| {
                let key_values = memory_key_values(g, &self.blueprint, layer, memory)?;
                Ok(Memory { key_values, sequences: source })
            })
            .collect::<Result<Vec<_>, GraphError>>()?;
        let (tokens, positions) = (g.state(target_tokens), g.state(target_positions));
        let decoder_taps = taps(&out.decoder_attentions);
        let history = History::Whole(target, &decoder_taps);
        let cross_taps = taps(&out.cross_attentions);
        let logits =
            decoder(g, config, &self.blueprint, tokens, positions, &history, &memories, &cross_taps)?;
        g.keep(logits, out.logits)?;

        let mut session = Session::new(&self.device, &self.weights, &states, vec![Plan::new(graph)])?;
        let positions = |length: usize| (0..batch).flat_map(|_| 0..length as u32).collect::<Vec<u32>>();
        session.write(source_tokens, &input.input_ids);
        session.write(source_positions, &positions(s));
        session.write(source_mask, &input.attention_mask);
        session.write(target_tokens, &input.decoder_input_ids);
        session.write(target_positions, &positions(t));
        session.write(target_mask, &vec![1; batch * t]);
        session.run(session.program(0), &self.weights);

        let session = &session;
        let read = async |state: State, shape: &[usize]| {
            Ok::<_, GpuError>(Tensor { shape: shape.to_vec(), data: session.read(state).await? })
        };
        let read_all = async |states: &[State], heads: usize, queries: usize, keys: usize| {
            let mut tensors = Vec::with_capacity(states.len());
            for &state in states {
                tensors.push(read(state, &[batch, heads, queries, keys]).await?);
            }
            Ok::<_, GpuError>(tensors)
        };
        Ok(ForwardOutput {
            encoder_last_hidden_state: read(out.hidden, &[batch, s, config.d_model]).await?,
            logits: read(out.logits, &[batch, t, config.target_vocabulary]).await?,
            encoder_attentions: read_all(&out.encoder_attentions, encoder_stack.heads, s, s).await?,
            decoder_attentions: read_all(&out.decoder_attentions, decoder_stack.heads, t, t).await?,
            cross_attentions: read_all(&out.cross_attentions, decoder_stack.heads, t, s).await?,
        })
    }

    fn check(&self, input: &ForwardInput) -> Result<(), ForwardError> {
        let ForwardInput { batch, source_length, target_length, .. } = *input;
        let limit = self.config.positions.count();
        let inputs = [
            ("input_ids", &input.input_ids, source_length, self.config.source_vocabulary),
            ("attention_mask", &input.attention_mask, source_length, 2),
            ("decoder_input_ids", &input.decoder_input_ids, target_length, self.config.target_vocabulary),
        ];
        for (name, data, length, vocabulary) in inputs {
            if batch == 0 || length == 0 {
                return Err(ForwardError::Empty { input: name });
            }
            if length > limit {
                return Err(ForwardError::TooLong { input: name, length, limit });
            }
            if data.len() != batch * length {
                return Err(ForwardError::Size {
                    input: name,
                    got: data.len(),
                    rows: batch,
                    columns: length,
                });
            }
            if let Some(at) = data.iter().position(|&token| token as usize >= vocabulary) {
                let (row, column, token) = (at / length, at % length, data[at]);
                if name == "attention_mask" {
                    return Err(ForwardError::Mask { value: token, row, column });
                }
                return Err(ForwardError::Token { input: name, token, row, column, vocabulary });
            }
        }
        Ok(())
    }
}
