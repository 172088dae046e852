//! Translates Parquet on a cluster: `cargo run --release --features ballista --example ballista -- SOURCE TRANSLATED [df://HOST:50050]`
//!
//! Without an address, scheduler and executor are started in this process. SOURCE has the columns `id` and `text`.

use std::env;
use std::error::Error;

use ballista::prelude::{SessionConfigExt, SessionContextExt};
use datafusion::execution::{FunctionRegistry, SessionStateBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use wordloom_datafusion::Translations;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [source, translated, cluster @ ..] = &*arguments else {
        return Err("SOURCE TRANSLATED [CLUSTER]".into());
    };

    let config = SessionConfig::new_with_ballista();
    let mut state = SessionStateBuilder::new().with_config(config).with_default_features().build();
    let function = Translations::embedded().function();
    state.register_udf(function.clone().into())?; // for a scheduler and an executor in this process
    let context = match cluster {
        [address, ..] => SessionContext::remote_with_state(address, state).await?,
        [] => SessionContext::standalone_with_state(state).await?,
    };
    context.register_udf(function); // for the client
    context.register_parquet("corpus", source, Default::default()).await?;

    let translations = context.sql("SELECT id, translate(text, 'en', 'de') AS de FROM corpus").await?;
    translations.write_parquet(translated, Default::default(), None).await?;
    Ok(())
}
