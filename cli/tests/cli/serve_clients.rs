//! `wordloom serve` with clients that others wrote, where they are installed; and under load.

use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::common::{data, repository};
use super::serve_api::{Server, read};
use super::{run, scratch, text};

#[test]
fn clients_of_others_translate() {
    let python = repository("target/python/environment/bin/python");
    if !python.exists() {
        eprintln!("not installed: `cargo xtask setup`");
        return;
    }
    let server = Server::start(&[]);
    for script in ["libretranslate_clients.py", "deepl_client.py"] {
        let script = repository("cli/tests/clients").join(script);
        let output = Command::new(&python).arg(script).arg(format!("http://{}/", server.address)).output();
        let output = output.expect("Python runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

const CLIENTS: usize = 64;
/// Texts of a request, as programs that translate pages and strings send them.
const TEXTS: usize = 8;

/// Answers of 64 clients are those of the command; throughput, latency and memory are printed and judged.
#[test]
#[ignore = "judged by the clock: `cargo xtask bench --check`"]
fn many_clients_are_served_as_fast_as_a_file() {
    let pairs = std::fs::read_to_string(data("tatoeba-test.tsv")).expect("the test set");
    // no two lines are equal, because equal sentences are searched once
    let mut sources: Vec<String> =
        pairs.lines().filter_map(|line| Some(line.split_once('\t')?.0.to_owned())).collect();
    sources.sort();
    sources.dedup();
    // mixed again, by a step without a common divisor
    let count = sources.len();
    let sources: Vec<String> = (0..count).map(|index| sources[index * 619 % count].clone()).collect();
    let input = scratch("serve-load").join("input.txt");
    std::fs::write(&input, sources.join("\n") + "\n").expect("a file");
    let arguments = ["translate", "--device", "cpu", "-i", text(&input)];
    let began = Instant::now();
    let translated = run(&arguments, "");
    let alone = began.elapsed();
    let wanted: Vec<&str> = translated.succeeds().lines().collect();
    assert_eq!(wanted.len(), sources.len(), "a line for each sentence");

    let server = Server::start(&[]);
    let ask = |texts: &[String]| {
        let body = json!({"q": texts, "source": "en", "target": "de"}).to_string();
        let mut stream = server.connect();
        let length = body.len();
        let head = "POST /translate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json";
        write!(stream, "{head}\r\nContent-Length: {length}\r\n\r\n{body}").expect("the request is sent");
        let (status, _, answer) = read(stream);
        assert_eq!(status, 200, "{answer}");
        answer["translatedText"].clone()
    };
    ask(&["Hello.".to_owned()]); // loads the model, as the command's time has its own
    let before = memory(&server);
    let requests: Vec<&[String]> = sources.chunks(TEXTS).collect();
    let (next, began) = (AtomicUsize::new(0), Instant::now());
    let mut latencies: Vec<Duration> = std::thread::scope(|scope| {
        let client = || {
            let mut latencies = Vec::new();
            loop {
                let request = next.fetch_add(1, Ordering::Relaxed);
                let Some(texts) = requests.get(request) else { return latencies };
                let sent = Instant::now();
                let answer = ask(texts);
                latencies.push(sent.elapsed());
                let first = request * TEXTS;
                for (index, found) in answer.as_array().expect("a list").iter().enumerate() {
                    assert_eq!(found, &Value::from(wanted[first + index]), "{}", sources[first + index]);
                }
            }
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        clients.into_iter().flat_map(|client| client.join().expect("its answers are right")).collect()
    });
    let together = began.elapsed();
    latencies.sort();
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize].as_secs_f64();
    let throughput = alone.as_secs_f64() / together.as_secs_f64();
    eprintln!(
        "{count} sentences: {:.2} s by the command with its start, {:.2} s by {CLIENTS} clients of the server ({throughput:.2} of its \
         throughput); latency of {TEXTS} texts: median {:.2} s, p99 {:.2} s; memory {} MB before, {} MB after",
        alone.as_secs_f64(),
        together.as_secs_f64(),
        at(0.5),
        at(0.99),
        before >> 20,
        memory(&server) >> 20,
    );
    assert!(throughput > 0.9, "{throughput}");
}

/// Resident bytes of the server, where the system tells them.
fn memory(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) << 10
}
