//! `wordloom serve`, over a socket, with a client that sends exactly a test's bytes.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Child;

use sha2::{Digest, Sha256};

use super::{command, model, run, scratch, text};

/// A running server, which stops on drop.
struct Server {
    child: Child,
    url: String,
    address: String,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        let mut child =
            command(&[&["serve", "--port", "0"], arguments].concat()).spawn().expect("the binary starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        stdout.read_line(&mut line).expect("a line in UTF-8");
        let url = line.trim_end().to_owned();
        let address = url.strip_prefix("http://").and_then(|url| url.strip_suffix('/'));
        let address = address.unwrap_or_else(|| panic!("no URL: {line:?}")).to_owned();
        Self { child, url, address }
    }

    /// Serves a test's page.
    fn of_page(page: &Path) -> Self {
        Self::start(&["--page", text(page)])
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).expect("the server listens")
    }

    /// Sends a request's first line and headers, and reads the whole answer.
    fn ask(&self, first_line: &str, headers: &[&str]) -> Answer {
        let mut stream = self.connect();
        let mut request = format!("{first_line} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|header| header.starts_with("Host:")) {
            request += &format!("Host: {}\r\n", self.address);
        }
        for header in headers {
            request += &format!("{header}\r\n");
        }
        stream.write_all(format!("{request}\r\n").as_bytes()).expect("the request is sent");
        Answer::read(stream)
    }

    fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), &[])
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn read(stream: TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let mut lines = reader.by_ref().lines().map(|line| line.expect("headers in UTF-8"));
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("a status");
        let headers = lines
            .take_while(|line| !line.is_empty())
            .map(|line| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned())))
            .map(|header| header.expect("a header"))
            .collect();
        let mut body = Vec::new();
        let _ = reader.read_to_end(&mut body); // truncated or reset; the tests check the received part
        Self { status, headers, body }
    }

    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }
}

/// A small page in a new folder, with a file outside the folder that must never be served.
fn page(test: &str) -> PathBuf {
    let folder = scratch(&format!("serve-{test}"));
    fs::write(folder.join("secret.txt"), "secret").unwrap();
    let page = folder.join("page");
    fs::create_dir_all(page.join("assets")).unwrap();
    for (name, content) in [
        ("index.html", "<!doctype html><title>Wordloom</title>"),
        ("sw.js", "// offline"),
        ("manifest.webmanifest", "{}"),
        ("icon.svg", "<svg/>"),
        ("two words.txt", "spaced"),
        ("assets/engine-1a2b.wasm", "\0asm0123456789"),
        ("assets/page-3c4d.js", "export {}"),
        ("assets/page-5e6f.css", "body {}"),
    ] {
        fs::write(page.join(name), content).unwrap();
    }
    page
}

#[test]
fn the_page_comes_with_its_types_and_lifetimes() {
    let server = Server::of_page(&page("types"));
    assert!(server.url.starts_with("http://127.0.0.1:"), "{}", server.url);
    for (path, media_type, cached) in [
        ("/", "text/html; charset=utf-8", false),
        ("/index.html?from=a#b", "text/html; charset=utf-8", false),
        ("/sw.js", "text/javascript; charset=utf-8", false),
        ("/manifest.webmanifest", "application/manifest+json", false),
        ("/icon.svg", "image/svg+xml", false),
        ("/two%20words.txt", "text/plain; charset=utf-8", false),
        ("/assets/engine-1a2b.wasm", "application/wasm", true),
        ("/assets/page-3c4d.js", "text/javascript; charset=utf-8", true),
        ("/assets/page-5e6f.css", "text/css; charset=utf-8", true),
        ("/model/config.json", "application/json", false),
        ("/model/model.safetensors", "application/octet-stream", false),
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("content-type"), media_type, "{path}");
        let lifetime = if cached { "public, max-age=31536000, immutable" } else { "no-cache" };
        assert_eq!(answer.header("cache-control"), lifetime, "{path}");
        assert_eq!(answer.header("content-length"), answer.body.len().to_string(), "{path}");
        assert_eq!(answer.header("accept-ranges"), "bytes", "{path}");
    }
    assert!(server.get("/").text().contains("<title>Wordloom</title>"));
}

