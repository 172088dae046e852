//! What `Translator.info` says of a model and its device.

use serde::Serialize;
use wordloom::model::config::Architecture;
use wordloom::{Device, DeviceChoice};

use crate::languages::{Languages, default_languages};
use crate::loading::Runner;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    pub device: DeviceInfo,
    pub model: ModelInfo,
    pub defaults: Defaults,
}

#[derive(Serialize)]
pub struct DeviceInfo {
    pub kind: &'static str,
    pub name: String,
    pub software: bool,
    pub notice: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    pub label: String,
    pub family: &'static str,
    pub architecture: &'static str,
    pub ids_only: Option<String>,
    pub summarizes: bool,
    pub languages: Languages,
    pub parameters: u64,
    pub weights: String,
    pub weight_bytes: u64,
    pub d_model: usize,
    pub encoder_layers: usize,
    pub decoder_layers: usize,
    pub heads: usize,
    pub decoder_heads: usize,
    pub source_vocabulary: usize,
    pub target_vocabulary: usize,
    pub positions: Option<usize>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Defaults {
    pub beams: usize,
    pub length_penalty: f32,
    pub max_length: Option<usize>,
    pub sample: bool,
    pub source_language: Option<String>,
    pub target_language: Option<String>,
}

impl Info {
    pub fn of(runner: &Runner, choice: &DeviceChoice, label: &str) -> Self {
        let transformer = runner.transformer();
        let (device, config) = (transformer.device(), transformer.config());
        let generation = transformer.generation_config();
        let gpu = device.gpu();
        let (tokenizer, ids_only) = match runner {
            Runner::Text(translator) => (Some(translator.tokenizer()), None),
            Runner::Ids { reason, .. } => (None, Some(reason.clone())),
        };
        let [source_language, target_language] =
            tokenizer.map_or([None, None], |tokenizer| default_languages(tokenizer, generation));
        Self {
            device: DeviceInfo {
                kind: if matches!(device, Device::Cpu) { "cpu" } else { "gpu" },
                name: gpu.map_or("CPU".into(), |gpu| gpu.adapter().name().into()),
                software: gpu.is_some_and(|gpu| gpu.class().is_software()),
                notice: device.notice(choice).replace("`--device cpu`", "the CPU"),
            },
            model: ModelInfo {
                label: label.into(),
                family: config.family.model_type(),
                architecture: match config.architecture() {
                    Architecture::EncoderDecoder => "encoder-decoder",
                    Architecture::EncoderOnly => "encoder-only",
                    Architecture::DecoderOnly => "decoder-only",
                },
                ids_only,
                summarizes: matches!(runner, Runner::Text(translator) if translator.summarizes()),
                languages: tokenizer.map(Languages::of).unwrap_or_default(),
                parameters: transformer.parameters(),
                weights: transformer.stored_as().to_string(),
                weight_bytes: transformer.weight_bytes(),
                d_model: config.d_model,
                encoder_layers: config.encoder.layers,
                decoder_layers: config.decoder.layers,
                heads: config.encoder.heads,
                decoder_heads: config.decoder.heads,
                source_vocabulary: config.source_vocabulary,
                target_vocabulary: config.target_vocabulary,
                positions: Some(config.positions.count()).filter(|&count| count < usize::MAX),
            },
            defaults: Defaults {
                beams: generation.num_beams.unwrap_or(1),
                length_penalty: generation.length_penalty.unwrap_or(1.0),
                max_length: generation.max_length,
                sample: generation.do_sample.unwrap_or(false),
                source_language,
                target_language,
            },
        }
    }
}
