//! Models by name: `--model OWNER/NAME` and `wordloom models`, against a server that speaks the hub's protocol.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use wordloom_hub::testing::{Fault, Options, TestHub};

use super::{Run, command, common, model, run, scratch, text};

const NAME: &str = "Helsinki-NLP/opus-mt-en-fr";

/// A server with a Marian model under a published name, and a cache of its own.
struct Place {
    server: TestHub,
    folder: PathBuf,
}

impl Place {
    fn new(test: &str) -> Self {
        let server = TestHub::start();
        // as published, with formats that nobody needs
        server.add_folder(
            NAME,
            &common::data("models/marian_tied"),
            &[("tf_model.h5", b"no"), ("rust_model.ot", b"no")],
        );
        let card = json!({"license": "apache-2.0", "language": ["en", "ko"]});
        server.set_options(NAME, Options { card, ..Options::default() });
        Self { server, folder: scratch(&format!("models_{test}")) }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env_remove("HF_HUB_OFFLINE");
        command.env("HF_HOME", self.folder.join("hf")).env("WORDLOOM_MODELS", self.folder.join("own"));
        command.env("HF_ENDPOINT", self.server.url());
        command.env("WORDLOOM_FIREFOX_REGISTRY", format!("{}/db/models.json", self.server.url()));
        command.env("NO_PROXY", "127.0.0.1");
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        ended(arguments, self.command(arguments))
    }

    fn run_offline(&self, arguments: &[&str]) -> Run {
        let mut command = self.command(arguments);
        command.env("HF_HUB_OFFLINE", "1");
        ended(arguments, command)
    }
}

fn ended(arguments: &[&str], mut command: Command) -> Run {
    let output = command.stdin(Stdio::null()).output().expect("the binary runs");
    Run { what: arguments.join(" "), output }
}

fn translate(name: &str) -> [&str; 6] {
    ["translate", "--device", "cpu", "--model", name, "Hello"]
}

#[test]
fn a_name_is_fetched_once_and_then_needs_no_network() {
    let place = Place::new("translate");
    let local = model("marian_tied");
    let expected = run(&translate(&local), "").succeeds().to_owned();
    let first = place.run(&translate(NAME));
    assert_eq!((first.output.status.code(), first.stdout()), (Some(0), &*expected), "{}", first.stderr());
    assert!(
        first.stderr().lines().any(|line| line.starts_with(&format!("fetching {NAME}, "))),
        "{}",
        first.stderr()
    );
    let asked: Vec<String> = place.server.requests().into_iter().map(|request| request.path).collect();
    assert!(asked.iter().all(|path| !path.contains("tf_model.h5") && !path.contains("legacy")), "{asked:?}");
    // later runs say nothing and ask nobody
    assert_eq!(place.run(&translate(NAME)).succeeds(), expected);
    assert_eq!(place.run_offline(&translate(NAME)).succeeds(), expected);
    assert_eq!(place.server.requests(), []);
}

#[test]
fn every_command_takes_names() {
    let place = Place::new("commands");
    assert!(place.run(&["models", "get", NAME]).output.status.success());
    let out = place.folder.join("q8");
    let calls: [&[&str]; 6] = [
        &["inspect", NAME],
        &["tokenize", "--model", NAME, "--input", "/dev/null"],
        &["generate", "--device", "cpu", "--model", NAME, "--input", "/dev/null"],
        &["score", "--device", "cpu", "--model", NAME, "--input", "/dev/null"],
        &["attend", "--device", "cpu", "--model", NAME, "Hello"],
        &["align", "--device", "cpu", "--model", NAME, "--input", "/dev/null"],
    ];
    for arguments in calls.iter().filter(|call| cfg!(unix) || !call.contains(&"/dev/null")) {
        place.run_offline(arguments).succeeds();
    }
    let quantized = place.run_offline(&["quantize", NAME, "--out", text(&out)]);
    assert_eq!(quantized.output.status.code(), Some(0), "{}", quantized.stderr());
    assert!(out.join("source.spm").exists());
}