#[test]
fn every_answer_is_safe() {
    let server = Server::of_page(&page("safe"));
    let requests = [
        ("GET /", 200),
        ("HEAD /sw.js", 200),
        ("GET /model/config.json", 200),
        ("GET /none", 404),
        ("POST /", 405),
    ];
    for (request, status) in requests {
        let answer = server.ask(request, &[]);
        assert_eq!(answer.status, status, "{request}");
        let policy = answer.header("content-security-policy");
        for part in ["default-src 'self'", "script-src 'self' 'wasm-unsafe-eval'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{request}: {policy}");
        }
        assert!(!policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), value, "{request}");
        }
        assert!(answer.header("permissions-policy").contains("camera=()"), "{request}");
    }
}

#[test]
fn the_built_in_models_are_served_with_any_page() {
    let server = Server::of_page(&page("model"));
    for title in wordloom_hub::BuiltIn::all().iter().skip(1).map(|model| model.title) {
        let stored = super::common::repository(&format!("models/{title}-q8/model.safetensors"));
        let answer = server.get(&format!("/models/{title}/model.safetensors"));
        assert!(answer.body == fs::read(stored).unwrap(), "{title}");
    }
    let folder = super::common::repository("models/tatoeba-en-de-q8");
    let weights = fs::read(folder.join("model.safetensors")).unwrap();
    assert!(server.get("/model/model.safetensors").body == weights);

    let half = weights.len() / 2;
    let rest = server.ask("GET /model/model.safetensors", &[&format!("Range: bytes={half}-")]);
    assert_eq!(rest.status, 206);
    assert_eq!(rest.header("content-range"), format!("bytes {half}-{}/{}", weights.len() - 1, weights.len()));
    assert!(rest.body == weights[half..]);
    for absent in ["/model/", "/model", "/model/MODEL_CARD.md", "/model/target_vocab.json"] {
        assert_eq!(server.get(absent).status, 404, "{absent}");
    }
}

#[test]
fn a_model_s_folder_gives_away_its_model_only() {
    let folder = scratch("serve-model-folder");
    for file in fs::read_dir(model("marian_tied")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    fs::write(folder.join("notes.txt"), "private").unwrap();
    fs::create_dir(folder.join("sub.safetensors")).unwrap();
    let server = Server::start(&["--page", text(&page("folder")), "--model", text(&folder)]);

    for name in ["config.json", "model.safetensors", "source.spm"] {
        let answer = server.get(&format!("/model/{name}"));
        assert_eq!(answer.status, 200, "{name}");
        assert!(answer.body == fs::read(folder.join(name)).unwrap(), "{name}");
    }
    let weights = fs::read(folder.join("model.safetensors")).unwrap();
    assert!(weights.len() > 100);
    let part = server.ask("GET /model/model.safetensors", &["Range: bytes=10-99"]);
    assert_eq!((part.status, &part.body[..]), (206, &weights[10..100]));
    for name in
        ["notes.txt", "sub.safetensors", "sub.safetensors/x", "..%2Fsecret.txt", "../secret.txt", "%00"]
    {
        assert_eq!(server.get(&format!("/model/{name}")).status, 404, "{name}");
    }
}

#[test]
fn nothing_outside_the_page_can_be_had() {
    let page = page("outside");
    let server = Server::of_page(&page);
    let absolute = format!("/{}", page.with_file_name("secret.txt").display());
    for path in [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/assets/../../secret.txt",
        "/assets/%2e%2e%2f%2e%2e%2fsecret.txt",
        "/..%5csecret.txt",
        "/%ff",
        "/index.html%00.js",
        "/assets",
        "/assets/",
        "//",
        &absolute,
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(!answer.text().contains("secret"), "{path}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../secret.txt", page.join("link.txt")).unwrap();
        std::os::unix::fs::symlink("index.html", page.join("start.html")).unwrap();
        assert_eq!(server.get("/link.txt").status, 404, "a link that leads out");
        assert_eq!(server.get("/start.html").status, 200, "a link that stays inside");
    }
}

#[test]
fn parts_are_given_if_the_file_is_still_the_same() {
    let page = page("parts");
    let server = Server::of_page(&page);
    let whole = server.get("/assets/engine-1a2b.wasm");
    let (tag, content) = (whole.header("etag").to_owned(), whole.body.clone());
    assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 2, "{tag}");
    let ask = |headers: &[&str]| server.ask("GET /assets/engine-1a2b.wasm", headers);

    let part = ask(&["Range: bytes=4-6"]);
    assert_eq!((part.status, part.text(), part.header("content-range")), (206, "012", "bytes 4-6/14"));
    assert_eq!(part.header("etag"), tag);
    assert_eq!(ask(&["Range: bytes=-3"]).text(), "789");
    assert_eq!(ask(&["Range: bytes=4-", &format!("If-Range: {tag}")]).text(), "0123456789");
    for stale in ["If-Range: \"other\"", "If-Range: Wed, 21 Oct 2015 07:28:00 GMT"] {
        let answer = ask(&["Range: bytes=4-6", stale]);
        assert!(answer.status == 200 && answer.body == content, "{stale}");
    }
    let several = ask(&["Range: bytes=0-1,4-5"]);
    assert!(several.status == 200 && several.body == content);

    let outside = ask(&["Range: bytes=14-"]);
    assert_eq!((outside.status, outside.header("content-range")), (416, "bytes */14"));

    fs::write(page.join("assets/engine-1a2b.wasm"), "\0asm, another one").unwrap();
    let changed = ask(&["Range: bytes=4-6", &format!("If-Range: {tag}")]);
    assert_eq!((changed.status, changed.text()), (200, "\0asm, another one"));
}

