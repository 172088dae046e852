use std::ops::Deref;
use std::sync::Arc;

use super::request::GenerateRequest;
use crate::decode::Columns;
use crate::device::Device;
use crate::graph::Weights;
use crate::model::Shortlist;
use crate::model::blueprint::Blueprint;
use crate::model::config::ModelConfig;
use crate::model::generation_config::GenerationConfig;
use crate::sorting;

/// The part of a model that no device holds.
#[derive(Clone)]
pub(super) struct HostModel {
    pub config: ModelConfig,
    /// The model's defaults for generation.
    pub generation: GenerationConfig,
    pub blueprint: Blueprint,
    /// Output columns of a source.
    pub shortlist: Option<Arc<Shortlist>>,
}

/// A model on one device.
pub(super) struct LoadedModel {
    pub host: Arc<HostModel>,
    pub device: Device,
    pub weights: Weights,
}

impl Deref for LoadedModel {
    type Target = HostModel;

    fn deref(&self) -> &HostModel {
        &self.host
    }
}

impl HostModel {
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
                    sorting::sort(&mut columns);
                    columns.dedup();
                }
                Columns::Only(columns.into())
            }
            None => Columns::All,
        };
    }
}
