//! Copies keys and values of whole prompts from a fused projection into the caches; skips rows whose slot is beyond
//! them.

use crate::cpu;
use crate::graph::{CpuRun, Graph, GraphError, Lowering, Operator, State, Value};
use crate::kernels::append_kv;
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
pub(super) struct AppendKv {
    pub qkv: Value,
    pub cache_slots: Value,
    pub key_cache: Value,
    pub value_cache: Value,
}

impl Graph {
    /// Adds keys and values to caches.
    ///
    /// * `qkv`: `[rows, 2 * heads * d_head + heads * d_value]`; `cache_slots`: u32 `[rows, 1]`, the row of the caches
    /// * `key_cache`: `[rows * capacity, heads * d_head]`; `value_cache`: `[rows * capacity, heads * d_value]`
    pub fn append_kv(
        &mut self,
        qkv: Value,
        cache_slots: State,
        key_cache: State,
        value_cache: State,
    ) -> Result<(), GraphError> {
        let op = "append_kv";
        let [cache_slots, key_cache, value_cache] =
            [cache_slots, key_cache, value_cache].map(|state| self.state(state));
        let rows = self.shape(qkv).rows;
        let (keys, values) = (self.shape(key_cache), self.shape(value_cache));
        self.expect(op, "qkv", qkv, Shape::new(rows, 2 * keys.width + values.width), Dtype::F32)?;
        self.expect(op, "cache_slots", cache_slots, Shape::new(rows, 1), Dtype::U32)?;
        self.expect(op, "key_cache", key_cache, keys, Dtype::F32)?;
        self.expect(op, "value_cache", value_cache, Shape::new(keys.rows, values.width), Dtype::F32)?;
        self.push(AppendKv { qkv, cache_slots, key_cache, value_cache });
        Ok(())
    }
}

impl Operator for AppendKv {
    fn name(&self) -> &'static str {
        "append_kv"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.qkv, self.cache_slots]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.key_cache, self.value_cache]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let Self { qkv, cache_slots, key_cache, value_cache } = *self;
        let [rows, keys, values] = [qkv, key_cache, value_cache].map(|value| to.shape(value));
        let dispatch = append_kv::dispatch(rows.rows, keys.rows, keys.width, values.width);
        to.launch(dispatch, [qkv, cache_slots, key_cache, value_cache].map(Into::into).to_vec());
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        let Self { qkv, cache_slots, key_cache, value_cache } = *self;
        run.write([key_cache, value_cache], |run, [keys, values]| {
            let widths = [key_cache, value_cache].map(|cache| run.shape(cache).width);
            cpu::append_kv(run.f32(qkv), run.u32(cache_slots), widths, keys, values);
        });
    }
}