#[test]
fn what_the_browser_has_is_not_sent_again() {
    let server = Server::of_page(&page("again"));
    for path in ["/", "/model/config.json"] {
        let tag = server.get(path).header("etag").to_owned();
        let first_line = format!("GET {path}");
        for known in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".into()] {
            let answer = server.ask(&first_line, &[&format!("If-None-Match: {known}"), "Range: bytes=0-3"]);
            assert_eq!(answer.status, 304, "{path}: {known}");
            assert!(answer.body.is_empty());
            assert_eq!((answer.header("etag"), answer.header("cache-control")), (tag.as_str(), "no-cache"));
        }
        assert_eq!(server.ask(&first_line, &["If-None-Match: \"other\""]).status, 200, "{path}");
    }
}

#[test]
fn get_and_head_are_all_there_is() {
    let server = Server::of_page(&page("methods"));
    let head = server.ask("HEAD /assets/engine-1a2b.wasm", &["Range: bytes=0-1"]);
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (200, "14", 0));
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answer = server.ask(&format!("{method} /"), &["Content-Length: 0"]);
        assert_eq!((answer.status, answer.header("allow")), (405, "GET, HEAD"), "{method}");
    }
    let absent = server.ask("HEAD /none", &[]);
    assert_eq!((absent.status, absent.body.len()), (404, 0));
}

#[test]
fn names_of_other_hosts_are_refused_on_loopback() {
    let server = Server::of_page(&page("hosts"));
    for host in ["localhost:1", "127.0.0.1", "[::1]:8380"] {
        assert_eq!(server.ask("GET /", &[&format!("Host: {host}")]).status, 200, "{host}");
    }
    for host in ["example.com", "localhost.example.com:8380", ""] {
        let answer = server.ask("GET /", &[&format!("Host: {host}")]);
        assert_eq!(answer.status, 421, "{host}");
        assert!(!answer.text().contains("Wordloom"));
    }
}

#[test]
fn long_files_come_whole_and_cut_files_break_off() {
    let page = page("long");
    let content: Vec<u8> =
        (0..3_000_001_u32).flat_map(|number| [number as u8, (number >> 8) as u8]).collect();
    fs::write(page.join("long.bin"), &content).unwrap();
    let server = Server::of_page(&page);
    assert!(server.get("/long.bin").body == content);
    let part = server.ask("GET /long.bin", &["Range: bytes=999999-5000000"]);
    assert!(part.body == content[999_999..=5_000_000]);

    // Far more than sockets buffer, so that the file shrinks during the transfer.
    const LENGTH: u64 = 256 << 20;
    fs::File::create(page.join("cut.bin")).unwrap().set_len(LENGTH).unwrap();
    let mut stream = server.connect();
    write!(stream, "GET /cut.bin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    stream.read_exact(&mut [0; 12]).unwrap();
    fs::OpenOptions::new().write(true).open(page.join("cut.bin")).unwrap().set_len(1000).unwrap();
    let mut received = 0;
    let mut buffer = [0; 1 << 16];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        received += count as u64;
    }
    assert!(received < LENGTH, "{received}");
    assert_eq!(server.get("/").status, 200, "others are served as before");
}

