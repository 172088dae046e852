//! Models by name against a server that speaks the hub's protocol. No test asks the internet.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wordloom_hub::testing::{Fault, Options, TestHub};
use wordloom_hub::{Cancel, Hub, HubError, ModelReference, Progress, Settings};

const NAME: &str = "Helsinki-NLP/opus-mt-en-fr";

/// A new folder for one test.
fn scratch(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hub").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a scratch folder");
    folder
}

/// A hub with folders of its own, which asks the server without pauses.
fn hub(test: &str, server: &TestHub) -> Hub {
    let folder = scratch(test);
    let mut settings = Settings::new(folder.join("hf/hub"), folder.join("own"));
    settings.endpoint = server.url().to_owned();
    settings.firefox_registry = format!("{}/db/models.json", server.url());
    settings.pause = Duration::from_millis(1);
    settings.silence = Duration::from_secs(5);
    Hub::new(settings)
}

fn changed(hub: &Hub, change: impl FnOnce(&mut Settings)) -> Hub {
    let mut settings = hub.settings().clone();
    change(&mut settings);
    Hub::new(settings)
}

fn name(text: &str) -> ModelReference {
    ModelReference::parse_name(text).expect("a name")
}

/// What a download told.
#[derive(Default)]
struct Told {
    total: u64,
    present: u64,
    arrived: i64,
    notices: Vec<String>,
    /// Bytes after which to cancel.
    limit: Option<(i64, Cancel)>,
}

impl Progress for Told {
    fn start(&mut self, _name: &str, total: u64, present: u64) {
        (self.total, self.present) = (total, present);
    }

    fn advance(&mut self, bytes: u64) {
        self.arrived += bytes as i64;
        if let Some((limit, cancel)) = &self.limit
            && self.arrived >= *limit
        {
            cancel.cancel();
        }
    }

    fn retreat(&mut self, bytes: u64) {
        self.arrived -= bytes as i64;
    }

    fn notice(&mut self, line: &str) {
        self.notices.push(line.to_owned());
    }
}

fn get(hub: &Hub, text: &str) -> Result<PathBuf, HubError> {
    hub.get(&name(text), &mut (), &Cancel::default())
}

fn message(result: Result<PathBuf, HubError>) -> String {
    let text = result.expect_err("an error").to_string();
    assert!(!text.contains('\n'), "not one line: {text}");
    text
}

/// Bytes that no two places have alike.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    (0..length)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect()
}

fn text(content: &str) -> Vec<u8> {
    content.as_bytes().to_vec()
}

