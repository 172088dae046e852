//! Bands of a layer in a file.

use serde::{Deserialize, Serialize};

use super::{Band, BandLayout, LayerAttention, SideColumns};

/// The places of a layer's weights: `docs/trace.md`, version 2.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LayoutJson {
    block: usize,
    left: usize,
    right: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    side_tokens: Vec<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sums: Option<SumsJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    projections: Option<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    global_queries: Vec<usize>,
    /// Row-major; not in safetensors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub global_weights: Vec<f32>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SumsJson {
    count: usize,
    tokens: usize,
}

impl LayoutJson {
    pub fn new(layer: &LayerAttention, with_weights: bool) -> Option<Self> {
        let bands = layer.bands.as_ref()?;
        let BandLayout { band: Band { block, left, right }, sides, global_queries } = &bands.layout;
        let (mut side_tokens, mut sums, mut projections) = (Vec::new(), None, None);
        match *sides {
            SideColumns::Tokens(ref tokens) => side_tokens.clone_from(tokens),
            SideColumns::Sums { count, tokens } => sums = Some(SumsJson { count, tokens }),
            SideColumns::Projections(count) => projections = Some(count),
        }
        Some(Self {
            block: *block,
            left: *left,
            right: *right,
            side_tokens,
            sums,
            projections,
            global_queries: global_queries.clone(),
            global_weights: if with_weights { bands.global_weights.clone() } else { Vec::new() },
        })
    }

    /// The layout of a text of `length` tokens. Says what is wrong with it.
    pub fn layout(&self, length: usize) -> Result<BandLayout, String> {
        if let Some(count) = self.projections {
            return self.of_projections(count, length);
        }
        let Self { block, left, right, .. } = *self;
        if block == 0 || block > length || left > length || right > length {
            return Err(format!(
                "has a band of {block} tokens with {left} before and {right} after in a text of {length}"
            ));
        }
        let are_in_order = |tokens: &[usize]| {
            tokens.is_sorted_by(|a, b| a < b) && tokens.last().is_none_or(|&last| last < length)
        };
        if !are_in_order(&self.side_tokens) || !are_in_order(&self.global_queries) {
            return Err(format!("has global tokens that are out of order, or beyond its {length} tokens"));
        }
        let sides = match &self.sums {
            None => SideColumns::Tokens(self.side_tokens.clone()),
            Some(_) if !self.side_tokens.is_empty() => {
                return Err("has both global tokens and sums of blocks".into());
            }
            &Some(SumsJson { count, tokens }) => {
                let fits = count.checked_mul(tokens).is_some_and(|all| all <= length);
                if tokens == 0 || !fits {
                    return Err(format!("has {count} sums of {tokens} tokens in a text of {length}"));
                }
                SideColumns::Sums { count, tokens }
            }
        };
        let global_queries = self.global_queries.clone();
        Ok(BandLayout { band: Band { block, left, right }, sides, global_queries })
    }

    /// The layout of sums by a learned projection, which have no tokens beside them.
    fn of_projections(&self, count: usize, length: usize) -> Result<BandLayout, String> {
        let is_alone = self.sums.is_none() && self.side_tokens.is_empty() && self.global_queries.is_empty();
        if !is_alone || [self.block, self.left, self.right] != [0; 3] {
            return Err("has projected sums and tokens beside them".into());
        }
        if count == 0 || count >= length {
            return Err(format!("has {count} projected sums in a text of {length} tokens"));
        }
        let sides = SideColumns::Projections(count);
        Ok(BandLayout { band: Band::NONE, sides, global_queries: Vec::new() })
    }
}
