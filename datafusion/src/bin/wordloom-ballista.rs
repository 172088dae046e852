//! A scheduler or an executor of a Ballista cluster that knows `translate`.
//!
//! ```sh
//! wordloom-ballista scheduler --host 0.0.0.0 --model en:fr=/models/opus-mt-en-fr
//! wordloom-ballista executor --scheduler HOST:50050 --address HOST --model en:fr=/models/opus-mt-en-fr
//! ```

use std::error::Error;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use clap::{Args, Parser};
use wordloom::{DeviceChoice, TranslateOptions};
use wordloom_datafusion::Translations;
use wordloom_datafusion::cluster::{executor_functions, scheduler_sessions};

/// Bytes of a thread's stack, as in Ballista's own programs: plans are trees, and walks through them recurse.
const STACK: usize = 32 << 20;

/// A scheduler or an executor of a Ballista cluster that knows the function translate(text, 'en', 'de').
#[derive(Parser)]
#[command(name = "wordloom-ballista", version)]
enum Command {
    /// Plans queries, and gives their tasks to executors.
    Scheduler(Scheduler),
    /// Runs tasks, with the models in its memory.
    Executor(Executor),
}

#[derive(Args)]
struct Models {
    /// A model's folder and its languages, FROM:TO=FOLDER; the same ones for the scheduler and all executors.
    #[arg(long = "model", value_name = "FROM:TO=FOLDER")]
    models: Vec<Pair>,
}

#[derive(Args)]
struct Scheduler {
    /// Address to listen at.
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    #[arg(long, default_value_t = 50050)]
    port: u16,
    #[command(flatten)]
    models: Models,
}

#[derive(Args)]
struct Executor {
    /// HOST:PORT of the scheduler.
    #[arg(long, default_value = "localhost:50050")]
    scheduler: String,
    /// Address to listen at.
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// This machine's name for the other ones; without it, they see where its connection comes from.
    #[arg(long)]
    address: Option<String>,
    /// Port for results.
    #[arg(long, default_value_t = 50051)]
    port: u16,
    /// Port for tasks.
    #[arg(long, default_value_t = 50052)]
    task_port: u16,
    /// Tasks at once, and threads of the translations; without it, one for each core.
    #[arg(long)]
    cores: Option<usize>,
    /// Folder for results between the stages of a query.
    #[arg(long)]
    work: Option<PathBuf>,
    /// auto, gpu, cpu or part of an adapter's name.
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
    /// Beams of the search; without it, those of the model.
    #[arg(long)]
    beams: Option<usize>,
    #[command(flatten)]
    models: Models,
}

/// A folder and its languages.
#[derive(Clone)]
struct Pair {
    from: String,
    to: String,
    folder: PathBuf,
}

impl FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('=').and_then(|(pair, folder)| Some((pair.split_once(':')?, folder)));
        let Some(((from, to), folder)) = parts else {
            return Err("it is FROM:TO=FOLDER, such as en:fr=/models/opus-mt-en-fr".to_owned());
        };
        Ok(Self { from: from.to_owned(), to: to.to_owned(), folder: folder.into() })
    }
}

impl Models {
    /// The built-in model, and the given ones.
    fn translations(self) -> Translations {
        #[cfg(feature = "embedded-model")]
        let first = Translations::embedded();
        #[cfg(not(feature = "embedded-model"))]
        let first = Translations::new();
        self.models
            .into_iter()
            .fold(first, |all, Pair { from, to, folder }| all.with_folder(&from, &to, folder))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let command = Command::parse();
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("info")).init();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK).build()?;
    match command {
        Command::Scheduler(scheduler) => runtime.block_on(schedule(scheduler)),
        Command::Executor(executor) => runtime.block_on(execute(executor)),
    }
}

async fn schedule(Scheduler { host, port, models }: Scheduler) -> Result<(), Box<dyn Error>> {
    let config =
        SchedulerConfig { bind_host: host.to_string(), bind_port: port, ..SchedulerConfig::default() };
    let config = config.with_override_session_builder(scheduler_sessions(models.translations()));
    let cluster = BallistaCluster::new_from_config(&config).await?;
    Ok(start_server(cluster, (host, port).into(), Arc::new(config)).await?)
}

async fn execute(executor: Executor) -> Result<(), Box<dyn Error>> {
    let (scheduler_host, scheduler_port) =
        executor.scheduler.rsplit_once(':').ok_or("--scheduler is HOST:PORT, such as localhost:50050")?;
    let mut models = executor.models.translations().with_device(executor.device);
    if let Some(beams) = executor.beams {
        models = models.with_options(TranslateOptions::default().beams(beams));
    }
    if let Some(cores) = executor.cores {
        models = models.with_threads(cores);
    }
    let config = ExecutorProcessConfig {
        bind_host: executor.host.to_string(),
        external_host: executor.address,
        port: executor.port,
        grpc_port: executor.task_port,
        scheduler_host: scheduler_host.to_owned(),
        scheduler_port: scheduler_port.parse()?,
        scheduler_connect_timeout_seconds: 60,
        vcores: executor.cores.unwrap_or(0),
        work_dir: executor.work.map(|folder| folder.display().to_string()),
        override_function_registry: Some(executor_functions(models)),
        ..ExecutorProcessConfig::default()
    };
    Ok(start_executor_process(Arc::new(config)).await?)
}