#[test]
fn a_port_in_use_is_named_with_a_way_out() {
    let page = page("port");
    let server = Server::of_page(&page);
    let port = server.address.rsplit_once(':').unwrap().1;
    run(&["serve", "--page", text(&page), "--port", port], "").fails(1, &[port, "in use", "--port 0"]);
}

#[test]
fn what_cannot_be_served_is_said_at_once() {
    let page = page("refused");
    let page = text(&page);
    let empty = scratch("serve-empty");
    let empty = text(&empty);
    run(&["serve", "--page", "/no/such/page"], "").fails(1, &["/no/such/page"]);
    run(&["serve", "--page", empty], "").fails(1, &[empty, "index.html", "cargo xtask web"]);
    run(&["serve", "--page", page, "--model", "/no/such/model"], "").fails(1, &["/no/such/model"]);
    run(&["serve", "--page", page, "--model", empty], "").fails(1, &[empty, "config.json"]);
    run(&["serve", "--page", page, "--port", "70000"], "").fails(2, &["70000", "--port"]);
    run(&["serve", "--page", page, "--host", "nonesuch.invalid"], "").fails(1, &["nonesuch.invalid"]);
}

/// `cargo xtask web` builds the page; a binary that is built later contains it.
#[test]
fn without_a_folder_the_built_in_page_is_served() {
    let built = super::common::repository("cli/site");
    if !built.join("index.html").exists() {
        run(&["serve", "--port", "0"], "").fails(2, &["without its page", "cargo xtask web", "--page"]);
        return;
    }
    let server = Server::start(&[]);
    assert_eq!(server.get("/").text(), fs::read_to_string(built.join("index.html")).unwrap());
    let assets = fs::read_dir(built.join("assets")).unwrap().map(|file| file.unwrap().file_name());
    let wasm = assets.filter_map(|name| name.into_string().ok()).find(|name| name.ends_with(".wasm"));
    let answer = server.get(&format!("/assets/{}", wasm.expect("the engine is part of the page")));
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/wasm"));
    assert_eq!(server.get("/model/config.json").status, 200);
}

#[cfg(unix)]
#[test]
fn ctrl_c_is_its_ordinary_end() {
    let mut server = Server::of_page(&page("ctrl-c"));
    assert_eq!(server.get("/").status, 200);
    let idle = server.connect(); // an open connection blocks no other
    super::interrupt::interrupt(&server.child);
    let status = server.child.wait().unwrap();
    let mut stderr = String::new();
    server.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
    drop(idle);
}

#[test]
fn the_models_are_listed_with_sizes_and_sums() {
    let page = page("models");
    let folder = scratch("serve-others");
    let other = folder.join("opus-mt-en-ko");
    fs::create_dir(&other).unwrap();
    for name in [
        "config.json",
        "generation_config.json",
        "tokenizer_config.json",
        "vocab.json",
        "source.spm",
        "target.spm",
        "model.safetensors",
    ] {
        fs::copy(Path::new(&model("marian_tied")).join(name), other.join(name)).unwrap();
    }
    fs::write(other.join("README.md"), "---\nlanguage: en\nlicense: apache-2.0\n---\n# A card\n").unwrap();
    let server = Server::start(&["--page", text(&page), "--models", text(&folder), "--models", text(&other)]);

    let answer = server.get("/models.json");
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    let list: serde_json::Value = serde_json::from_str(answer.text()).unwrap();
    assert_eq!(list["version"], 1);
    let models = list["models"].as_array().unwrap();
    let urls: Vec<_> = models.iter().map(|model| model["url"].as_str().unwrap()).collect();
    assert_eq!((urls[0], &models[0]["pairs"]), ("model/", &serde_json::json!([["eng", "deu"]])));
    let given = models.iter().position(|model| model["name"] == "opus-mt-en-ko").unwrap();
    assert_eq!(urls[given..], ["models/opus-mt-en-ko/", "models/opus-mt-en-ko-2/"]);
    assert!(urls[1..given].iter().all(|url| url.starts_with("models/tatoeba-")), "{urls:?}");
    assert_eq!(models[given]["pairs"], serde_json::json!([["en", "kor"]])); // its vocabulary has the tag >>kor<<
    assert_eq!(models[given]["licence"], "apache-2.0");
    assert_eq!(models[given]["family"], "marian");
    for (model, url) in models.iter().zip(urls) {
        let files = model["files"].as_object().unwrap();
        assert_eq!(files.len(), 7, "{files:?}");
        let mut bytes = 0;
        for (name, about) in files {
            let body = server.get(&format!("/{url}{name}")).body;
            assert_eq!(about["bytes"], body.len(), "{name}");
            let sum: String = Sha256::digest(&body).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(about["sha256"], sum, "{name}");
            bytes += body.len();
        }
        assert_eq!(model["bytes"], bytes);
    }
    for absent in
        ["/models/", "/models/other/config.json", "/models/opus-mt-en-ko/README.md", "/models/../secret.txt"]
    {
        assert_eq!(server.get(absent).status, 404, "{absent}");
    }
    let empty = scratch("serve-others-empty");
    run(&["serve", "--page", text(&page), "--models", text(&empty)], "").fails(1, &["config.json"]);
}

