//! Attention of one query per row over a key–value cache, in the order of an index table. The row's own key and value
//! enter the cache first; rows whose cache slot is beyond it only attend.

use super::append_kv::AppendKv;
use super::attention::reach;
use crate::cpu;
use crate::graph::{Columns, CpuRun, Graph, GraphError, Lowering, Operator, Rows, State, Value};
use crate::kernels::{attention, cached_attention};
use crate::shape::{CachedAttentionShape, Dtype, Shape};

/// The key–value cache of a decoder layer, and the index tables that all layers share.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// `[rows * capacity, heads * d_k]`
    pub keys: State,
    /// `[rows * capacity, heads * d_v]`
    pub values: State,
    /// u32 `[tokens, 1]`: the cache slot for each token's key and value; a slot beyond the cache is skipped
    pub cache_slots: State,
    /// u32 `[rows, capacity]`: the cache slots of each row's history
    pub slots: State,
    /// u32 `[rows, 1]`: the length of each row's history, with this step
    pub key_counts: State,
}

#[derive(Debug)]
struct CachedAttention {
    shape: CachedAttentionShape,
    append: AppendKv,
    slots: Value,
    key_counts: Value,
    distance_bias: Option<Rows>,
    context: Value,
}

impl Graph {
    /// Adds attention to a cache; returns `[rows, heads * d_value]`. The caches give the widths of a head.
    ///
    /// * `qkv`: a fused projection, `[rows, 2 * heads * d_head + heads * d_value]`
    /// * `cache`: a row's own slot must be the last that it sees, and no other row may see it in this run
    /// * `distance_bias`: as in [`AttentionScores`](super::AttentionScores); the query's position is that of its last
    ///   key
    pub fn cached_attention(
        &mut self,
        heads: usize,
        scale: f32,
        qkv: Value,
        cache: &Cache,
        distance_bias: Option<Rows>,
    ) -> Result<Value, GraphError> {
        let op = "cached_attention";
        let Shape { rows, width: capacity } = cache.slots.shape;
        let (key_width, value_width) = (cache.keys.shape.width, cache.values.shape.width);
        let [cache_slots, key_cache, value_cache, slots, key_counts] =
            [cache.cache_slots, cache.keys, cache.values, cache.slots, cache.key_counts]
                .map(|state| self.state(state));
        self.expect(op, "qkv", qkv, Shape::new(rows, 2 * key_width + value_width), Dtype::F32)?;
        self.expect(op, "cache_slots", cache_slots, Shape::new(rows, 1), Dtype::U32)?;
        self.expect(op, "slots", slots, Shape::new(rows, capacity), Dtype::U32)?;
        self.expect(op, "key_counts", key_counts, Shape::new(rows, 1), Dtype::U32)?;
        for (name, cache, width) in
            [("key_cache", key_cache, key_width), ("value_cache", value_cache, value_width)]
        {
            let shape = Shape::new(rows * capacity, width);
            self.expect(op, name, cache, shape, Dtype::F32)?;
            if heads == 0 || !width.is_multiple_of(heads) {
                return Err(self.mismatch(op, name, shape, format!("a multiple of {heads} heads wide")));
            }
        }
        self.expect_distance_bias(op, distance_bias, heads)?;
        let (d_head, d_value) = (key_width / heads, value_width / heads);
        let shape = CachedAttentionShape { rows, heads, d_head, d_value, capacity, scale };
        let context = self.value(op, Shape::new(rows, value_width), Dtype::F32)?;
        let append = AppendKv { qkv, cache_slots, key_cache, value_cache };
        self.push(CachedAttention { shape, append, slots, key_counts, distance_bias, context });
        Ok(context)
    }
}

impl Operator for CachedAttention {
    fn name(&self) -> &'static str {
        "cached_attention"
    }

    fn reads(&self) -> Vec<Value> {
        [self.append.reads(), vec![self.slots, self.key_counts]].concat()
    }

    fn writes(&self) -> Vec<Value> {
        [self.append.writes(), vec![self.context]].concat()
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let variant = attention::choose(1, self.shape.d_head, to.class());
        if !cached_attention::appends(&self.shape, variant) {
            self.append.lower(to);
        }
        let dispatch = cached_attention::dispatch_variant(&self.shape, reach(self.distance_bias), variant);
        let inputs = self.reads().into_iter().map(Into::into).chain([self.distance_bias.into()]);
        to.launch(dispatch, inputs.chain(self.writes().into_iter().map(Into::into)).collect());
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        self.append.run(run);
        run.write([self.context], |run, [context]| {
            let AppendKv { qkv, key_cache, value_cache, .. } = self.append;
            let queries = run.columns(Columns { value: qkv, first: 0 });
            let [keys, values] = [key_cache, value_cache].map(|cache| run.f32(cache));
            let [slots, key_counts] = [self.slots, self.key_counts].map(|value| run.u32(value));
            let bias = self.distance_bias.map(|table| run.rows(table));
            let cache = cpu::Cache { keys, values, slots, key_counts };
            cpu::cached_attention(&self.shape, queries, cache, bias, context);
        });
    }
}