/// The files of Helsinki-NLP/opus-mt-en-fr as they are published.
fn opus() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        (".gitattributes", text("*.bin filter=lfs")),
        ("README.md", text("---\nlicense: apache-2.0\n---\n")),
        ("config.json", text(r#"{"model_type": "marian", "d_model": 512}"#)),
        ("generation_config.json", text(r#"{"num_beams": 4}"#)),
        ("pytorch_model.bin", noise(300_000)),
        ("rust_model.ot", noise(3000)),
        ("source.spm", noise(800)),
        ("target.spm", noise(801)),
        ("tf_model.h5", noise(3001)),
        ("tokenizer_config.json", text(r#"{"source_lang": "en", "target_lang": "fr"}"#)),
        ("vocab.json", text(r#"{"</s>": 0}"#)),
    ]
}

fn opus_hub(test: &str) -> (TestHub, Hub) {
    let server = TestHub::start();
    server.add(NAME, opus());
    let card = serde_json::json!({"license": "apache-2.0", "language": ["en", "fr"]});
    server.set_options(NAME, Options { card, ..Options::default() });
    let hub = hub(test, &server);
    (server, hub)
}

fn files_in(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn needed_files_arrive_in_the_hub_s_layout_and_no_others() {
    let (server, hub) = opus_hub("layout");
    let mut told = Told::default();
    let folder = hub.get(&name(NAME), &mut told, &Cancel::default()).expect("a folder");
    let wanted = [
        "config.json",
        "generation_config.json",
        "pytorch_model.bin",
        "source.spm",
        "target.spm",
        "tokenizer_config.json",
        "vocab.json",
    ];
    assert_eq!(files_in(&folder), wanted);
    for (file, content) in opus().iter().filter(|(file, _)| wanted.contains(file)) {
        assert_eq!(&fs::read(folder.join(file)).expect("a file"), content, "{file}");
    }
    // huggingface_hub's layout: blobs by etag, relative links, a reference with nothing but the commit
    let repository = hub.settings().cache.join("models--Helsinki-NLP--opus-mt-en-fr");
    let commit = fs::read_to_string(repository.join("refs/main")).expect("a reference");
    assert_eq!(folder, repository.join("snapshots").join(&commit));
    let etag = server.etag(NAME, "pytorch_model.bin");
    assert_eq!(etag.len(), 64);
    assert_eq!(fs::metadata(repository.join("blobs").join(&etag)).expect("a blob").len(), 300_000);
    #[cfg(unix)]
    assert_eq!(
        fs::read_link(folder.join("pytorch_model.bin")).expect("a link"),
        PathBuf::from(format!("../../blobs/{etag}"))
    );
    assert_eq!(files_in(&repository.join("blobs")).len(), 7, "no parts are left");
    // the list came first, then the configuration; every byte was told
    let requests = server.requests();
    assert!(requests[0].path.ends_with("/revision/main?blobs=true"), "{requests:?}");
    assert!(requests[1].path.ends_with("/config.json"), "{requests:?}");
    let config = opus()[2].1.len() as i64;
    assert_eq!(told.arrived + config, told.total as i64);
    assert_eq!(told.present as i64, config);
    // later, no server is asked
    drop(server);
    assert_eq!(get(&hub, NAME).expect("the cached folder"), folder);
    let offline = changed(&hub, |settings| settings.offline = true);
    assert_eq!(get(&offline, NAME).expect("the cached folder"), folder);
}

#[test]
fn the_list_tells_family_languages_licence_and_size() {
    let (_server, hub) = opus_hub("list");
    assert_eq!(hub.cached_models().expect("no cache yet"), []);
    get(&hub, NAME).expect("a folder");
    let models = hub.cached_models().expect("models");
    let [model] = &models[..] else { panic!("{models:?}") };
    assert_eq!((&*model.name, &*model.family), (NAME, "marian"));
    assert_eq!(
        (&model.languages.from[..], &model.languages.to[..]),
        (&["en".into()][..], &["fr".into()][..])
    );
    assert_eq!(model.licence.as_deref(), Some("apache-2.0"));
    let bytes: usize = opus()
        .iter()
        .filter(|(file, _)| model.folder.join(file).exists())
        .map(|(_, bytes)| bytes.len())
        .sum();
    assert_eq!(model.bytes, bytes as u64);
}

#[test]
fn revisions_share_blobs_and_removing_one_keeps_the_others() {
    let (server, hub) = opus_hub("revisions");
    let first = get(&hub, NAME).expect("a folder");
    let mut files = opus();
    files[3].1 = text(r#"{"num_beams": 6}"#);
    let commit = server.add(NAME, files);
    server.set_branch(NAME, "v2", &commit);
    assert_eq!(get(&hub, NAME).expect("pinned"), first);
    let second = get(&hub, &format!("{NAME}@v2")).expect("a folder");
    assert!(second.ends_with(&commit));
    assert_eq!(get(&hub, &format!("{NAME}@{commit}")).expect("the same"), second);
    let names = |hub: &Hub| {
        hub.cached_models().expect("models").into_iter().map(|model| model.name).collect::<Vec<_>>()
    };
    let mut both = names(&hub);
    both.sort();
    assert_eq!(both, [NAME.to_owned(), format!("{NAME}@v2")]);
    // only generation_config.json is the first one's own
    assert_eq!(hub.remove(&name(NAME)).expect("freed bytes"), opus()[3].1.len() as u64);
    assert_eq!(names(&hub), [format!("{NAME}@v2")]);
    let checked = hub.verify(&name(&format!("{NAME}@v2")), &mut (), &Cancel::default()).expect("whole");
    assert_eq!(checked, hub.cached_models().expect("models")[0].bytes);
    assert!(hub.remove(&name(&format!("{NAME}@v2"))).expect("freed bytes") > 300_000);
    assert_eq!(files_in(&hub.settings().cache), [".locks"]);
    let again = hub.remove(&name(NAME)).expect_err("nothing is left").to_string();
    assert_eq!(again, format!("{NAME} is not in the cache; no models of the hub are here"));
}

#[test]
fn a_newer_commit_is_fetched_only_when_asked() {
    let (server, hub) = opus_hub("newer");
    let first = get(&hub, NAME).expect("a folder");
    let mut files = opus();
    files[4].1 = noise(2000);
    let commit = server.add(NAME, files);
    assert_eq!(get(&hub, NAME).expect("pinned"), first);
    let newer = hub.fetch(&name(NAME), &mut (), &Cancel::default()).expect("a folder");
    assert!(newer.ends_with(commit));
    server.requests();
    assert_eq!(hub.fetch(&name(NAME), &mut (), &Cancel::default()).expect("a folder"), newer);
    assert_eq!(server.requests().len(), 1, "the list alone");
}

#[test]
fn cut_downloads_go_on_with_a_range() {
    let (server, hub) = opus_hub("cut");
    let blob = server.etag(NAME, "pytorch_model.bin");
    server.fail(&blob, 2, Fault::Cut(100_000));
    let mut told = Told::default();
    hub.get(&name(NAME), &mut told, &Cancel::default()).expect("a folder");
    let ranges: Vec<u64> = server
        .requests()
        .iter()
        .filter(|request| request.storage && request.path.contains(&blob))
        .map(|request| request.from)
        .collect();
    assert_eq!(ranges, [0, 100_000, 200_000]);
    assert!(
        told.notices[0].contains("cut at 100000 of 300000 bytes (the server hung up)"),
        "{:?}",
        told.notices
    );
}

#[test]
fn a_download_that_stays_cut_is_kept_and_goes_on_in_the_next_run() {
    let (server, hub) = opus_hub("stays_cut");
    let blob = server.etag(NAME, "pytorch_model.bin");
    server.fail(&blob, 1, Fault::Cut(120_000));
    server.fail(&blob, 100, Fault::Cut(0));
    let error = message(get(&hub, NAME));
    assert!(error.contains("pytorch_model.bin: the connection was cut at 120000 of 300000 bytes"), "{error}");
    assert!(error.contains("the same command goes on there"), "{error}");
    assert_eq!(hub.cached_models().expect("models"), []);
    let unfinished = hub.unfinished().expect("a list");
    assert_eq!((&*unfinished[0].name, unfinished[0].bytes), (NAME, 120_000));
    server.heal();
    server.requests();
    let mut told = Told::default();
    let folder = hub.get(&name(NAME), &mut told, &Cancel::default()).expect("a folder");
    assert_eq!(fs::read(folder.join("pytorch_model.bin")).expect("weights"), noise(300_000));
    let asked = server.requests();
    assert_eq!(
        asked.iter().filter(|request| request.storage).map(|request| request.from).max(),
        Some(120_000)
    );
    assert_eq!(told.present as i64 + told.arrived, told.total as i64);
}

#[test]
fn servers_without_ranges_send_the_file_anew() {
    let (server, hub) = opus_hub("no_ranges");
    let blob = server.etag(NAME, "pytorch_model.bin");
    server.fail(&blob, 1, Fault::Cut(100_000));
    server.fail(&blob, 100, Fault::IgnoreRange);
    let mut told = Told::default();
    let folder = hub.get(&name(NAME), &mut told, &Cancel::default()).expect("a folder");
    assert_eq!(fs::read(folder.join("pytorch_model.bin")).expect("weights"), noise(300_000));
    assert_eq!(told.present as i64 + told.arrived, told.total as i64);
}

#[test]
fn wrong_bytes_are_refused_and_nothing_is_kept() {
    let (server, hub) = opus_hub("damage");
    for file in ["vocab.json", "pytorch_model.bin"] {
        let part = if file == "vocab.json" { file.to_owned() } else { server.etag(NAME, file) };
        server.fail(&part, 2, Fault::Damage); // on both addresses of the file
        let error = message(get(&hub, NAME));
        assert!(error.contains(&format!("{file}: the bytes are not those that were published")), "{error}");
        assert!(hub.unfinished().expect("a list").is_empty());
        assert!(hub.find(&name(NAME)).expect("a look").is_none());
        server.heal();
    }
    get(&hub, NAME).expect("the right bytes");
}

#[test]
fn a_part_of_other_bytes_is_fetched_anew() {
    let (server, hub) = opus_hub("foreign_part");
    let blobs = hub.settings().cache.join("models--Helsinki-NLP--opus-mt-en-fr/blobs");
    fs::create_dir_all(&blobs).expect("a folder");
    fs::write(blobs.join(format!("{}.incomplete", server.etag(NAME, "pytorch_model.bin"))), [7; 5000])
        .expect("a part");
    let mut told = Told::default();
    let folder = hub.get(&name(NAME), &mut told, &Cancel::default()).expect("a folder");
    assert_eq!(fs::read(folder.join("pytorch_model.bin")).expect("weights"), noise(300_000));
    assert!(told.notices.iter().any(|line| line.contains("fetching it anew")), "{:?}", told.notices);
    assert_eq!(told.present as i64 + told.arrived, told.total as i64);
}

#[test]
fn verifying_finds_a_changed_byte() {
    let (_server, hub) = opus_hub("verify");
    let folder = get(&hub, NAME).expect("a folder");
    assert!(hub.verify(&name(NAME), &mut (), &Cancel::default()).expect("whole") > 300_000);
    let mut weights = noise(300_000);
    weights[150_000] ^= 1;
    fs::write(folder.join("pytorch_model.bin"), weights).expect("a write");
    let error = hub.verify(&name(NAME), &mut (), &Cancel::default()).expect_err("an error").to_string();
    assert!(error.contains("pytorch_model.bin") && error.contains("models remove"), "{error}");
}

#[test]
fn two_at_once_fetch_each_file_once() {
    let (server, hub) = opus_hub("two");
    server.fail("/blob/", 1, Fault::Delay(Duration::from_millis(500)));
    let notices: Vec<String> = std::thread::scope(|scope| {
        let runs = [0, 1].map(|_| {
            scope.spawn(|| {
                let mut told = Told::default();
                hub.get(&name(NAME), &mut told, &Cancel::default()).expect("a folder");
                told.notices
            })
        });
        runs.into_iter().flat_map(|run| run.join().expect("no panic")).collect()
    });
    assert!(notices.iter().any(|line| line.contains("another program is fetching")), "{notices:?}");
    let requests = server.requests();
    let weights = server.etag(NAME, "pytorch_model.bin");
    assert_eq!(requests.iter().filter(|request| request.path.ends_with(&weights)).count(), 1, "{requests:?}");
}

#[test]
fn cancelling_keeps_what_has_arrived() {
    let (server, hub) = opus_hub("cancel");
    server.fail(&server.etag(NAME, "pytorch_model.bin"), 1, Fault::Delay(Duration::from_millis(200)));
    let cancel = Cancel::default();
    let mut told = Told { limit: Some((1500, cancel.clone())), ..Told::default() };
    let error = hub.get(&name(NAME), &mut told, &cancel).expect_err("cancelled");
    assert!(matches!(error, HubError::Cancelled), "{error}");
    assert!(hub.find(&name(NAME)).expect("a look").is_none());
    get(&hub, NAME).expect("the rest");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_with_the_way_out() {
    let (server, hub) = opus_hub("full");
    let blobs = hub.settings().cache.join("models--Helsinki-NLP--opus-mt-en-fr/blobs");
    fs::create_dir_all(&blobs).expect("a folder");
    let part = blobs.join(format!("{}.incomplete", server.etag(NAME, "pytorch_model.bin")));
    std::os::unix::fs::symlink("/dev/full", part).expect("a link"); // every write to it fails with ENOSPC
    let error = message(get(&hub, NAME));
    assert!(
        error.contains("no space for pytorch_model.bin") && error.contains("300000 more bytes"),
        "{error}"
    );
    assert!(error.contains("HF_HOME"), "{error}");
}

#[test]
fn without_a_network_the_models_that_are_there_are_named() {
    let (server, hub) = opus_hub("offline");
    get(&hub, NAME).expect("a folder");
    let offline = changed(&hub, |settings| settings.offline = true);
    let error = message(get(&offline, "facebook/bart-base"));
    assert_eq!(
        error,
        format!(
            "offline: facebook/bart-base is not in the cache (HF_HUB_OFFLINE is set); these models are here: {NAME}"
        )
    );
    drop(server);
    let error = message(get(&hub, "facebook/bart-base"));
    assert!(
        error.starts_with("offline: ") && error.contains("does not answer") && error.contains(NAME),
        "{error}"
    );
    // the newest version cannot be asked for, so that the cached one is taken, and a notice tells it
    for (hub, reason) in [(&hub, "does not answer"), (&offline, "HF_HUB_OFFLINE is set")] {
        let mut told = Told::default();
        hub.fetch(&name(NAME), &mut told, &Cancel::default()).expect("the cached folder");
        let [notice] = &told.notices[..] else { panic!("{:?}", told.notices) };
        assert!(notice.contains("no newer version was asked for") && notice.contains(reason), "{notice}");
        told.notices.clear();
        hub.get(&name(NAME), &mut told, &Cancel::default()).expect("the cached folder");
        assert_eq!(told.notices, [""; 0], "what is in the cache is taken without a word");
    }
    let with_password = changed(&hub, |settings| {
        settings.endpoint = settings.endpoint.replace("http://", "http://joe:s3cret@");
    });
    let error = message(get(&with_password, "facebook/bart-base"));
    assert!(error.contains("does not answer") && !error.contains("s3cret"), "{error}");
}

#[test]
fn unknown_names_have_near_ones() {
    let (server, hub) = opus_hub("unknown");
    server.add("Helsinki-NLP/opus-mt-en-de", [("config.json", "{}")]);
    let error = message(get(&hub, "Helsinki-NLP/opus-mt-en-frr"));
    assert!(
        error.contains("no model \"Helsinki-NLP/opus-mt-en-frr\"")
            && error.contains(&format!("near it: {NAME}")),
        "{error}"
    );
    let error = message(get(&hub, &format!("{NAME}@v9")));
    assert!(error.contains("no revision \"v9\""), "{error}");
    let error = message(get(&hub, "no-body/knows"));
    assert!(error.contains("write ./OWNER/NAME"), "{error}");
}

#[test]
fn gated_and_private_repositories_need_their_token() {
    let (server, hub) = opus_hub("gated");
    server.set_options(NAME, Options { gated: Some("hf_good".into()), ..Options::default() });
    let error = message(get(&hub, NAME));
    assert!(error.contains(&format!("{}/{NAME}", server.url())) && error.contains("HF_TOKEN"), "{error}");
    let with = |token: &str| changed(&hub, |settings| settings.token = Some(token.to_owned()));
    let error = message(get(&with("hf_bad"), NAME));
    assert!(error.contains("token is not valid: the hub refuses it"), "{error}");
    server.requests();
    get(&with("hf_good"), NAME).expect("a folder");
    for request in server.requests() {
        assert_eq!(request.token.is_some(), !request.storage, "the storage gets no token: {request:?}");
    }
    server.add("me/secret", opus());
    server.set_options("me/secret", Options { private: Some("hf_good".into()), ..Options::default() });
    assert!(message(get(&hub, "me/secret")).contains("or it is private"));
    get(&with("hf_good"), "me/secret").expect("a folder");
}

#[test]
fn busy_servers_are_asked_again_after_their_pause() {
    let (server, hub) = opus_hub("busy");
    let pause = |seconds: &str| vec![("Retry-After".to_owned(), seconds.to_owned())];
    server.fail("/api/models/", 1, Fault::Status(429, pause("0")));
    server.fail("/config.json", 1, Fault::Status(503, Vec::new()));
    server.fail("/blob/", 1, Fault::Status(429, vec![("RateLimit".into(), "\"resolvers\";r=0;t=0".into())]));
    get(&hub, NAME).expect("a folder");
    server.fail("/api/models/", 1, Fault::Status(429, pause("3600")));
    let error = message(hub.fetch(&name(NAME), &mut (), &Cancel::default()));
    assert!(error.contains("asks to wait 3600 s") && error.contains("HF_TOKEN"), "{error}");
    server.fail("/api/models/", 100, Fault::Status(500, Vec::new()));
    let error = message(hub.fetch(&name(NAME), &mut (), &Cancel::default()));
    assert!(error.contains("the server answers 500"), "{error}");
}

#[test]
fn other_families_are_named_before_weights_are_fetched() {
    let (server, hub) = opus_hub("family");
    server.add(
        "meta/llama",
        [("config.json", text(r#"{"model_type": "llama"}"#)), ("model.safetensors", noise(9))],
    );
    let error = message(get(&hub, "meta/llama"));
    assert!(error.contains("is a \"llama\" model") && error.contains("it runs marian, "), "{error}");
    assert!(server.requests().iter().all(|request| !request.storage), "no weights");
    server.add("someone/quantized", [("model.gguf", noise(9))]);
    let error = message(get(&hub, "someone/quantized"));
    assert!(error.contains("has no config.json; it has model.gguf"), "{error}");
    server.add("x/tf", [("config.json", text(r#"{"model_type": "t5"}"#)), ("tf_model.h5", noise(9))]);
    let error = message(get(&hub, "x/tf"));
    assert!(
        error.contains("no model.safetensors or pytorch_model.bin") && error.contains("tf_model.h5"),
        "{error}"
    );
}

#[test]
fn hostile_names_are_refused() {
    let (server, hub) = opus_hub("hostile");
    for hostile in ["../../../../etc/passwd", "/etc/passwd", "a\\..\\b", "C:\\x"] {
        server.set_options(NAME, Options { extra_names: vec![hostile.into()], ..Options::default() });
        assert!(message(get(&hub, NAME)).contains("unsafe name"), "{hostile}");
    }
    let index = r#"{"weight_map": {"a": "../../../x.safetensors"}}"#;
    server.add(
        "x/y",
        [("config.json", text(r#"{"model_type": "t5"}"#)), ("model.safetensors.index.json", text(index))],
    );
    assert!(message(get(&hub, "x/y")).contains("unsafe name"));
    let index = r#"{"weight_map": {"a": "model-2.safetensors"}}"#;
    server.add(
        "x/z",
        [("config.json", text(r#"{"model_type": "t5"}"#)), ("model.safetensors.index.json", text(index))],
    );
    assert!(message(get(&hub, "x/z")).contains("lists \"model-2.safetensors\""));
}

#[test]
fn shards_come_as_the_index_lists_them() {
    let (server, hub) = opus_hub("shards");
    let index = r#"{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}"#;
    server.add(
        "x/shards",
        [
            ("config.json", text(r#"{"model_type": "t5"}"#)),
            ("model.safetensors.index.json", text(index)),
            ("model-1.safetensors", noise(10)),
            ("model-2.safetensors", noise(11)),
            ("model-3.safetensors", noise(12)),
            ("spiece.model", noise(13)),
        ],
    );
    let folder = get(&hub, "x/shards").expect("a folder");
    assert_eq!(
        files_in(&folder),
        [
            "config.json",
            "model-1.safetensors",
            "model-2.safetensors",
            "model.safetensors.index.json",
            "spiece.model"
        ]
    );
}

#[test]
fn mirrors_without_hashes_are_asked_file_by_file() {
    let (server, hub) = opus_hub("mirror");
    server.set_options(NAME, Options { bare_list: true, ..Options::default() });
    let folder = get(&hub, NAME).expect("a folder");
    assert_eq!(fs::read(folder.join("pytorch_model.bin")).expect("weights"), noise(300_000));
    let requests = server.requests();
    assert!(requests.iter().any(|request| request.method == "HEAD"), "{requests:?}");
}

#[test]
fn renamed_repositories_are_found() {
    let (server, hub) = opus_hub("renamed");
    server.rename("old/name", NAME);
    // files redirect, too, on the real hub; here the old name has them
    server.add("old/name", opus());
    get(&hub, "old/name").expect("a folder");
}

#[test]
fn a_cache_of_another_program_is_completed_or_taken_as_it_is() {
    let (server, hub) = opus_hub("other_program");
    let folder = get(&hub, NAME).expect("a folder");
    // as `from_pretrained` of the model alone leaves it: no tokenizer, and none of Wordloom's notes
    fs::remove_dir_all(&hub.settings().own).expect("notes");
    for file in ["source.spm", "target.spm", "vocab.json"] {
        fs::remove_file(folder.join(file)).expect("a file");
    }
    assert_eq!(hub.cached_models().expect("models").len(), 1);
    assert!(hub.find(&name(NAME)).expect("a look").is_none());
    let offline = changed(&hub, |settings| settings.offline = true);
    assert_eq!(get(&offline, NAME).expect("what there is"), folder);
    assert_eq!(get(&hub, NAME).expect("completed"), folder);
    assert!(folder.join("source.spm").exists());
    drop(server);
    get(&hub, NAME).expect("complete");
}

#[test]
fn a_file_shorter_than_listed_is_an_error_with_both_sizes() {
    let (server, hub) = opus_hub("shorter");
    let sizes = [("pytorch_model.bin".to_owned(), 350_000)].into();
    server.set_options(NAME, Options { sizes, ..Options::default() });
    let wanted = "pytorch_model.bin: 300000 bytes, but 350000 were promised";
    assert!(message(get(&hub, NAME)).contains(wanted));
    // the same for a part that has all bytes that there are, and for servers without ranges
    let blobs = hub.settings().cache.join("models--Helsinki-NLP--opus-mt-en-fr/blobs");
    let part = blobs.join(format!("{}.incomplete", server.etag(NAME, "pytorch_model.bin")));
    assert!(!part.exists(), "nothing of it is kept");
    fs::write(&part, noise(300_000)).expect("a part");
    server.requests();
    assert!(message(get(&hub, NAME)).contains(wanted));
    let asked = server.requests().into_iter().filter(|request| request.storage).map(|request| request.from);
    assert_eq!(asked.collect::<Vec<_>>(), [300_000], "it is not fetched anew to see the same");
    server.fail("/blob/", 100, Fault::IgnoreRange);
    fs::write(&part, noise(1000)).expect("a part");
    assert!(message(get(&hub, NAME)).contains(wanted));
}

#[test]
fn removing_one_name_of_a_commit_keeps_its_other_names() {
    let (server, hub) = opus_hub("names_of_a_commit");
    let folder = get(&hub, NAME).expect("a folder");
    let commit = folder.file_name().expect("a commit").to_string_lossy().into_owned();
    server.set_branch(NAME, "v1", &commit);
    assert_eq!(get(&hub, &format!("{NAME}@v1")).expect("the same"), folder);
    assert_eq!(hub.remove(&name(&format!("{NAME}@v1"))).expect("no bytes"), 0);
    assert_eq!(hub.find(&name(NAME)).expect("a look"), Some(folder));
    assert!(hub.find(&name(&format!("{NAME}@v1"))).expect("a look").is_none());
    hub.verify(&name(NAME), &mut (), &Cancel::default()).expect("whole");
    assert!(hub.remove(&name(NAME)).expect("freed bytes") > 300_000);
    assert_eq!(hub.cached_models().expect("models"), []);
}

#[test]
fn a_missing_file_is_named_and_fetched() {
    let (server, hub) = opus_hub("missing_file");
    let folder = get(&hub, NAME).expect("a folder");
    let blob = folder.join("source.spm").canonicalize().expect("a blob");
    fs::remove_file(&blob).expect("a blob");
    let error = hub.verify(&name(NAME), &mut (), &Cancel::default()).expect_err("a gap").to_string();
    assert_eq!(
        error,
        format!("{NAME} is in the cache without source.spm; `wordloom models get {NAME}` fetches it")
    );
    let offline = changed(&hub, |settings| settings.offline = true);
    let error = message(get(&offline, NAME));
    assert!(error.contains("without source.spm (offline: HF_HUB_OFFLINE is set)"), "{error}");
    assert!(error.contains(&format!("`wordloom models get {NAME}` fetches it with a network")), "{error}");
    server.requests();
    assert_eq!(get(&hub, NAME).expect("mended"), folder);
    let requests = server.requests();
    let files: Vec<_> = requests.iter().filter(|request| request.path.contains("/resolve/")).collect();
    assert!(files.iter().all(|request| request.path.ends_with("source.spm")), "{files:?}");
    hub.verify(&name(NAME), &mut (), &Cancel::default()).expect("whole");
}

#[test]
fn a_commit_that_another_program_fetched_in_part_is_completed() {
    let (server, hub) = opus_hub("in_part");
    let folder = get(&hub, NAME).expect("a folder");
    fs::remove_dir_all(&hub.settings().own).expect("notes");
    // vocab.json alone is no tokenizer of Marian
    for file in ["source.spm", "target.spm", "tokenizer_config.json", "generation_config.json"] {
        fs::remove_file(folder.join(file)).expect("a file");
    }
    let error = hub.verify(&name(NAME), &mut (), &Cancel::default()).expect_err("a gap").to_string();
    assert!(error.contains("without source.spm") && error.contains("models get"), "{error}");
    let offline = changed(&hub, |settings| settings.offline = true);
    let mut told = Told::default();
    assert_eq!(offline.get(&name(NAME), &mut told, &Cancel::default()).expect("what there is"), folder);
    assert!(told.notices[0].contains("without source.spm"), "{:?}", told.notices);
    assert!(told.notices[0].contains(&format!("models get {NAME}")), "{:?}", told.notices);
    assert_eq!(get(&hub, NAME).expect("completed"), folder);
    assert!(folder.join("source.spm").exists() && folder.join("generation_config.json").exists());
    // weights without their blob
    fs::remove_file(folder.join("pytorch_model.bin").canonicalize().expect("a blob")).expect("weights");
    assert_eq!(hub.cached_models().expect("models"), []);
    assert_eq!(hub.unfinished().expect("a list")[0].name, NAME);
    fs::remove_dir_all(&hub.settings().own).expect("notes");
    assert!(message(get(&offline, NAME)).contains("without pytorch_model.bin"));
    drop(server);
    assert!(message(get(&hub, NAME)).contains("without pytorch_model.bin"));
}

#[test]
fn texts_of_a_page_have_no_control_characters() {
    let (server, hub) = opus_hub("control_characters");
    let card = serde_json::json!({"license": "mit\u{1b}[31mRED\nX", "language": ["en\u{7}"]});
    server.set_options(NAME, Options { card, ..Options::default() });
    get(&hub, NAME).expect("a folder");
    let licence = || hub.cached_models().expect("models")[0].licence.clone();
    assert_eq!(licence().as_deref(), Some("mit[31mREDX"));
    // as older versions noted it, and as other programs leave the page
    let notes = hub.settings().own.join("hub/models--Helsinki-NLP--opus-mt-en-fr");
    let notes = notes.join(files_in(&notes).remove(0));
    let noted = fs::read_to_string(&notes).expect("notes");
    assert!(!noted.contains("\\u"), "{noted}");
    fs::write(&notes, noted.replace("mit[", "mit\\u001b[")).expect("notes");
    assert_eq!(licence().as_deref(), Some("mit[31mREDX"));
}

#[cfg(unix)]
#[test]
fn nothing_is_written_if_nothing_is_new() {
    use std::os::unix::fs::MetadataExt;

    /// Every file and folder with its number and its time of change.
    fn state(folder: &Path, found: &mut Vec<(PathBuf, u64, i64, i64)>) {
        for entry in folder.read_dir().expect("a folder") {
            let path = entry.expect("an entry").path();
            let data = path.symlink_metadata().expect("metadata");
            found.push((path.clone(), data.ino(), data.mtime(), data.mtime_nsec()));
            if data.is_dir() {
                state(&path, found);
            }
        }
        found.sort();
    }
    let (_server, hub) = opus_hub("nothing_new");
    get(&hub, NAME).expect("a folder");
    let all = |hub: &Hub| {
        let mut found = Vec::new();
        [&hub.settings().cache, &hub.settings().own].into_iter().for_each(|folder| state(folder, &mut found));
        found
    };
    let before = all(&hub);
    hub.fetch(&name(NAME), &mut (), &Cancel::default()).expect("the same folder");
    assert_eq!(all(&hub), before, "a cache that cannot be written is as good");
}

#[test]
fn bad_settings_of_the_network_stop_only_its_calls() {
    let (_server, hub) = opus_hub("bad_settings");
    let folder = get(&hub, NAME).expect("a folder");
    let bad = changed(&hub, |settings| {
        settings.endpoint = "mirror.example".into();
        settings.token = Some("two words".into());
        settings.firefox_registry = "nowhere".into();
    });
    assert_eq!(get(&bad, NAME).expect("the cached folder"), folder);
    assert_eq!(bad.cached_models().expect("models").len(), 1);
    assert!(message(get(&bad, "a/b")).contains("HF_ENDPOINT is \"mirror.example\""));
    assert!(message(get(&bad, "firefox:en-fr")).contains("WORDLOOM_FIREFOX_REGISTRY is \"nowhere\""));
    let bad = changed(&hub, |settings| settings.token = Some("two words".into()));
    assert!(message(get(&bad, "a/b")).contains("mend HF_TOKEN"));
}

#[test]
fn older_names_have_no_owner() {
    let (_server, hub) = opus_hub("no_owner");
    get(&hub, NAME).expect("a folder");
    assert_eq!(hub.without_owner("opus"), None);
    let cache = &hub.settings().cache;
    fs::rename(cache.join("models--Helsinki-NLP--opus-mt-en-fr"), cache.join("models--opus"))
        .expect("a move");
    assert_eq!(hub.cached_models().expect("models")[0].name, "opus");
    let reference = hub.without_owner("opus").expect("a model");
    assert!(hub.find(&reference).expect("a look").is_some_and(|folder| folder.join("config.json").exists()));
    hub.verify(&reference, &mut (), &Cancel::default()).expect("whole");
    assert!(hub.remove(&reference).expect("freed bytes") > 300_000);
    for other in ["..", "a/b", "", "./opus"] {
        assert_eq!(hub.without_owner(other), None, "{other}");
    }
}

#[test]
fn refusals_without_a_code_name_the_file_or_the_token() {
    let (server, hub) = opus_hub("no_code");
    server.fail("/vocab.json", 1, Fault::Status(404, Vec::new()));
    let error = message(get(&hub, NAME));
    assert!(error.contains(NAME) && error.contains("vocab.json") && !error.contains("no model"), "{error}");
    server.heal();
    server.fail("/vocab.json", 1, Fault::Status(403, Vec::new()));
    let error = message(get(&hub, NAME));
    assert!(error.contains("vocab.json") && error.contains("403") && error.contains("HF_TOKEN"), "{error}");
}

mod firefox {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use serde_json::{Value, json};
    use sha2::{Digest, Sha256};

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    fn digits(bytes: &[u8]) -> String {
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Serves a model, and returns its entry.
    fn entry(server: &TestHub, pair: (&str, &str), architecture: &str, weights: &[u8]) -> Value {
        let (from, to) = pair;
        let folder = format!("models/{from}-{to}/{architecture}_abc/exported");
        let path = |name: &str| format!("{folder}/{name}.gz");
        let model = format!("model.{from}{to}.intgemm.alphas.bin");
        let (vocabulary, lexicon) =
            (format!("vocab.{from}{to}.spm"), format!("lex.50.50.{from}{to}.s2t.bin"));
        server.add_page(&format!("/{}", path(&model)), packed(weights));
        server.add_page(&format!("/{}", path(&vocabulary)), packed(b"a vocabulary"));
        server.add_page(&format!("/{}", path(&lexicon)), packed(b"a lexicon"));
        json!({"architecture": architecture, "releaseStatus": "Release", "sourceLanguage": from, "targetLanguage": to,
            "files": {
                "model": {"path": path(&model), "uncompressedSize": weights.len(), "uncompressedHash": digits(weights)},
                "vocab": {"path": path(&vocabulary)}, "lexicalShortlist": {"path": path(&lexicon)}},
            "modelStatistics": {"parameters": 1},
            "metrics": {"flores200-plus": {"bleu": 48.5, "chrf": 70.1, "comet": 0.857}}})
    }

    fn publish(server: &TestHub, entries: &[Value]) {
        let mut models = serde_json::Map::new();
        for entry in entries {
            let pair = format!("{}-{}", entry["sourceLanguage"], entry["targetLanguage"]).replace('"', "");
            let list = models.entry(pair).or_insert(json!([])).as_array_mut().expect("a list");
            list.push(entry.clone());
        }
        let registry =
            json!({"generated": "2026-01-01T00:00:00Z", "baseUrl": server.url(), "models": models});
        server.add_page("/db/models.json", registry.to_string());
    }

    #[test]
    fn a_model_arrives_unpacked_under_its_published_names() {
        let server = TestHub::start();
        let hub = hub("firefox", &server);
        let tiny = entry(&server, ("en", "fr"), "tiny", &noise(5000));
        let better = entry(&server, ("en", "fr"), "base-memory", &noise(9000));
        let back = entry(&server, ("de", "en"), "tiny", &noise(100));
        publish(&server, &[tiny, better, back]);
        let mut told = Told::default();
        let folder = hub.get(&name("firefox:en-fr"), &mut told, &Cancel::default()).expect("a folder");
        assert!(folder.ends_with("firefox/en-fr/base-memory"));
        assert_eq!(
            files_in(&folder),
            ["firefox.json", "lex.50.50.enfr.s2t.bin", "model.enfr.intgemm.alphas.bin", "vocab.enfr.spm"]
        );
        assert_eq!(fs::read(folder.join("model.enfr.intgemm.alphas.bin")).expect("weights"), noise(9000));
        assert_eq!(fs::read(folder.join("vocab.enfr.spm")).expect("a vocabulary"), b"a vocabulary");
        get(&hub, "firefox:en-fr:tiny").expect("the other architecture");
        let models = hub.cached_models().expect("models");
        let names: Vec<&str> = models.iter().map(|model| &*model.name).collect();
        assert_eq!(names, ["firefox:en-fr:base-memory", "firefox:en-fr:tiny"]);
        assert_eq!(
            (models[0].languages.from.clone(), models[0].licence.as_deref()),
            (vec!["en".into()], Some("mpl-2.0"))
        );
        let pivot = message(get(&hub, "firefox:de-fr"));
        assert!(
            pivot.contains("`wordloom models get firefox:de-en` and `wordloom models get firefox:en-fr`"),
            "{pivot}"
        );
        let all = hub.firefox_models(&mut (), &Cancel::default()).expect("a list");
        assert_eq!((all.len(), all[1].bleu, &*all[1].architecture), (3, Some(48.5), "base-memory"));
        drop(server);
        assert_eq!(get(&hub, "firefox:en-fr").expect("the cached folder"), folder);
        assert!(hub.verify(&name("firefox:en-fr"), &mut (), &Cancel::default()).expect("whole") > 9000);
        fs::write(folder.join("vocab.enfr.spm"), "another").expect("a write");
        let error =
            hub.verify(&name("firefox:en-fr"), &mut (), &Cancel::default()).expect_err("damage").to_string();
        assert!(error.contains("vocab.enfr.spm") && error.contains("firefox:en-fr:base-memory"), "{error}");
        assert!(hub.remove(&name("firefox:en-fr")).expect("freed") > 9000);
        assert_eq!(hub.cached_models().expect("models").len(), 1);
        assert!(message(get(&hub, "firefox:en-fr:base")).starts_with("offline: firefox:en-fr:base"));
    }

    #[test]
    fn damage_is_found_and_a_later_run_is_whole() {
        let server = TestHub::start();
        let hub = hub("firefox_damage", &server);
        let mut wrong = entry(&server, ("en", "fr"), "tiny", &noise(50_000));
        let right = wrong.clone();
        let part = "model.enfr";
        // the last byte of a gzip file is of its length
        server.fail(part, 1, Fault::Damage);
        publish(&server, &[wrong.clone()]);
        assert!(message(get(&hub, "firefox:en-fr")).contains("cannot be unpacked"));
        server.fail(part, 1, Fault::Cut(20_000));
        get(&hub, "firefox:en-fr").expect("cut, and whole in the end");
        assert!(server.requests().iter().any(|request| request.from == 20_000));
        hub.remove(&name("firefox:en-fr")).expect("freed");
        wrong["files"]["model"]["uncompressedHash"] = digits(b"others").into();
        publish(&server, &[wrong.clone()]);
        assert!(message(get(&hub, "firefox:en-fr")).contains("not those that were published (sha-256 "));
        wrong["files"]["model"]["uncompressedSize"] = 49_999.into();
        publish(&server, &[wrong.clone()]);
        assert!(message(get(&hub, "firefox:en-fr")).contains("50000 bytes, but 49999 were promised"));
        // a packed file far beyond its promise is not taken to its end
        server.add_page("/long.gz", packed(&noise(3_000_000)));
        wrong["files"]["model"]["path"] = "long.gz".into();
        publish(&server, &[wrong.clone()]);
        assert!(message(get(&hub, "firefox:en-fr")).contains("were promised"));
        assert!(!hub.settings().own.join("firefox/en-fr/tiny.incomplete/long.packed.incomplete").exists());
        wrong["files"]["vocab"]["path"] = "x/..".into();
        publish(&server, &[wrong]);
        assert!(message(get(&hub, "firefox:en-fr")).contains("unsafe name"));
        assert_eq!(hub.cached_models().expect("models"), []);
        publish(&server, &[right]);
        get(&hub, "firefox:en-fr").expect("whole");
    }

    #[test]
    fn a_missing_or_damaged_file_is_fetched_alone() {
        let server = TestHub::start();
        let hub = hub("firefox_missing", &server);
        publish(&server, &[entry(&server, ("en", "fr"), "tiny", &noise(5000))]);
        let folder = get(&hub, "firefox:en-fr").expect("a folder");
        let vocabulary = folder.join("vocab.enfr.spm");
        fs::remove_file(&vocabulary).expect("a file");
        let error =
            hub.verify(&name("firefox:en-fr"), &mut (), &Cancel::default()).expect_err("a gap").to_string();
        assert!(
            error.contains("without vocab.enfr.spm") && error.contains("`wordloom models get firefox:en-fr`"),
            "{error}"
        );
        let offline = changed(&hub, |settings| settings.offline = true);
        assert!(message(get(&offline, "firefox:en-fr")).contains("without vocab.enfr.spm (offline: "));
        let fetched = || {
            server.requests();
            hub.fetch(&name("firefox:en-fr"), &mut (), &Cancel::default()).expect("whole again");
            hub.verify(&name("firefox:en-fr"), &mut (), &Cancel::default()).expect("whole");
            let paths = server.requests().into_iter().map(|request| request.path);
            paths.filter(|path| !path.ends_with("models.json")).collect::<Vec<_>>()
        };
        let published = "/models/en-fr/tiny_abc/exported/vocab.enfr.spm.gz";
        assert_eq!(fetched(), [published]);
        fs::write(&vocabulary, "other bytes").expect("a file");
        assert_eq!(fetched(), [published]);
        assert_eq!(fetched(), [""; 0]);
        assert_eq!(files_in(&folder).len(), 4, "{:?}", files_in(&folder));
        fs::remove_file(&vocabulary).expect("a file");
        assert!(hub.remove(&name("firefox:en-fr")).expect("freed") > 5000, "incomplete ones go, too");
    }

    #[test]
    fn an_interrupted_file_goes_on_only_in_the_same_version() {
        let server = TestHub::start();
        let hub = hub("firefox_versions", &server);
        let mut model = entry(&server, ("en", "fr"), "tiny", &noise(5000));
        let path = "/models/en-fr/tiny_abc/exported/vocab.enfr.spm";
        model["files"]["vocab"]["path"] = path[1..].into();
        let vocabulary = |first: u8| [&[first][..], &noise(999)].concat();
        let interrupted = || {
            server.fail("vocab.enfr.spm", 1, Fault::Cut(400));
            server.fail("vocab.enfr.spm", 100, Fault::Cut(0));
            assert!(message(get(&hub, "firefox:en-fr")).contains("cut at 400 of"));
            server.heal();
            server.requests();
        };
        let asked = || {
            let folder = get(&hub, "firefox:en-fr").expect("the rest");
            let requests = server.requests();
            let ours = requests.iter().filter(|request| request.path.ends_with("vocab.enfr.spm"));
            let asked: Vec<u64> = ours.map(|request| request.from).collect();
            let content = fs::read(folder.join("vocab.enfr.spm")).expect("a vocabulary");
            assert_eq!(files_in(&folder).len(), 4, "{:?}", files_in(&folder));
            hub.remove(&name("firefox:en-fr")).expect("freed");
            (asked, content)
        };
        server.add_page(path, vocabulary(1));
        publish(&server, &[model.clone()]);
        interrupted();
        assert_eq!(asked(), (vec![400], vocabulary(1)), "the same version goes on");
        interrupted();
        server.add_page(path, vocabulary(2));
        assert_eq!(asked(), (vec![400, 0], vocabulary(2)), "the server has another file");
        interrupted();
        model["modelStatistics"]["parameters"] = 2.into();
        publish(&server, &[model]);
        assert_eq!(asked(), (vec![0], vocabulary(2)), "the registry has another entry");
    }

    #[test]
    fn a_newer_model_replaces_the_older_one() {
        let server = TestHub::start();
        let hub = hub("firefox_newer", &server);
        let older = entry(&server, ("en", "fr"), "tiny", &noise(100));
        publish(&server, &[older]);
        let folder = get(&hub, "firefox:en-fr").expect("a folder");
        let newer = entry(&server, ("en", "fr"), "tiny", &noise(200));
        publish(&server, &[newer]);
        assert_eq!(get(&hub, "firefox:en-fr").expect("the cached one"), folder);
        assert_eq!(fs::read(folder.join("model.enfr.intgemm.alphas.bin")).expect("weights").len(), 100);
        hub.fetch(&name("firefox:en-fr"), &mut (), &Cancel::default()).expect("the newest");
        assert_eq!(fs::read(folder.join("model.enfr.intgemm.alphas.bin")).expect("weights").len(), 200);
        assert_eq!(files_in(folder.parent().expect("a folder")), ["tiny", "tiny.lock"]);
    }
}

#[test]
fn names_and_paths_are_told_apart() {
    let is_hub = |text: &str| matches!(ModelReference::parse(text), Ok(ModelReference::Hub { .. }));
    for text in [NAME, "facebook/nllb-200-distilled-600M", "a/b@main", "a/b@refs/pr/1", "a/b.c_d-e"] {
        assert!(is_hub(text), "{text}");
    }
    for text in [
        "opus",
        "./a/b",
        "../a/b",
        "/a/b",
        "~/a/b",
        "a\\b",
        "C:\\a\\b",
        "C:/a",
        "a/b/c",
        "a/b/",
        "a/",
        "/a",
        "",
        "a//b",
        "a/model.safetensors",
        "a/b@",
        "a/b@../x",
        "a b/c",
        "a/b?c",
        "a--b/c",
        "a/..",
        "-a/b",
        "a/b@x@y",
    ] {
        assert!(matches!(ModelReference::parse(text), Ok(ModelReference::Folder(_))), "{text}");
    }
    assert!(matches!(ModelReference::parse(env!("CARGO_MANIFEST_DIR")), Ok(ModelReference::Folder(_))));
    for (text, from, to, architecture) in [
        ("firefox:en-fr", "en", "fr", None),
        ("firefox:en-fr:base-memory", "en", "fr", Some("base-memory")),
        ("firefox:en-zh-Hant", "en", "zh-Hant", None),
        ("firefox:zh-Hans-en", "zh-Hans", "en", None),
        ("firefox:en-zh_hant", "en", "zh_hant", None),
    ] {
        let (from, to, architecture) = (from.to_owned(), to.to_owned(), architecture.map(str::to_owned));
        let found = ModelReference::parse(text).expect("a pair");
        assert_eq!(found.to_string(), text);
        assert_eq!(found, ModelReference::Firefox { from, to, architecture });
    }
    for text in [
        "firefox:",
        "firefox:en",
        "firefox:en-",
        "firefox:EN-FR",
        "firefox:en-fr-de",
        "firefox:en-fr:",
        "firefox:en-fr:a/b",
    ] {
        assert!(matches!(ModelReference::parse(text), Err(HubError::NoPair { .. })), "{text}");
    }
}
