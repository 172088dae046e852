//! The measured model and device.

use serde::Serialize;
use wordloom::Device;
use wordloom::model::config::StackConfig;

use super::host;
use super::subject::Subject;
use crate::CliError;
use crate::output::Output;

#[derive(Serialize)]
pub struct Measured {
    version: &'static str,
    date: String,
    pub model: ModelShape,
    device: DeviceShape,
}

impl Measured {
    pub fn new(subject: &Subject) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            date: host::date(),
            model: ModelShape::of(subject),
            device: DeviceShape::of(&subject.device()),
        }
    }

    pub fn text(&self, output: &mut Output) -> Result<(), CliError> {
        output.line(&format!("wordloom  {}, {}", self.version, self.date))?;
        output.line(&format!("model     {}", self.model.text()))?;
        output.line(&format!("device    {}", self.device.text()))
    }
}

#[derive(Serialize)]
pub struct ModelShape {
    pub name: String,
    pub model_type: &'static str,
    pub d_model: usize,
    pub encoder: Stack,
    pub decoder: Stack,
    pub source_vocabulary: usize,
    pub target_vocabulary: usize,
    pub parameters: u64,
    pub random_weights: bool,
    pub weight_bytes: u64,
}

#[derive(Serialize)]
pub struct Stack {
    pub layers: usize,
    pub heads: usize,
    pub d_k: usize,
    pub d_v: usize,
    pub ffn_width: usize,
}

impl From<StackConfig> for Stack {
    fn from(StackConfig { layers, heads, d_k, d_v, ffn_width }: StackConfig) -> Self {
        Self { layers, heads, d_k, d_v, ffn_width }
    }
}

impl ModelShape {
    pub fn of(subject: &Subject) -> Self {
        let config = subject.config();
        Self {
            name: subject.label.clone(),
            model_type: config.family.model_type(),
            d_model: config.d_model,
            encoder: config.encoder.into(),
            decoder: config.decoder.into(),
            source_vocabulary: config.source_vocabulary,
            target_vocabulary: config.target_vocabulary,
            parameters: subject.transformer.parameters(),
            random_weights: subject.random,
            weight_bytes: subject.transformer.weight_bytes(),
        }
    }

    pub fn text(&self) -> String {
        let Self { encoder, decoder, .. } = self;
        let layers = [("encoder", encoder), ("decoder", decoder)];
        let layers = layers.into_iter().filter(|(_, stack)| stack.layers > 0);
        let layers: Vec<String> =
            layers.map(|(name, stack)| format!("{name} {} × {}", stack.layers, stack.ffn_width)).collect();
        let weights = if self.random_weights { ", random weights" } else { "" };
        format!(
            "{}: {}, width {}, {}, {} tokens, {:.1} M parameters{weights}",
            self.name,
            self.model_type,
            self.d_model,
            layers.join(", "),
            self.target_vocabulary,
            self.parameters as f64 / 1e6
        )
    }
}

#[derive(Serialize)]
pub struct DeviceShape {
    pub name: String,
    pub kind: &'static str,
    pub backend: Option<&'static str>,
    pub driver: Option<String>,
    pub processor: Option<String>,
    pub threads: usize,
}

impl DeviceShape {
    pub fn of(device: &Device) -> Self {
        let (processor, threads) = (host::processor(), host::threads());
        match device.gpu().map(|gpu| gpu.adapter()) {
            None => Self { name: "CPU".into(), kind: "CPU", backend: None, driver: None, processor, threads },
            Some(adapter) => Self {
                name: adapter.name().to_owned(),
                kind: adapter.kind(),
                backend: Some(adapter.backend()),
                driver: Some(adapter.driver()),
                processor,
                threads,
            },
        }
    }

    pub fn text(&self) -> String {
        let host = match &self.processor {
            Some(processor) => format!("{processor}, {} threads", self.threads),
            None => format!("{} threads", self.threads),
        };
        match (self.backend, &self.driver) {
            (Some(backend), Some(driver)) => {
                format!("{} ({}, {backend}, {driver}); host {host}", self.name, self.kind)
            }
            _ => format!("{} ({host})", self.name),
        }
    }
}
