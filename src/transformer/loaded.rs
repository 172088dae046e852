use super::request::GenerateRequest;
use crate::decode::Columns;
use crate::device::Device;
use crate::graph::Weights;
use crate::model::Shortlist;
use crate::model::blueprint::Blueprint;
use crate::model::config::ModelConfig;
use crate::model::generation_config::GenerationConfig;

pub(super) struct LoadedModel {
    pub device: Device,
    pub config: ModelConfig,
    /// The model's defaults for generation.
    pub generation: GenerationConfig,
    pub blueprint: Blueprint,
    /// Output columns of a source.
    pub shortlist: Option<Shortlist>,
    pub weights: Weights,
}

impl LoadedModel {
    /// Replaces [`Columns::Auto`] by the columns of the input.
    pub fn resolve_columns(&self, request: &mut GenerateRequest) {
        if request.options.columns != Columns::Auto {
            return;
        }
        request.options.columns = match &self.shortlist {
            Some(shortlist) => {
                let mut columns = shortlist.columns(&request.input_ids);
                if let Some(constraints) = &request.options.constraints {
                    columns.extend(constraints.tokens());
                    columns.sort_unstable();
                    columns.dedup();
                }
                Columns::Only(columns.into())
            }
            None => Columns::All,
        };
    }
}
