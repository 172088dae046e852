//! A model's blueprint with switches: what a graph needs, and the weights that differ.

use super::error::SwitchError;
use super::place::{Block, Layers, Part, Place, Stack, Target};
use super::settings::{Setting, Switches, Value};
use crate::model::AttentionKind;
use crate::model::blueprint::{BlockSwitches, Blueprint, Mixing, StackWeights, qkv_columns};
use crate::model::config::{Mixer, ModelConfig, Positions, StackConfig};
use crate::model::edits::WeightEdits;
use crate::model::head::HeadName;
use crate::model::self_attention::SelfAttentionKind;
use crate::ops::Linear;

/// A blueprint with switches.
pub(crate) struct Switched {
    pub blueprint: Blueprint,
    /// Weights that are not those of the file.
    pub edits: WeightEdits,
}

/// The projections of one attention, for queries, keys and values.
struct Projections {
    /// Linear layer of each, and its first output.
    places: [(Linear, usize); 3],
    /// The same for global tokens, if they have their own.
    global: Option<[(Linear, usize); 3]>,
}

impl Switches {
    /// Checks that the switches fit a model, and applies them. `blueprint` is the model's own.
    pub(crate) fn over(&self, blueprint: &Blueprint, config: &ModelConfig) -> Result<Switched, SwitchError> {
        let targets = targets(blueprint, config);
        for setting in self.settings() {
            if !targets.iter().any(|target| setting.place.includes(target)) {
                return Err(missing(setting, &targets, config));
            }
        }
        let mut switched = Switched { blueprint: blueprint.clone(), edits: WeightEdits::default() };
        for target in &targets {
            match self.of(target) {
                None | Some(Setting { value: Value::On, .. }) => {}
                Some(setting) => {
                    self.check(config, target, setting)?;
                    switched.apply(config, target, setting, self);
                }
            }
        }
        Ok(switched)
    }

    /// A switch of scores in an encoder layer that has none, because its attention is uniform; and the layer.
    pub(crate) fn without_scores(&self, config: &ModelConfig) -> Option<(&str, usize)> {
        let uniform = |layer: &usize| *config.encoder_kind(*layer) == SelfAttentionKind::Uniform;
        (0..config.encoder.layers).filter(uniform).find_map(|layer| {
            let heads = (0..config.encoder.heads).map(|head| Part::Head(Some(head)));
            [Part::Scale, Part::Query, Part::Key].into_iter().chain(heads).find_map(|part| {
                let block = Some(Block::SelfAttention);
                let setting = self.of(&Target { stack: Stack::Encoder, layer: Some(layer), block, part })?;
                let changes = match part {
                    Part::Head(_) => setting.value == Value::Uniform,
                    _ => setting.value != Value::On,
                };
                changes.then_some((&*setting.text, layer))
            })
        })
    }

    /// The switch of another part of the same block, if it changes something.
    fn beside(&self, target: &Target, part: Part) -> Option<&Setting> {
        self.of(&Target { part, ..*target }).filter(|setting| setting.value != Value::On)
    }