#[test]
fn paths_are_never_looked_up() {
    let place = Place::new("paths");
    let hint = "a model of the hub is OWNER/NAME";
    for path in [
        "./Helsinki-NLP/opus-mt-en-fr",
        "opus-mt-en-fr",
        "/none/such",
        "Helsinki-NLP/opus/mt",
        "~/models/opus",
    ] {
        place.run(&translate(path)).fails(1, &[path, "there is no such folder", hint]);
    }
    // beside a folder of the owner's name, a path was meant
    let mut beside = place.command(&translate(NAME));
    fs::create_dir(place.folder.join("Helsinki-NLP")).expect("a folder");
    beside.current_dir(&place.folder);
    ended(&translate(NAME), beside).fails(1, &["there is no such folder", hint]);
    place.run(&translate("firefox:en")).fails(2, &["firefox:en", "names no pair"]);
    assert_eq!(place.server.requests(), []);
}

#[test]
fn models_are_listed_verified_and_removed() {
    let place = Place::new("list");
    let empty = place.run(&["models"]);
    assert!(empty.stdout().lines().skip(1).all(|line| line.starts_with("built-in:")), "{}", empty.stdout());
    assert!(empty.stderr().contains("no fetched models are in"), "{}", empty.stderr());
    assert_eq!(fetched(&place), [Value::Null; 0]);
    let got = place.run(&["models", "get", NAME]);
    let folder = PathBuf::from(got.stdout().trim_end());
    assert!(folder.join("config.json").exists(), "{}", got.stdout());
    let table = place.run(&["models"]);
    let lines: Vec<Vec<&str>> =
        table.succeeds().lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["MODEL", "FAMILY", "LANGUAGES", "SIZE", "LICENCE"]);
    let last = lines.last().expect("a line");
    assert_eq!(last[..5], [NAME, "marian", "en", "→", "kor"]);
    assert_eq!(last.last(), Some(&"apache-2.0"));
    let listed = fetched(&place);
    assert_eq!(
        place.run(&["models", "list", "--json"]).succeeds(),
        place.run(&["models", "--json"]).succeeds()
    );
    assert_eq!(listed[0]["name"], NAME);
    assert_eq!((&listed[0]["from"], &listed[0]["to"]), (&json!(["en"]), &json!(["kor"])));
    assert_eq!(Path::new(listed[0]["folder"].as_str().expect("a path")), folder);
    assert!(place.run(&["models", "verify"]).succeeds().starts_with(&format!("{NAME}: ")));
    fs::write(folder.join("vocab.json"), "{}").expect("a write through the link");
    place
        .run(&["models", "verify"])
        .fails(1, &["vocab.json", "not those that were published", "models remove"]);
    let removed = place.run(&["models", "remove", NAME]);
    assert!(
        removed.succeeds().contains("removed, ") && removed.stdout().contains(" freed"),
        "{}",
        removed.stdout()
    );
    assert_eq!(fetched(&place), [Value::Null; 0]);
    place
        .run(&["models", "remove", NAME])
        .fails(1, &["is not in the cache", "no models of the hub are here"]);
    place.run(&["models", "get", "./here"]).fails(2, &["\"./here\" is no model's name"]);
}

/// The models of the list that are not part of the program.
fn fetched(place: &Place) -> Vec<Value> {
    let listed: Vec<Value> = serde_json::from_str(place.run(&["models", "--json"]).succeeds()).expect("JSON");
    listed.into_iter().filter(|model| !model["folder"].is_null()).collect()
}

#[cfg(feature = "embedded-models")]
#[test]
fn the_models_of_the_program_are_listed_first() {
    let place = Place::new("built_in");
    let table = place.run_offline(&["models"]);
    let lines: Vec<String> =
        table.succeeds().lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(lines[1], "built-in:en-de marian en → de 10.81 MB CC-BY-2.0-FR");
    assert_eq!(lines[2], "built-in:de-en marian de → en 10.81 MB CC-BY-2.0-FR");
    let listed: Value =
        serde_json::from_str(place.run_offline(&["models", "--json"]).succeeds()).expect("JSON");
    assert_eq!((&listed[1]["from"], &listed[1]["to"]), (&json!(["de"]), &json!(["en"])));
    place.run(&["models", "remove", "built-in:de-en"]).fails(2, &["built-in:de-en is part of the program"]);
}

