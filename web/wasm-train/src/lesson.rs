//! A model that learns a small task, for JavaScript.

use std::collections::BTreeMap;

use js_sys::{Object, Uint8Array};
use wasm_bindgen::prelude::*;
use wordloom::heatmap::ColourMap;
use wordloom::train::{Lesson, LessonOptions, Losses, Pair, TrainError};
use wordloom::{Device, DeviceChoice};

use crate::failure::Failure;
use crate::results::{Check, DeviceInfo, Info, Sample, Steps, attention, js_object, to_js};

/// Most pairs of a validation.
const MOST_CHECKED: usize = 64;
/// Seed of the pairs for validation: the same for every run of a task.
const VALIDATION: u64 = 0;

/// A model in training on a device. Calls must not overlap.
#[wasm_bindgen]
pub struct Pupil {
    device: Device,
    choice: DeviceChoice,
    lesson: Lesson,
    validation: Vec<Pair>,
}

#[wasm_bindgen]
impl Pupil {
    /// A new model. `options`: JSON of [`LessonOptions`]; `device`: `auto`, `gpu`, `cpu` or a part of an adapter's name.
    pub async fn create(options: String, device: String) -> Result<Pupil, JsValue> {
        let options: LessonOptions = serde_json::from_str(&options)
            .map_err(|error| Failure::input(format!("the options of the training: {error}")))?;
        let (device, choice) = open(&device).await?;
        let lesson = Lesson::new(&device, options).map_err(Failure::from)?;
        Ok(Self::new(device, choice, lesson))
    }

    /// Goes on with stored files: an object of `Uint8Array`s by name.
    pub async fn resume(files: Object, device: String) -> Result<Pupil, JsValue> {
        let mut stored = BTreeMap::new();
        for entry in Object::entries(&files).iter() {
            let entry: js_sys::Array = entry.unchecked_into();
            let bytes = entry.get(1).dyn_into::<Uint8Array>().map_err(|_| {
                Failure::input("the files of a stored training are an object of Uint8Arrays by name")
            })?;
            stored.insert(entry.get(0).as_string().unwrap_or_default(), bytes.to_vec());
        }
        let (device, choice) = open(&device).await?;
        let lesson = Lesson::resume(&device, stored).map_err(Failure::from)?;
        Ok(Self::new(device, choice, lesson))
    }

    fn new(device: Device, choice: DeviceChoice, lesson: Lesson) -> Self {
        let validation = lesson.task().validation(MOST_CHECKED, VALIDATION);
        Self { device, choice, lesson, validation }
    }

    /// The device, the options with their defaults, and sizes.
    pub fn info(&self) -> Result<JsValue, JsValue> {
        let gpu = self.device.gpu();
        let device = DeviceInfo {
            kind: if gpu.is_some() { "gpu" } else { "cpu" },
            name: gpu.map_or_else(|| "CPU".into(), |gpu| gpu.adapter().name().into()),
            software: gpu.is_some_and(|gpu| gpu.class().is_software()),
            notice: self.device.notice(&self.choice).replace("`--device cpu`", "the CPU"),
        };
        Ok(to_js(&Info {
            device,
            options: self.lesson.options(),
            parameters: self.lesson.parameters(),
            symbols: self.lesson.task().symbols().count(),
            longest: self.lesson.task().longest(),
            holds_out: self.lesson.task().holds_out(),
            step: self.lesson.step_count(),
        })?)
    }

    /// Takes steps. Returns the mean loss over them.
    pub async fn steps(&mut self, count: u32) -> Result<JsValue, JsValue> {
        let losses = self.take(count).await.map_err(Failure::from)?;
        let step = self.lesson.step_count();
        Ok(to_js(&Steps {
            step,
            loss: losses.mean(),
            accuracy: losses.correct / losses.tokens.max(1.0),
            tokens: losses.tokens,
            learning_rate: self.lesson.learning_rate(step),
        })?)
    }