    fn check(&self, config: &ModelConfig, target: &Target, setting: &Setting) -> Result<(), SwitchError> {
        let contradiction =
            |second: String| Err(SwitchError::Contradiction { first: setting.text.clone(), second });
        let stack = target.stack;
        let is_self = target.block == Some(Block::SelfAttention);
        let uniform_layer = stack == Stack::Encoder
            && is_self
            && target.layer.is_some_and(|layer| *config.encoder_kind(layer) == SelfAttentionKind::Uniform);
        match (target.part, setting.value) {
            (Part::Residual, _) if setting.place.block.is_some() => match self.beside(target, Part::Whole) {
                Some(off) => contradiction(off.text.clone()),
                None => Ok(()),
            },
            (Part::Query, _) if self.beside(target, Part::Key).is_some() => contradiction(
                self.beside(target, Part::Key).map(|other| other.text.clone()).unwrap_or_default(),
            ),
            (Part::Scale | Part::Query | Part::Key, _) | (Part::Head(_), Value::Uniform) if uniform_layer => {
                let layer = target.layer.unwrap_or_default();
                contradiction(format!("the attention encoder.{layer}=uniform"))
            }
            (Part::Head(_), Value::Uniform) if is_self => {
                let positions = Target { stack, layer: None, block: None, part: Part::Positions };
                match has_distances(config, stack) && self.beside(&positions, Part::Positions).is_none() {
                    true => Err(SwitchError::Distances { switch: setting.text.clone(), stack: stack.name() }),
                    false => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

/// All places of a model that can be switched.
fn targets(blueprint: &Blueprint, config: &ModelConfig) -> Vec<Target> {
    let mut targets = Vec::new();
    for (stack, weights) in
        [(Stack::Encoder, &blueprint.encoder_stack), (Stack::Decoder, &blueprint.decoder_stack)]
    {
        let of_stack = |part| Target { stack, layer: None, block: None, part };
        let StackWeights { positions, embedding_norm, final_norm } = weights;
        if positions.is_some() || has_distances(config, stack) {
            targets.push(of_stack(Part::Positions));
        }
        if embedding_norm.is_some() || final_norm.is_some() {
            targets.push(of_stack(Part::Norm));
        }
        let StackConfig { layers, heads, .. } = *stack_config(config, stack);
        for (layer, block) in (0..layers).flat_map(|layer| Block::ALL.map(|block| (layer, block))) {
            let crosses = stack == Stack::Decoder && config.encoder.layers > 0;
            if block == Block::Cross && !crosses {
                continue;
            }
            let is_recurrent = stack == Stack::Decoder && config.decoder_mixer == Mixer::Ssru;
            let attends = kind_of(stack, block).is_some() && !(is_recurrent && block == Block::SelfAttention);
            let mut parts = vec![Part::Whole, Part::Residual, Part::Norm];
            if attends {
                parts.extend([Part::Scale, Part::Query, Part::Key]);
                parts.extend((0..heads).map(|head| Part::Head(Some(head))));
            }
            targets.extend(parts.into_iter().map(|part| Target {
                stack,
                layer: Some(layer),
                block: Some(block),
                part,
            }));
        }
    }
    targets
}

/// The reason why a switch includes no place of the model.
fn missing(setting: &Setting, targets: &[Target], config: &ModelConfig) -> SwitchError {
    let Place { stack, layers, part, .. } = setting.place;
    let switch = setting.text.clone();
    let wider = |place: Place| targets.iter().find(|target| place.includes(target));
    if let Some(stack) = stack {
        let (name, count) = (stack.name(), stack_config(config, stack).layers);
        if count == 0 {
            return SwitchError::Stack { switch, stack: name };
        }
        if matches!(layers, Layers::One(layer) if layer >= count) {
            return SwitchError::Layer { switch, stack: name, layers: count };
        }
    }
    if let (Part::Head(_), Some(target)) = (part, wider(Place { part: Part::Head(None), ..setting.place })) {
        let (stack, heads) = (target.stack.name(), stack_config(config, target.stack).heads);
        return SwitchError::Head { switch, stack, heads };
    }
    SwitchError::Missing { switch, has: parts_of(targets) }
}

/// The parts of a model's stacks and of their first layers, in words.
fn parts_of(targets: &[Target]) -> String {
    let mut names: Vec<String> = Vec::new();
    for target in targets.iter().filter(|target| target.layer.is_none_or(|layer| layer == 0)) {
        let part = match target.part {
            Part::Whole => "",
            Part::Residual => ".residual",
            Part::Norm => ".norm",
            Part::Scale => ".scale",
            Part::Query => ".query",
            Part::Key => ".key",
            Part::Head(Some(0)) => ".head.N",
            Part::Head(_) => continue,
            Part::Positions => ".positions",
        };
        let block = target.block.map_or(String::new(), |block| format!(".LAYER.{}", block.name()));
        names.push(format!("{}{block}{part}", target.stack.name()));
    }
    names.join(", ")
}

/// Whether scores of self-attention have a bias by distance.
fn has_distances(config: &ModelConfig, stack: Stack) -> bool {
    let positions = match stack {
        Stack::Encoder => config.source_positions(),
        Stack::Decoder => &config.positions,
    };
    matches!(positions, Positions::Relative(_))
}

impl Switched {
    fn apply(&mut self, config: &ModelConfig, target: &Target, setting: &Setting, switches: &Switches) {
        let stack = stack_config(config, target.stack);
        let (Some(layer), Some(block)) = (target.layer, target.block) else {
            self.apply_to_stack(target);
            return;
        };
        match (target.part, setting.value) {
            // a block that is off hands on its input, or nothing would go on
            (Part::Residual, _) => {
                let keeps = switches.beside(target, Part::Whole).is_some();
                self.block(target.stack, layer, block, |switches| switches.no_residual = !keeps);
            }
            (Part::Norm, _) => self.block(target.stack, layer, block, |switches| switches.no_norm = true),
            (Part::Scale, Value::Scale(scale)) => {
                self.block(target.stack, layer, block, |switches| switches.scale = Some(scale));
            }
            (Part::Scale, _) => self.block(target.stack, layer, block, |switches| switches.scale = Some(1.0)),
            (Part::Whole, _) => self.turn_off(config, target.stack, layer, block),
            (part, value) => {
                let Some(kind) = kind_of(target.stack, block) else { return };
                if let Some(projections) = Projections::of(&self.blueprint, config, kind, layer) {
                    projections.edit(&mut self.edits, stack, part, value);
                }
            }
        }
    }

    /// Positions and norms outside the layers.
    fn apply_to_stack(&mut self, target: &Target) {
        let [encoder_biases, decoder_biases] = self.blueprint.distance_biases();
        let (stack, biases) = match target.stack {
            Stack::Encoder => (&mut self.blueprint.encoder_stack, encoder_biases),
            Stack::Decoder => (&mut self.blueprint.decoder_stack, decoder_biases),
        };
        if target.part == Part::Norm {
            (stack.embedding_norm, stack.final_norm) = (None, None);
            return;
        }
        stack.positions = None;
        // sums of blocks need a table, so it stays, with zeros
        for table in biases {
            let rows = self.blueprint.table.entries()[table.index].rows;
            self.edits.zero_entry(table.index, 0..rows);
        }
    }

    fn block(&mut self, stack: Stack, layer: usize, block: Block, set: impl Fn(&mut BlockSwitches)) {
        let Blueprint { encoder, decoder, .. } = &mut self.blueprint;
        match (stack, block) {
            (Stack::Encoder, Block::SelfAttention) => set(&mut encoder[layer].self_attention.switches),
            (Stack::Encoder, _) => set(&mut encoder[layer].feed_forward.switches),
            (Stack::Decoder, Block::SelfAttention) => set(decoder[layer].mixing.switches_mut()),
            (Stack::Decoder, Block::Cross) => {
                decoder[layer]
                    .cross_attention
                    .as_mut()
                    .into_iter()
                    .for_each(|cross| set(&mut cross.switches));
            }
            (Stack::Decoder, Block::FeedForward) => set(&mut decoder[layer].feed_forward.switches),
        }
    }

    /// Makes a block add nothing. Attention still has weights to look at, so its output layer has zeros.
    fn turn_off(&mut self, config: &ModelConfig, stack: Stack, layer: usize, block: Block) {
        let Blueprint { encoder, decoder, .. } = &self.blueprint;
        let output = match (stack, block) {
            (_, Block::FeedForward) => {
                return self.block(stack, layer, block, |switches| switches.off = true);
            }
            (Stack::Encoder, _) => Some(encoder[layer].self_attention.output),
            (Stack::Decoder, Block::Cross) => decoder[layer].cross_attention.map(|cross| cross.output),
            (Stack::Decoder, Block::SelfAttention) => match decoder[layer].mixing {
                Mixing::Attention(attention) => Some(attention.output),
                // new content of the cells, in the first half of the outputs
                Mixing::Ssru(ssru) => Some(ssru.input),
            },
        };
        if let Some(linear) = output {
            self.edits.zero(linear, 0..config.d_model);
        }
    }
}

impl Projections {
    fn of(blueprint: &Blueprint, config: &ModelConfig, kind: AttentionKind, layer: usize) -> Option<Self> {
        let fused = |linear: Linear, stack: &StackConfig| qkv_columns(stack).map(|first| (linear, first));
        let apart = |query: Linear, key_value: Linear, stack: &StackConfig| {
            [(query, 0), (key_value, 0), (key_value, stack.key_width())]
        };
        let stack = kind.stack(config);
        let (places, global) = match kind {
            AttentionKind::Encoder => {
                let attention = blueprint.encoder.get(layer)?.self_attention;
                let global = attention.global.map(|global| apart(global.query, global.key_value, stack));
                (fused(attention.qkv, stack), global)
            }
            AttentionKind::Decoder => match blueprint.decoder.get(layer)?.mixing {
                Mixing::Attention(attention) => (fused(attention.qkv, stack), None),
                Mixing::Ssru(_) => return None,
            },
            AttentionKind::Cross => {
                let cross = blueprint.decoder.get(layer)?.cross_attention?;
                (apart(cross.query, cross.key_value, stack), None)
            }
        };
        Some(Self { places, global })
    }

    fn edit(&self, edits: &mut WeightEdits, stack: &StackConfig, part: Part, value: Value) {
        for [queries, keys, values] in [Some(&self.places), self.global.as_ref()].into_iter().flatten() {
            let all = |first: usize| first..first + stack.key_width();
            match (part, value) {
                (Part::Query, _) => edits.copy(queries.0, all(queries.1), *keys),
                (Part::Key, _) => edits.copy(keys.0, all(keys.1), *queries),
                (Part::Head(Some(head)), Value::Uniform) => {
                    let first = queries.1 + head * stack.d_k;
                    edits.zero(queries.0, first..first + stack.d_k);
                }
                (Part::Head(Some(head)), _) => {
                    let first = values.1 + head * stack.d_v;
                    edits.zero(values.0, first..first + stack.d_v);
                }
                _ => {}
            }
        }
    }
}

/// Adds the edit that mutes a head; `false` if the model lacks it.
pub(crate) fn mute_head(
    edits: &mut WeightEdits,
    (blueprint, config): (&Blueprint, &ModelConfig),
    name: HeadName,
) -> bool {
    let stack = name.kind.stack(config);
    match Projections::of(blueprint, config, name.kind, name.layer) {
        Some(projections) if name.head < stack.heads => {
            projections.edit(edits, stack, Part::Head(Some(name.head)), Value::Mute);
            true
        }
        _ => false,
    }
}

fn kind_of(stack: Stack, block: Block) -> Option<AttentionKind> {
    match (stack, block) {
        (Stack::Encoder, Block::SelfAttention) => Some(AttentionKind::Encoder),
        (Stack::Decoder, Block::SelfAttention) => Some(AttentionKind::Decoder),
        (Stack::Decoder, Block::Cross) => Some(AttentionKind::Cross),
        _ => None,
    }
}

fn stack_config(config: &ModelConfig, stack: Stack) -> &StackConfig {
    match stack {
        Stack::Encoder => &config.encoder,
        Stack::Decoder => &config.decoder,
    }
}