#[test]
fn a_page_gets_every_file_that_a_model_needs() {
    let page = page("needs");
    let folder = scratch("serve-every-file");
    let copies = |name: &str, files: &[(&str, PathBuf)]| {
        let model = folder.join(name);
        fs::create_dir_all(&model).unwrap();
        for (file, from) in files {
            fs::copy(from, model.join(file)).unwrap();
        }
        model
    };
    let bart = Path::new(&model("bart")).to_owned();
    let data = |name: &str| bart.join("../..").join(name);
    let tokenizers = data("tokenizers");
    let of_bart =
        [("config.json", bart.join("config.json")), ("model.safetensors", bart.join("model.safetensors"))];
    let older = [
        ("vocab.json", tokenizers.join("older.bart-vocab.json")),
        ("merges.txt", tokenizers.join("older.bart-merges.txt")),
    ];
    copies("bart-en-de", &[&of_bart[..], &older].concat());
    // as `models get` puts them: one folder deeper
    let student = data("firefox/joint");
    let files = ["model.ende.intgemm.alphas.bin", "vocab.deen.spm", "lex.50.50.ende.s2t.bin"];
    copies("firefox/tiny", &files.map(|file| (file, student.join(file))));
    let server = Server::start(&["--page", text(&page), "--models", text(&folder)]);
    let list: serde_json::Value = serde_json::from_str(server.get("/models.json").text()).unwrap();
    let models = list["models"].as_array().unwrap();
    let [.., bart, firefox] = &models[..] else { panic!("{models:?}") };
    let names = |model: &serde_json::Value| {
        let names: Vec<String> = model["files"].as_object().unwrap().keys().cloned().collect();
        for name in &names {
            let url = format!("/{}{name}", model["url"].as_str().unwrap());
            assert_eq!(server.get(&url).status, 200, "{url}");
        }
        names
    };
    assert_eq!(names(bart), ["config.json", "merges.txt", "model.safetensors", "vocab.json"]);
    assert_eq!(
        (&firefox["family"], &firefox["pairs"]),
        (&"firefox".into(), &serde_json::json!([["en", "de"]]))
    );
    let mut sorted = files;
    sorted.sort();
    assert_eq!(names(firefox), sorted);

    // a page takes neither a compressed file nor weights of another name
    let packed =
        copies("packed", &[("model.ende.intgemm8.bin.gz", data("firefox/split/model.ende.intgemm8.bin.gz"))]);
    let renamed = [&of_bart[..1], &[("model.fp16.safetensors", of_bart[1].1.clone())], &older].concat();
    for (folder, message) in [
        (packed, "model.ende.intgemm8.bin.gz: a page takes plain files; unpack it with gunzip"),
        (
            copies("bart-en-fr", &renamed),
            "bart-en-fr: a page finds weights by their usual names; rename them",
        ),
    ] {
        let refused = run(&["serve", "--page", text(&page), "--models", text(&folder)], "");
        assert_eq!(refused.output.status.code(), Some(1));
        assert!(refused.stderr().contains(message), "{}", refused.stderr());
    }
}
