use super::{Score, ScoreError, ScoreRequest};
use crate::graph::{Graph, Plan, Session, StateTable};
use crate::model::decoder::{Decoded, History, decoder, memory_key_values, output};
use crate::model::encoder::encoder;
use crate::model::{Memory, Taps};
use crate::transformer::end_states::Extent;
use crate::transformer::global_states::most_globals;
use crate::transformer::input_states::InputStates;
use crate::transformer::loaded::{HostModel, LoadedModel};

/// Maximal number of source or target tokens of a batch, padding included.
const MAX_TOKENS: usize = 4096;
/// Bytes of a batch's logits, unless one target needs more.
const MAX_LOGITS_BYTES: u64 = 128 << 20;
/// Token that is not counted by [`Graph::log_probability`].
const NOT_COUNTED: u32 = u32::MAX;

/// Number of waiting requests for one batch, shortest first.
pub fn batch_size(model: &LoadedModel, requests: &[ScoreRequest], waiting: &[usize]) -> usize {
    let vocabulary = model.config.target_vocabulary as u64;
    let logits = MAX_LOGITS_BYTES.min(model.device.max_buffer_bytes());
    let (mut source_length, mut target_length) = (0, 0);
    let fitting = waiting.iter().enumerate().take_while(|&(before, &index)| {
        source_length = requests[index].input_ids.len().max(source_length);
        target_length = requests[index].decoder_ids().len().max(target_length);
        let rows = (before + 1) * target_length;
        (before + 1) * source_length <= MAX_TOKENS
            && rows <= MAX_TOKENS
            && rows as u64 * vocabulary * 4 <= logits
    });
    fitting.count().max(1)
}

/// Scores a batch of targets.
pub async fn run(model: &LoadedModel, requests: &[&ScoreRequest]) -> Result<Vec<Score>, ScoreError> {
    let HostModel { config, blueprint, .. } = &*model.host;
    let weights = &model.weights;
    let batch = requests.len();
    let sequences: Vec<Vec<u32>> = requests.iter().map(|request| request.decoder_ids()).collect();
    let length = sequences.iter().map(Vec::len).max().unwrap_or(1);
    let source_length = requests.iter().map(|request| request.input_ids.len()).max().unwrap_or(0);

    let mut states = StateTable::default();
    let globals = most_globals(config, requests.iter().map(|request| &request.global_tokens[..]));
    let shape = (batch, source_length);
    let source = (source_length > 0)
        .then(|| InputStates::of_source(&mut states, "source", shape, (config, globals), Extent::Own));
    let target = InputStates::new(&mut states, "target", (batch, length));
    let next = states.u32("next tokens", batch * length, 1);
    let scores = states.f32("log-probabilities", batch * length, 1);

    let mut graph = Graph::new("score");
    let g = &mut graph;
    let mut memories = Vec::new();
    if let Some(source) = &source {
        let (tokens, sequences) = source.values(g, batch);
        let memory = encoder(g, config, blueprint, tokens, &sequences, Taps::default())?;
        let key_values = memory_key_values(g, blueprint, memory)?;
        memories = key_values.into_iter().map(|key_values| Memory { key_values, sequences }).collect();
    }
    let (tokens, whole) = target.values(g, batch);
    let whole = History::Whole(whole);
    let Decoded { last, .. } = decoder(g, config, blueprint, tokens, (&whole, &memories), Taps::default())?;
    let logits = output(g, config, blueprint, last, None)?;
    let targets = g.state(next);
    let result = g.log_probability(logits, targets)?;
    g.keep(result, scores)?;

    let mut session = Session::new(&model.device, weights, &states, vec![Plan::new(graph)])?;
    if let Some(source) = &source {
        let sources: Vec<_> = requests.iter().map(|request| request.source()).collect();
        source.write_source(&mut session, config, &sources);
    }
    target.write(&mut session, config, sequences.iter().map(Vec::as_slice));
    let mut wanted = vec![NOT_COUNTED; batch * length];
    for (row, request) in requests.iter().enumerate() {
        let ScoreRequest { context_ids, target_ids, .. } = request;
        // a position predicts the next one
        wanted[row * length + context_ids.len() - 1..][..target_ids.len()].copy_from_slice(target_ids);
    }
    session.write(next, &wanted);
    session.run(session.program(0), weights);
    let values = session.read(scores).await?;
    Ok(requests
        .iter()
        .enumerate()
        .map(|(row, ScoreRequest { context_ids, target_ids, .. })| {
            let first = row * length + context_ids.len() - 1;
            Score { token_log_probabilities: values[first..][..target_ids.len()].to_vec() }
        })
        .collect())
}