#[test]
fn failures_are_one_line_with_the_way_out() {
    let place = Place::new("failures");
    place
        .server
        .add("meta/llama", [("config.json", r#"{"model_type": "llama"}"#), ("model.safetensors", "x")]);
    let cases: [(&str, &[&str]); 3] = [
        ("meta/llama", &["\"llama\" model, which Wordloom does not run", "marian"]),
        ("Helsinki-NLP/opus-mt-en-frr", &["no model \"Helsinki-NLP/opus-mt-en-frr\"", NAME]),
        ("Helsinki-NLP/opus-mt-en-fr@v9", &["no revision \"v9\""]),
    ];
    for (name, parts) in cases {
        place.run(&translate(name)).fails(1, parts);
    }
    place
        .run_offline(&translate("facebook/bart-base"))
        .fails(1, &["offline: facebook/bart-base", "no models of the hub are here"]);
    place.server.set_options(NAME, Options { gated: Some("hf_good".into()), ..Options::default() });
    place.run(&translate(NAME)).fails(1, &["accept conditions", "HF_TOKEN"]);
    let mut allowed = place.command(&translate(NAME));
    allowed.env("HF_TOKEN", "hf_good");
    assert_eq!(ended(&["allowed"], allowed).output.status.code(), Some(0));
}

#[test]
fn a_repository_without_a_tokenizer_generates() {
    let place = Place::new("no_tokenizer");
    let folder = common::data("models/marian_tied");
    let read = |name: &str| (name.to_owned(), fs::read(folder.join(name)).expect("a file"));
    let files = ["config.json", "generation_config.json", "model.safetensors"].map(read);
    place.server.add("x/weights", files);
    let arguments = ["generate", "--device", "cpu", "--model", "x/weights"];
    let mut child = place.command(&arguments).spawn().expect("starts");
    child.stdin.take().expect("piped").write_all(b"{\"input_ids\": [5, 6, 0]}\n").expect("listens");
    let run = Run { what: "generate".into(), output: child.wait_with_output().expect("ends") };
    assert_eq!(run.output.status.code(), Some(0), "{}", run.stderr());
    assert!(run.stdout().contains("sequences"), "{}", run.stdout());
    place.run_offline(&translate("x/weights")).fails(1, &["there is no tokenizer"]);
}

#[test]
fn an_older_name_without_an_owner_opens_from_the_cache() {
    let place = Place::new("no_owner");
    let expected = place.run(&translate(NAME)).stdout().to_owned();
    let cache = place.folder.join("hf/hub");
    fs::rename(cache.join("models--Helsinki-NLP--opus-mt-en-fr"), cache.join("models--opus"))
        .expect("a move");
    assert_eq!(place.run_offline(&translate("opus")).succeeds(), expected);
    assert_eq!(fetched(&place)[0]["name"], "opus");
    assert!(place.run(&["models", "verify"]).succeeds().starts_with("opus: "));
    place.run(&translate("opus-2")).fails(1, &["there is no such folder"]);
    // a folder of that name goes first
    fs::create_dir(place.folder.join("opus")).expect("a folder");
    let mut beside = place.command(&translate("opus"));
    beside.current_dir(&place.folder);
    ended(&translate("opus"), beside).fails(1, &["config.json"]);
    assert!(place.run(&["models", "remove", "opus"]).succeeds().starts_with("opus: removed"));
}

#[test]
fn get_tells_that_it_could_not_ask_for_a_newer_version() {
    let place = Place::new("not_asked");
    let folder = place.run(&["models", "get", NAME]).stdout().to_owned();
    let offline = place.run_offline(&["models", "get", NAME]);
    assert_eq!((offline.output.status.code(), offline.stdout()), (Some(0), &*folder));
    let told = "no newer version was asked for (HF_HUB_OFFLINE is set); this one is here";
    assert!(offline.stderr().contains(told), "{}", offline.stderr());
}

#[test]
fn settings_of_the_network_count_when_it_is_asked() {
    let place = Place::new("settings");
    place.run(&["models", "get", NAME]);
    let with = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = place.command(arguments);
        command.env_remove("NO_PROXY").envs(variables.iter().copied());
        ended(arguments, command)
    };
    let bad = [("HF_ENDPOINT", "joe:s3cret@mirror.example"), ("HF_TOKEN", "two words")];
    with(&["models"], &bad).succeeds();
    with(&translate(NAME), &bad).succeeds();
    let error = with(&translate("a/b"), &bad);
    error.fails(1, &["HF_ENDPOINT is \"mirror.example\"", "must begin with https://"]);
    let proxy = [
        ("HTTPS_PROXY", "http://joe:s3cret@127.0.0.1:9"),
        ("ALL_PROXY", "http://joe:s3cret@127.0.0.1:9"),
        ("HF_ENDPOINT", "http://ann:pa55@hub.invalid"),
    ];
    let error = with(&translate("a/b"), &proxy);
    assert_eq!(error.output.status.code(), Some(1), "{}", error.stderr());
    let wanted = "hub.invalid (through the proxy 127.0.0.1:9) does not answer";
    assert!(error.stderr().contains(wanted), "{}", error.stderr());
    assert!(!error.stderr().contains("s3cret") && !error.stderr().contains("pa55"), "{}", error.stderr());
}

#[test]
fn texts_of_publishers_do_not_reach_the_terminal_as_they_are() {
    let place = Place::new("control_characters");
    place.run(&["models", "get", NAME]);
    let folder = fetched(&place)[0]["folder"].as_str().map(PathBuf::from).expect("a folder");
    fs::write(
        folder.join("tokenizer_config.json"),
        r#"{"source_lang": "e\u001b[31mn", "target_lang": "fr"}"#,
    )
    .expect("a write through the link");
    let table = place.run(&["models"]);
    assert!(!table.succeeds().contains('\u{1b}'), "{}", table.stdout());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_without_what_is_kept() {
    let place = Place::new("full");
    // dash counts blocks of 512 bytes; a write beyond the limit fails like one on a full disk
    let script = "trap '' XFSZ; ulimit -f 1000; exec \"$0\" models get \"$1\"";
    let get = place.command(&["models", "get", NAME]);
    let mut limited = Command::new("sh");
    limited.arg("-c").arg(script).arg(get.get_program()).arg(NAME);
    limited.envs(get.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.env_remove("HF_HUB_OFFLINE");
    let run = ended(&["models", "get"], limited);
    run.fails(1, &["no space for ", " more bytes are needed", "HF_HOME"]);
    let blobs = place.folder.join("hf/hub/models--Helsinki-NLP--opus-mt-en-fr/blobs");
    let part = blobs.join(format!("{}.incomplete", place.server.etag(NAME, "model.safetensors")));
    let kept = fs::metadata(part).expect("a part").len();
    let size = fs::metadata(common::data("models/marian_tied/model.safetensors")).expect("a file").len();
    assert!(kept > 500_000, "{kept}");
    assert!(run.stderr().contains(&format!(": {} more bytes are needed", size - kept)), "{}", run.stderr());
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_has_arrived() {
    use std::io::{BufRead, BufReader};

    let place = Place::new("interrupt");
    // an earlier run has left a part, and the server is slow
    place.server.fail("/blob/", 1, Fault::Cut(20_000));
    place.server.fail("/blob/", 1, Fault::Delay(Duration::from_secs(20)));
    let mut child = place.command(&["models", "get", NAME]).spawn().expect("starts");
    let mut notices = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
    assert!(notices.any(|line| line.starts_with("fetching ")));
    assert!(notices.any(|line| line.contains("cut at 20000 of")));
    super::interrupt::interrupt(&child);
    let rest: Vec<String> = notices.collect();
    assert_eq!(child.wait().expect("ends").code(), Some(130), "{rest:?}");
    assert!(
        rest.last().is_some_and(|line| line.starts_with("error: interrupted; what has arrived is kept")),
        "{rest:?}"
    );
    place.server.heal();
    let listed = place.run(&["models"]);
    assert!(listed.stderr().contains("20.00 kB of a download are here"), "{}", listed.stderr());
    place.server.requests();
    assert_eq!(place.run(&["models", "get", NAME]).output.status.code(), Some(0));
    assert!(place.server.requests().iter().any(|request| request.from == 20_000));
}

#[test]
fn two_processes_may_ask_at_once() {
    let place = Place::new("two");
    place.server.fail("/blob/", 1, Fault::Delay(Duration::from_secs(1)));
    let runs = [0, 1].map(|_| place.command(&["models", "get", NAME]).spawn().expect("starts"));
    let outputs = runs.map(|child| child.wait_with_output().expect("ends"));
    for output in &outputs {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(outputs[0].stdout, outputs[1].stdout);
    let waited = outputs
        .iter()
        .any(|output| String::from_utf8_lossy(&output.stderr).contains("another program is fetching"));
    assert!(waited);
    let blobs = place.server.requests().iter().filter(|request| request.storage).count();
    assert_eq!(blobs, 1, "the weights came once");
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn a_firefox_model_translates_by_its_name() {
    let place = Place::new("firefox_translates");
    let folder = common::data("firefox/joint"); // files as Mozilla publishes them, with random weights
    let mut files = serde_json::Map::new();
    for (key, file) in [
        ("model", "model.ende.intgemm.alphas.bin"),
        ("vocab", "vocab.deen.spm"),
        ("lexicalShortlist", "lex.50.50.ende.s2t.bin"),
    ] {
        let bytes = fs::read(folder.join(file)).expect("a file");
        place.server.add_page(&format!("/models/{file}.gz"), packed(&bytes));
        files.insert(
            key.into(),
            json!({"path": format!("models/{file}.gz"), "uncompressedSize": bytes.len()}),
        );
    }
    let entry = json!({"architecture": "tiny", "releaseStatus": "Release", "sourceLanguage": "en",
        "targetLanguage": "de", "files": files});
    let registry = json!({"baseUrl": place.server.url(), "models": {"en-de": [entry]}});
    place.server.add_page("/db/models.json", registry.to_string());
    let local = text(&folder).to_owned();
    let expected = run(&translate(&local), "").succeeds().to_owned();
    assert_eq!(place.run(&translate("firefox:en-de")).succeeds(), expected);
    assert_eq!(place.run_offline(&translate("firefox:en-de:tiny")).succeeds(), expected);
}

#[test]
fn a_firefox_model_lies_unpacked_in_the_cache() {
    let place = Place::new("firefox");
    let files = [
        ("model", "model.ende.intgemm.alphas.bin", &b"weights"[..]),
        ("vocab", "vocab.ende.spm", b"pieces"),
        ("lexicalShortlist", "lex.50.50.ende.s2t.bin", b"columns"),
    ];
    let mut listed = serde_json::Map::new();
    for (key, file, bytes) in files {
        place.server.add_page(&format!("/models/en-de/{file}.gz"), packed(bytes));
        listed.insert(key.into(), json!({ "path": format!("models/en-de/{file}.gz") }));
    }
    let hash = "0".repeat(64);
    listed["model"]["uncompressedHash"] = hash.as_str().into();
    listed["model"]["uncompressedSize"] = 7.into();
    let publish = |listed: &serde_json::Map<String, Value>| {
        let entry = json!({"architecture": "tiny", "releaseStatus": "Release", "sourceLanguage": "en",
            "targetLanguage": "de", "files": listed});
        let registry = json!({"baseUrl": place.server.url(), "models": {"en-de": [entry]}});
        place.server.add_page("/db/models.json", registry.to_string());
    };
    publish(&listed);
    place.run(&["models", "get", "firefox:en-de"]).fails(1, &["not those that were published", &hash]);
    listed["model"].as_object_mut().expect("an object").remove("uncompressedHash");
    publish(&listed);
    let got = place.run(&["models", "get", "firefox:en-de"]);
    assert_eq!(got.output.status.code(), Some(0), "{}", got.stderr());
    let folder = PathBuf::from(got.stdout().trim_end());
    assert!(folder.ends_with("firefox/en-de/tiny"));
    for (_, file, bytes) in files {
        assert_eq!(fs::read(folder.join(file)).expect("a file"), bytes);
    }
    let table = place.run_offline(&["models"]);
    assert!(table.succeeds().contains("firefox:en-de:tiny  firefox  en → de"), "{}", table.stdout());
    place
        .run(&["models", "get", "firefox:en-fr"])
        .fails(1, &["no Firefox model from en to fr", "from en there are de"]);
}
