//! The best translations of a sentence, and for each token of the best one the source token with most attention:
//! `cargo run --release --example n_best`

use std::error::Error;

use wordloom::trace::{AttentionKind, Trace, TraceOptions};
use wordloom::{Device, DeviceChoice, Model, TranslateOptions, Translator};

#[pollster::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::open(&DeviceChoice::Auto).await?;
    let translator = Translator::new(&device, &Model::embedded()?)?;
    let options = TranslateOptions::default().beams(4).n_best(3);
    let source = "I would like a cup of coffee, please.";
    let translation = translator.translate(source, &options).await?;
    for hypothesis in &translation.hypotheses {
        println!("{:.3}  {}", hypothesis.score, hypothesis.text);
    }

    let trace = Trace::of(&translator, source, &translation, &options, &TraceOptions::default()).await?;
    for sentence in &trace.sentences {
        let last = sentence.layers(AttentionKind::Cross).next_back().ok_or("the decoder has no layer")?;
        let mean = last.averaged();
        let targets = sentence.query_labels(AttentionKind::Cross);
        let sources = sentence.key_labels(AttentionKind::Cross);
        for (target, weights) in targets.iter().zip(mean.head(0).rows()) {
            let best = weights.iter().zip(&sources).max_by(|one, other| one.0.total_cmp(other.0));
            let (weight, source) = best.ok_or("the source is empty")?;
            println!("{target:>12} {weight:.2} {source}");
        }
    }
    Ok(())
}
