//! Models: their folder, their configuration, and the blocks of the paper as graph nodes.
//!
//! | file | |
//! |---|---|
//! | [`files`], [`checkpoint`] | a Hugging Face folder on disk or in memory; its tensors |
//! | [`config`], [`generation_config`] | `config.json` and `generation_config.json`, the same for every family |
//! | `names` | tensor names of each family |
//! | [`Shortlist`] | output columns of a Firefox student for a sentence |
//! | `blueprint` | weights of each block, and their sources |
//! | `embedding`, `attention`, `ssru`, `feed_forward`, `encoder`, `decoder` | the blocks |
//! | `cache` | the decoder's memory for earlier tokens |
//! | [`AttentionWeights`] | the projections of one attention as plain matrices |
//! | `head`, `maps` | the kinds of attention, names of heads; attention maps on the host |
//! | [`SelfAttentionKind`] | the kinds of self-attention that a layer can have |
//! | [`Switches`], `edits` | a model without some of its parts; weights that are not those of the file |
//! | [`read_languages`] | the languages that the small files of a folder name |
//! | [`Model`] | all of it, without the device |

#[doc(hidden)]
pub mod blueprint;
pub mod checkpoint;
pub mod config;
pub(crate) mod decoder;
pub(crate) mod edits;
pub(crate) mod embedding;
pub(crate) mod encoder;
pub mod files;
pub mod generation_config;
#[doc(hidden)]
pub mod positions;
pub(crate) mod switches;

mod attention;
mod attention_weights;
mod bands;
mod cache;
mod error;
mod feed_forward;
mod folder;
mod head;
mod json;
mod languages;
mod maps;
mod names;
mod projected;
mod projected_keys;
mod quantize;
mod self_attention;
mod shortlist;
mod ssru;
mod student_files;
mod student_options;
mod tapped;
mod tokenizer;
mod whole_attention;
mod whole_maps;
mod windows;

pub use crate::ops::{Cache, CellCache};
pub(crate) use attention::weights_of;
pub use attention::{GlobalTokens, Memory, Sequences, Tap, Taps, TextBlocks, Visible};
pub use attention_weights::{AttentionWeights, LinearWeights};
pub use bands::{BandLayout, Bands, SideColumns};
pub use cache::LayerCache;
pub use error::ModelError;
pub use folder::Model;
pub use head::{AttentionKind, HeadName};
pub use languages::{ModelLanguages, read_languages};
pub use maps::{LayerAttention, Map};
pub use quantize::QuantizeError;
pub use self_attention::{Globals, SelfAttentionChoice, SelfAttentionError, SelfAttentionKind, TokenBlocks};
pub use shortlist::{Shortlist, ShortlistVocabularies};
pub use student_files::{firefox_files, is_firefox_file};
pub use switches::{SwitchError, Switches};
#[cfg(feature = "tokenizers")]
pub use tokenizer::read_fast_tokenizer;
pub use tokenizer::{read_tokenizer, read_tokenizer_with};
