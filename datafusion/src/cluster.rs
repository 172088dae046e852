//! The function on a Ballista cluster.
//!
//! A plan carries the function's [name](crate::NAME), and not the function: the client, the scheduler and all executors register it. Only an
//! executor loads models.

use std::sync::Arc;

use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::utils::default_session_builder;
use ballista_scheduler::SessionBuilder;
use datafusion::execution::FunctionRegistry;

use crate::Translations;

/// The functions of an executor: those of Ballista, and `translate`. For `ExecutorProcessConfig::override_function_registry`.
pub fn executor_functions(models: Translations) -> Arc<BallistaFunctionRegistry> {
    let function = Arc::new(models.function());
    let mut functions = BallistaFunctionRegistry::default();
    functions.scalar_functions.insert(function.name().to_owned(), function);
    Arc::new(functions)
}

/// The sessions of a scheduler, which check the languages of a query. For `SchedulerConfig::with_override_session_builder`.
pub fn scheduler_sessions(models: Translations) -> SessionBuilder {
    let function = Arc::new(models.function());
    Arc::new(move |config| {
        let mut state = default_session_builder(config)?;
        state.register_udf(function.clone())?;
        Ok(state)
    })
}
