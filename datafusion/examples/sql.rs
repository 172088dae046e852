//! Translates Parquet with SQL: `cargo run --release --example sql -- SOURCE TRANSLATED`
//!
//! SOURCE has the columns `id`, `text` and `topic`. TRANSLATED, a new folder, has a folder for each topic.

use std::env;
use std::error::Error;

use datafusion::prelude::SessionContext;
use wordloom_datafusion::Translations;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [source, translated] =
        env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "SOURCE TRANSLATED")?;

    // .with_folder("en", "fr", "opus-mt-en-fr") adds another model
    let models = Translations::embedded();
    let context = SessionContext::new();
    context.register_udf(models.function());
    context.register_parquet("corpus", &source, Default::default()).await?;

    context
        .sql("SELECT id, translate(text, 'en', 'de') AS de FROM corpus WHERE id < 10")
        .await?
        .show()
        .await?;

    let copy = format!(
        "COPY (SELECT id, text, translate(text, 'en', 'de') AS de, topic FROM corpus WHERE text IS NOT NULL)
         TO '{translated}/' STORED AS PARQUET PARTITIONED BY (topic)"
    );
    context.sql(&copy).await?.show().await?; // the number of rows
    Ok(())
}
