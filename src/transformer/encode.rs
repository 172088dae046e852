use std::marker::PhantomData;
use std::sync::Arc;

use super::end_states::Extent;
use super::global_states::{check_attention, most_globals};
use super::input_states::InputStates;
use super::loaded::{HostModel, LoadedModel};
use super::placed::Placed;
use super::{ForwardError, Tensor, Transformer};
use crate::gpu::GpuError;
use crate::graph::{Graph, Plan, Session, State, StateTable};
use crate::model::Taps;
use crate::model::config::Architecture;
use crate::model::embedding::Tokens;
use crate::model::encoder::encoder;

/// An encoder alone, for sources of one shape, without the keys and values of cross-attention.
pub struct Encoder<'a> {
    model: Arc<Placed>,
    /// The model of the transformer does not change meanwhile.
    _of: PhantomData<&'a Transformer>,
    session: Session,
    input: InputStates,
    memory: State,
    batch: usize,
    length: usize,
}

impl Transformer {
    /// Makes an encoder for `batch` sources of up to `length` tokens each. If its device is lost, so is the encoder.
    ///
    /// # Errors
    /// [`ForwardError::NoEncoder`], [`ForwardError::Empty`], [`ForwardError::TooLong`], and those of the device.
    pub fn encoder(&self, batch: usize, length: usize) -> Result<Encoder<'_>, ForwardError> {
        let model = self.model();
        let HostModel { config, blueprint, .. } = &*model.host;
        let limit = config.source_positions().longest_input();
        if config.architecture() == Architecture::DecoderOnly {
            return Err(ForwardError::NoEncoder { model_type: config.family.model_type() });
        }
        if batch == 0 || length == 0 {
            return Err(ForwardError::Empty { input: "input_ids" });
        }
        if length > limit {
            return Err(ForwardError::TooLong { input: "input_ids", length, limit });
        }
        let mut states = StateTable::default();
        let globals = most_globals(config, std::iter::once(&config.usual_globals()[..]));
        let input =
            InputStates::of_source(&mut states, "source", (batch, length), (config, globals), Extent::Own);
        // zeros: the first kind
        let types = (config.token_types > 0).then(|| states.u32("source token types", batch * length, 1));
        let memory = states.f32("encoder_last_hidden_state", batch * length, config.d_model);
        let mut graph = Graph::new("encoder");
        let g = &mut graph;
        let (tokens, sequences) = input.values(g, batch);
        let tokens = Tokens { types: types.map(|types| g.state(types)), ..tokens };
        let last = encoder(g, config, blueprint, tokens, &sequences, Taps::default())?;
        g.keep(last, memory)?;
        let session = Session::new(&model.device, &model.weights, &states, vec![Plan::new(graph)])?;
        Ok(Encoder { model, _of: PhantomData, session, input, memory, batch, length })
    }
}

impl Encoder<'_> {
    /// Runs the encoder and waits for the device; [`read`](Self::read) returns the result. Token types are 0; global
    /// tokens are the [usual ones](crate::model::config::ModelConfig::usual_globals).
    pub async fn run(&mut self, sources: &[Vec<u32>]) -> Result<(), ForwardError> {
        let LoadedModel { host, weights, device } = &self.model.model;
        let config = &host.config;
        let (rows, columns, input) = (self.batch, self.length, "input_ids");
        if sources.len() != rows {
            let got = sources.iter().map(Vec::len).sum();
            return Err(ForwardError::Size { input, got, rows, columns });
        }
        let vocabulary = config.source_vocabulary;
        for (row, source) in sources.iter().enumerate() {
            if source.len() > columns {
                return Err(ForwardError::TooLong { input, length: source.len(), limit: columns });
            }
            if let Some(column) = source.iter().position(|&token| token as usize >= vocabulary) {
                let token = source[column];
                return Err(ForwardError::Token { input, token, row, column, vocabulary });
            }
        }
        let globals = config.usual_globals();
        for source in sources {
            check_attention(config, &globals, source.len())?;
        }
        let sources: Vec<_> = sources.iter().map(|source| (&source[..], &globals[..])).collect();
        self.input.write_source(&mut self.session, config, &sources);
        self.session.run(self.session.program(0), weights);
        if let Some(gpu) = device.gpu() {
            gpu.settled().await?;
        }
        Ok(())
    }

    /// The last hidden states of the last run, `[batch, length, d_model]`.
    pub async fn read(&self) -> Result<Tensor, GpuError> {
        let shape = vec![self.batch, self.length, self.model.config.d_model];
        Ok(Tensor { shape, data: self.session.read(self.memory).await? })
    }
}
