//! One teacher-forced pass: what the model computes for given sources and given targets, attention included.

use super::Transformer;
use crate::gpu::GpuError;
use crate::graph::{Graph, GraphError, Plan, Session, State, StateTable};
use crate::model::config::{ModelConfig, StackConfig};
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
    /// For each layer that was wanted `[batch, heads, source_length, source_length]`
    pub encoder_attentions: Vec<Tensor>,
    /// For each layer that was wanted `[batch, heads, target_length, target_length]`
    pub decoder_attentions: Vec<Tensor>,
    /// For each layer that was wanted `[batch, heads, target_length, source_length]`
    pub cross_attentions: Vec<Tensor>,
}

/// What of a forward pass is read back. What is not costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// `encoder_last_hidden_state`
    pub hidden: bool,
    /// `logits`
    pub logits: bool,
    /// Layers of the encoder's self-attention.
    pub encoder_attentions: Vec<usize>,
    /// Layers of the decoder's self-attention.
    pub decoder_attentions: Vec<usize>,
    /// Layers of the decoder's attention to the encoder.
    pub cross_attentions: Vec<usize>,
}

impl Wanted {
    /// Everything that a model has.
    pub fn all(config: &ModelConfig) -> Self {
        let layers = |stack: StackConfig| (0..stack.layers).collect::<Vec<_>>();
        Self {
            hidden: true,
            logits: true,
            encoder_attentions: layers(config.encoder),
            decoder_attentions: layers(config.decoder),
            cross_attentions: layers(config.decoder),
        }
    }
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
    /// A layer that the model does not have.
    #[error("there is no {kind} layer {layer}; the model has {layers}, counted from 0")]
    Layer {
        /// `encoder` or `decoder`.
        kind: &'static str,
        /// The layer asked for.
        layer: usize,
        /// How many there are.
        layers: usize,
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
    hidden: Option<State>,
    logits: Option<State>,
    /// One for each layer, wanted or not.
    encoder_attentions: Vec<Tap>,
    decoder_attentions: Vec<Tap>,
    cross_attentions: Vec<Tap>,
}

impl Transformer {
    /// Runs the encoder over the sources and the decoder over the given targets.
    ///
    /// # Errors
    /// [`ForwardError`] naming the input that does not fit the model.
    pub async fn forward(&self, input: &ForwardInput) -> Result<ForwardOutput, ForwardError> {
        self.forward_selected(input, &Wanted::all(&self.config)).await
    }

    /// As [`forward`](Self::forward), but only what is wanted is kept and read back; other tensors of the output are
    /// empty, other layers left out.
    ///
    /// # Errors
    /// As [`forward`](Self::forward), and [`ForwardError::Layer`].
    pub async fn forward_selected(
        &self,
        input: &ForwardInput,
        wanted: &Wanted,
    ) -> Result<ForwardOutput, ForwardError> {
        self.check(input)?;
        self.check_layers(wanted)?;
        let ForwardInput { batch, source_length, target_length, .. } = *input;
        let config = &self.config;
        let mut states = StateTable::default();
        let source_tokens = states.u32("source tokens", batch * source_length, 1);
        let source_positions = states.u32("source positions", batch * source_length, 1);
        let source_mask = states.u32("source mask", batch, source_length);
        let target_tokens = states.u32("target tokens", batch * target_length, 1);
        let target_positions = states.u32("target positions", batch * target_length, 1);
        let target_mask = states.u32("target mask", batch, target_length);
        let mut attentions =
            |kind: &str, wanted: &[usize], stack: StackConfig, queries: usize, keys: usize| {
                let rows = batch * stack.heads * queries;
                let mut state = |layer| states.f32(format!("{kind} attentions {layer}"), rows, keys);
                let mut tap = |layer| Tap(wanted.contains(&layer).then(|| state(layer)));
                (0..stack.layers).map(&mut tap).collect::<Vec<_>>()
            };
        let (s, t) = (source_length, target_length);
        let (encoder_stack, decoder_stack) = (config.encoder, config.decoder);
        let encoder_attentions = attentions("encoder", &wanted.encoder_attentions, encoder_stack, s, s);
        let decoder_attentions = attentions("decoder", &wanted.decoder_attentions, decoder_stack, t, t);
        let cross_attentions = attentions("cross", &wanted.cross_attentions, decoder_stack, t, s);
        let hidden =
            wanted.hidden.then(|| states.f32("encoder_last_hidden_state", batch * s, config.d_model));
        let logits = wanted.logits.then(|| states.f32("logits", batch * t, config.target_vocabulary));
        let out = Outputs { hidden, logits, encoder_attentions, decoder_attentions, cross_attentions };

        let mut graph = Graph::new("forward");
        let g = &mut graph;
        let source = Sequences { batch, length: s, mask: g.state(source_mask) };
        let target = Sequences { batch, length: t, mask: g.state(target_mask) };
        let (tokens, positions) = (g.state(source_tokens), g.state(source_positions));
        let memory =
            encoder(g, config, &self.blueprint, tokens, positions, &source, &out.encoder_attentions)?;
        if let Some(hidden) = out.hidden {
            g.keep(memory, hidden)?;
        }
        let memories = (0..config.decoder.layers)
            .map(|layer| {
                let key_values = memory_key_values(g, &self.blueprint, layer, memory)?;
                Ok(Memory { key_values, sequences: source })
            })
            .collect::<Result<Vec<_>, GraphError>>()?;
        let (tokens, positions) = (g.state(target_tokens), g.state(target_positions));
        let history = History::Whole(target, &out.decoder_attentions);
        let cross = &out.cross_attentions;
        let logits = decoder(g, config, &self.blueprint, tokens, positions, &history, &memories, cross)?;
        if let Some(state) = out.logits {
            g.keep(logits, state)?;
        }

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
        let read = async |state: Option<State>, shape: &[usize]| match state {
            Some(state) => Ok(Tensor { shape: shape.to_vec(), data: session.read(state).await? }),
            None => Ok::<_, GpuError>(Tensor { shape: vec![0], data: Vec::new() }),
        };
        let read_all = async |taps: &[Tap], heads: usize, queries: usize, keys: usize| {
            let mut tensors = Vec::new();
            for state in taps.iter().filter_map(|tap| tap.0) {
                tensors.push(read(Some(state), &[batch, heads, queries, keys]).await?);
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

    fn check_layers(&self, wanted: &Wanted) -> Result<(), ForwardError> {
        let (encoder, decoder) = (self.config.encoder.layers, self.config.decoder.layers);
        for (kind, wanted, layers) in [
            ("encoder", &wanted.encoder_attentions, encoder),
            ("decoder", &wanted.decoder_attentions, decoder),
            ("decoder", &wanted.cross_attentions, decoder),
        ] {
            if let Some(&layer) = wanted.iter().find(|&&layer| layer >= layers) {
                return Err(ForwardError::Layer { kind, layer, layers });
            }
        }
        Ok(())
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
