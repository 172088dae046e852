//! `translate(text, 'en', 'de')` as a function of SQL: Wordloom in DataFusion, and on Ballista's clusters.
//!
//! ```no_run
//! # #[cfg(feature = "embedded-model")]
//! # async fn run() -> datafusion::error::Result<()> {
//! use datafusion::prelude::SessionContext;
//! use wordloom_datafusion::Translations;
//!
//! let context = SessionContext::new();
//! let models = Translations::embedded().with_folder("en", "fr", "opus-mt-en-fr"); // loaded at the first text
//! context.register_udf(models.function());
//! context.sql("SELECT translate('Where is the train station?', 'en', 'de') AS de").await?.show().await?;
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "ballista")]
pub mod cluster;
mod column;
mod error;
mod function;
mod model;
mod threads;
mod translations;

pub use error::FunctionError;
pub use function::{NAME, SQL_NAME};
pub use translations::Translations;
