//! The function on Ballista: scheduler and executors that are started here, in this process and as processes of their own.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use ballista::prelude::{SessionConfigExt, SessionContextExt};
use ballista_core::serde::BallistaCodec;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::utils::default_config_producer;
use ballista_scheduler::standalone::new_standalone_scheduler_with_builder;
use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::execution::{FunctionRegistry, SessionState, SessionStateBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use tempfile::TempDir;
use wordloom::DeviceChoice;
use wordloom_datafusion::cluster::scheduler_sessions;
use wordloom_datafusion::{NAME, Translations};

mod common;

use common::{check, register, write};

/// Time for a cluster to start, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn models() -> Translations {
    Translations::embedded().with_device(DeviceChoice::Cpu)
}

fn state() -> SessionState {
    let config = SessionConfig::new_with_ballista().with_target_partitions(4);
    SessionStateBuilder::new().with_config(config).with_default_features().build()
}

/// A client with the function. Ballista takes no functions from the state of a client.
async fn client(address: &str) -> SessionContext {
    let context = SessionContext::remote_with_state(&format!("df://{address}"), state()).await.unwrap();
    context.register_udf(models().function());
    context
}

/// A scheduler and executors, which end with this value.
struct Cluster {
    processes: Vec<Child>,
    address: String,
}

impl Cluster {
    fn start(folder: &Path, executors: usize) -> Self {
        let [port, ports @ ..] = &*free_ports(1 + 2 * executors) else { unreachable!("one and more") };
        let address = format!("127.0.0.1:{port}");
        let mut cluster = Self { processes: Vec::new(), address: address.clone() };
        cluster.spawn(folder, "scheduler", &["--port", &port.to_string()]);
        for (index, ports) in ports.chunks(2).enumerate() {
            let [port, task_port] = [0, 1].map(|one: usize| ports[one].to_string());
            let work = folder.join(format!("work-{index}"));
            fs::create_dir(&work).unwrap();
            let work = work.to_str().unwrap();
            let places =
                ["--scheduler", &address, "--port", &port, "--task-port", &task_port, "--work", work];
            cluster.spawn(folder, "executor", &[&places[..], &["--cores", "1", "--device", "cpu"]].concat());
        }
        cluster
    }

    fn spawn(&mut self, folder: &Path, task: &str, options: &[&str]) {
        let log = File::create(folder.join(format!("{task}-{}.log", self.processes.len()))).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_wordloom-ballista"));
        command.arg(task).args(options).stdout(log.try_clone().unwrap()).stderr(log);
        self.processes.push(command.spawn().unwrap());
    }

    async fn context(&self) -> SessionContext {
        let begun = Instant::now();
        while std::net::TcpStream::connect(&self.address).is_err() {
            assert!(begun.elapsed() < PATIENCE, "the scheduler does not listen");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        client(&self.address).await
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill(); // it may have ended
            let _ = process.wait();
        }
    }
}

/// Ports that no program listens at now.
fn free_ports(count: usize) -> Vec<u16> {
    let listeners: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_in_one_process_translates() {
    let folder = TempDir::new().unwrap();
    write(folder.path()).await;
    let (mut state, function) = (state(), models().function());
    state.register_udf(function.clone().into()).unwrap();
    let context = SessionContext::standalone_with_state(state).await.unwrap();
    context.register_udf(function);
    register(&context, "corpus", folder.path()).await;
    let frame = context.sql("SELECT id, translate(text, 'en', 'de') AS de FROM corpus").await.unwrap();
    check(&frame.collect().await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn executors_translate_and_write() {
    let folder = TempDir::new().unwrap();
    let [source, translated] = ["source", "translated"].map(|name| folder.path().join(name));
    fs::create_dir(&source).unwrap();
    write(&source).await;
    let cluster = Cluster::start(folder.path(), 2);
    let context = cluster.context().await;
    register(&context, "corpus", &source).await;
    let frame = context.sql("SELECT id, translate(text, 'en', 'de') AS de FROM corpus").await.unwrap();
    frame.write_parquet(translated.to_str().unwrap(), DataFrameWriteOptions::new(), None).await.unwrap();

    let local = SessionContext::new();
    register(&local, "translated", &translated).await;
    check(&local.table("translated").await.unwrap().collect().await.unwrap());

    let wrong = context.sql("SELECT translate(text, 'en', 'it') AS it FROM corpus").await.err().unwrap();
    assert!(wrong.to_string().contains("there is no model from \"en\" to \"it\""), "{wrong}");
}

/// Without the function, an executor has DataFusion's `translate`, which exchanges letters.
#[tokio::test(flavor = "multi_thread")]
async fn an_executor_without_the_function_fails() {
    let folder = TempDir::new().unwrap();
    write(folder.path()).await;
    let sessions = scheduler_sessions(models());
    let codec = BallistaCodec::default();
    let scheduler =
        new_standalone_scheduler_with_builder(sessions, std::sync::Arc::new(default_config_producer), codec);
    let address = format!("localhost:{}", scheduler.await.unwrap().port());
    let scheduler = SchedulerGrpcClient::connect(format!("http://{address}")).await.unwrap();
    ballista_executor::new_standalone_executor(scheduler, 1, BallistaCodec::default()).await.unwrap();

    let context = client(&address).await;
    register(&context, "corpus", folder.path()).await;
    let frame = context.sql("SELECT id, translate(text, 'en', 'de') AS de FROM corpus").await.unwrap();
    let error = frame.collect().await.unwrap_err().to_string();
    assert!(error.contains(NAME), "{error}");
}
