//! Token ids in, token ids out: `cargo run --release --example generate`

use std::error::Error;

use wordloom::model::generation_config::GenerationConfig;
use wordloom::transformer::{GenerateOptions, GenerateRequest};
use wordloom::{Device, DeviceChoice, Model, Transformer, resolve};

#[pollster::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::open(&DeviceChoice::Auto).await?;
    let transformer = Transformer::load(&device, &Model::embedded()?, &mut |_| {})?;

    // named as in Hugging Face's `generate`; the model's generation_config.json gives the others
    let config = GenerationConfig {
        num_beams: Some(4),
        num_return_sequences: Some(2),
        max_new_tokens: Some(20),
        ..GenerationConfig::default()
    };
    let input_ids = vec![42, 91, 212, 46, 0]; // "Hello!"
    let options = resolve(&config, transformer.generation_config(), transformer.config(), &input_ids)?;
    let requests = [GenerateRequest::new(input_ids, options)];
    for generation in transformer.generate(&requests, GenerateOptions::default()).await? {
        for hypothesis in generation.hypotheses {
            println!("{:.3} {:?}", hypothesis.score, hypothesis.tokens);
        }
    }
    Ok(())
}