    /// Answers the pairs for validation, and returns the first `samples` of them.
    pub async fn check(&mut self, samples: usize) -> Result<JsValue, JsValue> {
        Ok(to_js(&self.checked(samples).await.map_err(Failure::from)?)?)
    }

    /// The most probable output of an input's text.
    pub async fn predict(&self, input: String) -> Result<String, JsValue> {
        let got = self.answer(&input).await.map_err(Failure::from)?;
        Ok(self.lesson.task().symbols().text(&got))
    }

    /// The attention of all heads for an input and its most probable output; without an input, for the first pair for
    /// validation and its expected output.
    pub async fn attention(&self, input: Option<String>) -> Result<JsValue, JsValue> {
        Ok(self.attended(input).await.map_err(Failure::from)?)
    }

    /// 256 colours of a colour map, red, green and blue, for weights from 0 to 1.
    pub fn colours(&self, name: &str) -> Result<Uint8Array, JsValue> {
        let map: ColourMap =
            name.parse().map_err(|error| Failure::input(format!("\"colours\" is {name:?}: {error}")))?;
        let table: Vec<u8> = (0..=255u8).flat_map(|step| map.colour(f32::from(step) / 255.0)).collect();
        Ok(Uint8Array::from(&table[..]))
    }

    /// The files of the model's folder; `state`: and those for [`Pupil::resume`].
    pub async fn files(&self, state: bool) -> Result<JsValue, JsValue> {
        let files = match state {
            true => self.lesson.files().await,
            false => self.lesson.folder().await,
        };
        let files = files.map_err(Failure::from)?;
        Ok(js_object(files.iter().map(|(name, bytes)| (name.as_str(), Uint8Array::from(&bytes[..]).into()))))
    }
}

impl Pupil {
    async fn take(&mut self, count: u32) -> Result<Losses, TrainError> {
        for _ in 0..count {
            self.lesson.take_step().await?;
        }
        self.lesson.losses().await
    }

    async fn checked(&mut self, samples: usize) -> Result<Check, TrainError> {
        let losses = self.lesson.evaluate(&self.validation).await?;
        let sources: Vec<Vec<u32>> = self.validation.iter().map(|pair| pair.source.clone()).collect();
        let answers = self.lesson.snapshot().await?.answers(&sources).await?;
        let text = |ids: &[u32]| self.lesson.task().symbols().text(ids);
        let pairs = self.validation.iter().zip(&answers);
        Ok(Check {
            step: self.lesson.step_count(),
            loss: losses.mean(),
            accuracy: losses.correct / losses.tokens.max(1.0),
            right: pairs.clone().filter(|(pair, got)| pair.target == **got).count(),
            count: answers.len(),
            samples: pairs
                .take(samples)
                .map(|(pair, got)| Sample {
                    source: text(&pair.source),
                    expected: text(&pair.target),
                    got: text(got),
                })
                .collect(),
        })
    }

    async fn answer(&self, input: &str) -> Result<Vec<u32>, TrainError> {
        let source = self.lesson.task().input(input)?;
        let answers = self.lesson.snapshot().await?.answers(&[source]).await?;
        Ok(answers.into_iter().next().unwrap_or_default())
    }

    async fn attended(&self, input: Option<String>) -> Result<JsValue, TrainError> {
        let snapshot = self.lesson.snapshot().await?;
        let pair = match input {
            Some(input) => {
                let source = self.lesson.task().input(&input)?;
                let target = snapshot.answers(std::slice::from_ref(&source)).await?.remove(0);
                Pair { source, target }
            }
            None => self.validation[0].clone(),
        };
        let output = snapshot.attention(&pair).await?;
        let symbols = self.lesson.task().symbols();
        let names = |ids: &[u32]| ids.iter().map(|id| symbols.name(*id)).collect();
        Ok(attention(&output, names(&pair.source), names(&pair.target)))
    }
}

/// Opens the device that a caller names.
pub async fn open(device: &str) -> Result<(Device, DeviceChoice), Failure> {
    let choice: DeviceChoice = device.parse().map_err(|error: String| Failure::input(error))?;
    Ok((Device::open(&choice).await?, choice))
}
