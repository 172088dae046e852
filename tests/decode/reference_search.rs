//! Greedy and beam search of one sentence, as directly as possible: no batch, no device, every token of every
//! beam ranked in f64. Beam search is `GenerationMixin._beam_search` of transformers 4.50 and later, with its
//! fixed number of beams (missing ones score -1e9) and its `(1 + end tokens) * num_beams` candidates.

use wordloom::decode::{DecodeOptions, EarlyStopping};

/// A language model for tests: the logits of the next token after `history`.
pub type Model<'a> = &'a dyn Fn(&[u32]) -> Vec<f32>;

pub struct Expected {
    /// Tokens and score, best first.
    pub hypotheses: Vec<(Vec<u32>, f64)>,
    /// How far the closest decision was from going the other way.
    pub margin: f64,
}

fn log_softmax(scores: &mut [f64]) {
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if max.is_finite() {
        let log_sum = max + scores.iter().map(|x| (x - max).exp()).sum::<f64>().ln();
        scores.iter_mut().for_each(|x| *x -= log_sum);
    }
}

/// transformers' logits processors in their order, one sequence.
fn process(history: &[u32], mut scores: Vec<f64>, o: &DecodeOptions) -> Vec<f64> {
    let length = history.len();
    let mut seen = history.to_vec();
    seen.sort();
    seen.dedup();
    for &token in &seen {
        let score = &mut scores[token as usize];
        let penalty = f64::from(o.repetition_penalty);
        *score = if *score < 0.0 { *score * penalty } else { *score / penalty };
    }
    let n = o.no_repeat_ngram_size;
    if n > 0 && length >= n {
        for i in 0..=length - n {
            if history[i..i + n - 1] == history[length + 1 - n..] {
                scores[history[i + n - 1] as usize] = f64::NEG_INFINITY;
            }
        }
    }
    for word in o.bad_words.iter().filter(|word| !(word.len() == 1 && o.eos.contains(&word[0]))) {
        let before = word.len() - 1;
        if before == 0 || (before <= length && history[length - before..] == word[..before]) {
            scores[word[before] as usize] = f64::NEG_INFINITY;
        }
    }
    if length < o.min_length {
        o.eos.iter().for_each(|&eos| scores[eos as usize] = f64::NEG_INFINITY);
    }
    for (forced, at) in [(o.forced_bos, 1), (o.forced_eos, o.max_length - 1)] {
        if let Some(token) = forced.filter(|_| length == at) {
            scores.fill(f64::NEG_INFINITY);
            scores[token as usize] = 0.0;
        }
    }
    if o.renormalize_logits {
        log_softmax(&mut scores);
    }
    scores
}

fn wide(logits: Vec<f32>) -> Vec<f64> {
    logits.into_iter().map(f64::from).collect()
}

/// Indices by descending score, equal ones by ascending index.
fn ranking(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].partial_cmp(&scores[a]).unwrap());
    order
}

pub fn greedy(model: Model, o: &DecodeOptions) -> Expected {
    let (mut tokens, mut score, mut margin) = (o.prompt.clone(), 0.0, f64::INFINITY);
    loop {
        let mut scores = process(&tokens, wide(model(&tokens)), o);
        log_softmax(&mut scores);
        let order = ranking(&scores);
        if scores[order[1]].is_finite() {
            margin = margin.min(scores[order[0]] - scores[order[1]]);
        }
        score += scores[order[0]];
        tokens.push(order[0] as u32);
        if o.eos.contains(&(order[0] as u32)) || tokens.len() >= o.max_length {
            return Expected { hypotheses: vec![(tokens, score)], margin };
        }
    }
}

pub fn beam(model: Model, o: &DecodeOptions) -> Expected {
    let (k, penalty) = (o.num_beams, f64::from(o.length_penalty));
    let mut running = vec![(o.prompt.clone(), -1e9); k];
    running[0].1 = 0.0;
    let mut finished: Vec<(Vec<u32>, f64)> = Vec::new();
    let mut margin = f64::INFINITY;
    let mut closest = |a: f64, b: f64| margin = margin.min((a - b).abs());
    let prompt = o.prompt.len();
    for length in prompt.. {
        let generated = length + 1 - prompt;
        let mut flat = Vec::new();
        for (tokens, score) in &running {
            let mut scores = wide(model(tokens));
            log_softmax(&mut scores);
            flat.extend(process(tokens, scores, o).into_iter().map(|logprob| score + logprob));
        }
        let vocabulary = flat.len() / k;
        let order: Vec<usize> = ranking(&flat).into_iter().filter(|&i| flat[i] > -1e8).collect();
        let hits = |i: usize| o.eos.contains(&((i % vocabulary) as u32)) || length + 1 >= o.max_length;
        let extended = |i: usize| [running[i / vocabulary].0.as_slice(), &[(i % vocabulary) as u32]].concat();

        // transformers keeps (1 + end tokens) * beams candidates of all beams together.
        let kept = &order[..order.len().min((1 + o.eos.len()).max(2) * k)];
        let going: Vec<usize> = order.iter().copied().filter(|&i| !hits(i)).collect();
        if going.len() > k {
            closest(flat[going[k - 1]], flat[going[k]]);
        }
        if order.len() > k && (hits(order[k - 1]) || hits(order[k])) {
            closest(flat[order[k - 1]], flat[order[k]]);
        }
        for &i in kept.iter().take(k).filter(|&&i| hits(i)) {
            finished.push((extended(i), flat[i] / (generated as f64).powf(penalty)));
        }
        finished.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap());
        if finished.len() > k {
            closest(finished[k - 1].1, finished[k].1);
            finished.truncate(k);
        }
        if order.is_empty() && finished.is_empty() {
            let generated = (generated as f64 - 1.0).max(1.0);
            finished.push((running[0].0.clone(), running[0].1 / generated.powf(penalty)));
        }
        let going: Vec<usize> = kept.iter().copied().filter(|&i| !hits(i)).take(k).collect();
        let mut done = going.is_empty();
        running = going.iter().map(|&i| (extended(i), flat[i])).collect();
        if !done && finished.len() == k {
            let never = o.early_stopping == EarlyStopping::Never && penalty > 0.0;
            let generated = if never { o.max_length - prompt } else { generated };
            let (best, worst) = (running[0].1 / (generated as f64).powf(penalty), finished[k - 1].1);
            closest(best, worst);
            done = o.early_stopping == EarlyStopping::Always || best <= worst;
        }
        if done {
            break;
        }
        running.resize(k, (running[0].0.clone(), -1e9));
    }
    finished.windows(2).for_each(|pair| closest(pair[0].1, pair[1].1));
    finished.truncate(o.num_return_sequences);
    Expected { hypotheses: finished, margin }
}
