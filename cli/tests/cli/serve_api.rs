//! LibreTranslate's interface of `wordloom serve`: shapes, errors, limits, keys, and clients that break off.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::interrupt::interrupt;
use super::{command, run, scratch, text};

pub struct Server {
    pub child: Child,
    pub address: String,
}

impl Server {
    pub fn start(arguments: &[&str]) -> Self {
        let all = [&["serve", "--port", "0", "--no-page", "--device", "cpu"], arguments].concat();
        Self::run(&all, &[])
    }

    /// As [`start`](Self::start), with all arguments, and with these variables of the environment.
    pub fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = command(arguments);
        let mut child = command.envs(environment.iter().copied()).spawn().expect("the binary starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("stdout is piped")).read_line(&mut line).expect("a line");
        let address = line.trim_end().strip_prefix("http://").and_then(|url| url.strip_suffix('/'));
        let address = address.unwrap_or_else(|| panic!("no URL: {line:?}")).replace("localhost", "127.0.0.1");
        Self { child, address }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        stream
    }

    /// Sends a request and reads the answer: status, headers in lower case, body.
    fn send(&self, line: &str, headers: &str, body: &str) -> (u16, String, Value) {
        let mut stream = self.connect();
        let length = body.len();
        let address = &self.address;
        let request = format!(
            "{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("the request is sent");
        read(stream)
    }

    pub fn json(&self, path: &str, body: &Value) -> (u16, String, Value) {
        let body = body.to_string();
        self.send(&format!("POST {path}"), "Content-Type: application/json\r\n", &body)
    }

    fn form(&self, path: &str, body: &str) -> (u16, String, Value) {
        self.send(&format!("POST {path}"), "Content-Type: application/x-www-form-urlencoded\r\n", body)
    }

    fn get(&self, path: &str) -> Value {
        let (status, _, value) = self.send(&format!("GET {path}"), "", "");
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    /// The value of a metric.
    fn metric(&self, name: &str) -> f64 {
        let metrics = self.get("/metrics");
        let lines = metrics.as_str().unwrap_or_default().lines();
        let line = lines.filter_map(|line| line.strip_prefix(name)?.trim().parse().ok()).next();
        line.unwrap_or_else(|| panic!("no {name}: {metrics}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn read(mut stream: TcpStream) -> (u16, String, Value) {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).expect("UTF-8");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let body = serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned()));
    (status, head.to_lowercase(), body)
}

/// The stored greedy translation of the default model.
const ENGLISH: &str = "Where is the train station?";
const GERMAN: &str = "Wo ist der Bahnhof?";

#[test]
fn answers_have_the_shapes_of_libretranslate() {
    let server = Server::start(&[]);
    let ask = |body: Value| {
        let (status, head, value) = server.json("/translate", &body);
        assert_eq!(status, 200, "{body}: {value}");
        assert!(head.contains("access-control-allow-origin: *"), "{head}");
        value
    };
    assert_eq!(ask(json!({"q": ENGLISH, "source": "en", "target": "de"})), json!({"translatedText": GERMAN}));
    // as Mastodon and Weblate ask: lists, no key, languages in other forms
    assert_eq!(
        ask(json!({"q": [ENGLISH, "", "😀 🚂", ENGLISH], "source": "en-US", "target": "DE", "api_key": "",
            "format": "text"})),
        json!({"translatedText": [GERMAN, "", "😀 🚂", GERMAN]})
    );
    let found = json!({"confidence": 99.0, "language": "en"});
    assert_eq!(
        ask(json!({"q": ENGLISH, "source": "auto", "target": "de"})),
        json!({"translatedText": GERMAN, "detectedLanguage": found})
    );
    assert_eq!(ask(json!({"q": [ENGLISH, ENGLISH], "source": "auto", "target": "de", "alternatives": 2})), {
        let one = ask(json!({"q": ENGLISH, "source": "en", "target": "de", "alternatives": 2}));
        let [text, others] = ["translatedText", "alternatives"].map(|name| one[name].clone());
        assert!(others.as_array().is_some_and(|others| others.len() == 2 && !others.contains(&text)));
        json!({"translatedText": [text, text], "alternatives": [others, others],
                "detectedLanguage": [found, found]})
    });
    assert_eq!(ask(json!({"q": "12:30", "source": "auto", "target": "de"}))["translatedText"], "12:30");
    assert_eq!(ask(json!({"q": "Same.", "source": "de", "target": "de"}))["translatedText"], "Same.");

    let html = "<p>I see a <b>red</b> house.</p>\n<p>Where is the train station?</p><pre>x &lt; y</pre>";
    let html = ask(json!({"q": html, "source": "auto", "target": "de", "format": "html"}));
    assert_eq!(
        html["translatedText"],
        format!("<p>Ich sehe ein <b>rotes</b> Haus.</p>\n<p>{GERMAN}</p><pre>x &lt; y</pre>")
    );

    let (_, _, value) = server.form("/translate", "q=Where+is+the+train+station%3F&source=en&target=de");
    assert_eq!(value, json!({"translatedText": GERMAN}));
    let query =
        "/translate?q=Where%20is%20the%20train%20station%3F&source=en&target=de&api_key=x&format=text";
    assert_eq!(server.form(query, "").2, json!({"translatedText": GERMAN}));
    let deepl = server.json("/v2/translate", &json!({"text": [ENGLISH], "target_lang": "DE"}));
    let translation =
        json!({"detected_source_language": "EN", "text": GERMAN, "billed_characters": ENGLISH.len()});
    assert_eq!((deepl.0, deepl.2), (200, json!({"translations": [translation]})));

    assert_eq!(server.json("/detect", &json!({"q": ENGLISH})).2, json!([found]));
    let languages = server.get("/languages");
    let languages = languages.as_array().expect("a list");
    let english = languages.iter().find(|language| language["code"] == "en").expect("English");
    assert_eq!(english["name"], "English");
    assert!(english["targets"].as_array().is_some_and(|all| all.contains(&json!("de"))), "{english}");
    let of_deepl = |code, name| json!({"language": code, "name": name, "supports_formality": false});
    for path in ["/v2/languages?type=source", "/v2/languages?type=target"] {
        let names = [("DE", "German"), ("EN", "English"), ("FR", "French")];
        assert_eq!(server.get(path), json!(names.map(|(code, name)| of_deepl(code, name))));
    }
    let pairs = [("de", "en"), ("en", "de"), ("en", "fr"), ("fr", "en")];
    let pairs = pairs.map(|(from, to)| json!({"source_lang": from, "target_lang": to}));
    assert_eq!(server.get("/v2/glossary-language-pairs"), json!({"supported_languages": pairs}));
    let usage = json!({"character_count": 0, "character_limit": 1_000_000_000_000_u64});
    assert_eq!(server.get("/v2/usage"), usage);
    for (path, status) in
        [("/v2/languages?type=other", 400), ("/v2/write/rephrase", 404), ("/v2/document", 405)]
    {
        let (found, _, answer) = server.send(&format!("GET {path}"), "", "");
        assert_eq!((found, answer["message"].is_string()), (status, true), "{path}: {answer}");
    }
    assert_eq!(server.get("/health"), json!({"status": "ok"}));
    let settings = server.get("/frontend/settings");
    assert_eq!(settings["charLimit"], -1);
    assert_eq!((&settings["filesTranslation"], &settings["keyRequired"]), (&json!(true), &json!(false)));
    assert!(settings["supportedFilesFormat"].as_array().is_some_and(|all| all.contains(&json!(".docx"))));
    let paths = server.get("/spec")["paths"].as_object().expect("paths").clone();
    assert!(["/translate", "/detect", "/languages", "/health"].iter().all(|path| paths.contains_key(*path)));
    assert_eq!(server.metric("wordloom_models_loaded "), 1.0);
    assert_eq!(server.metric("wordloom_texts_under_way "), 0.0);
}

/// Detectors take the first for Danish and Swedish, which no model of this server reads.
#[test]
fn few_words_are_in_a_language_that_is_read() {
    let server = Server::start(&[]);
    for text in ["Hello\nmy friend. Good morning. I love you.", "Log in", "Sign in"] {
        let (status, _, value) =
            server.json("/translate", &json!({"q": text, "source": "auto", "target": "de"}));
        assert_eq!(status, 200, "{text}: {value}");
        assert_eq!(value["detectedLanguage"], json!({"confidence": 80.0, "language": "en"}), "{text}");
        assert_ne!(value["translatedText"], text);
    }
    assert_eq!(server.json("/detect", &json!({"q": "Log in"})).2[0]["language"], "en");
    // an uncertain answer counts if it is the target's language
    let german = json!({"q": "Guten Tag", "source": "auto", "target": "de"});
    assert_eq!(server.json("/translate", &german).2["translatedText"], "Guten Tag");
    let spanish =
        json!({"q": "¿Dónde está la estación de tren más cercana?", "source": "auto", "target": "de"});
    let (status, _, value) = server.json("/translate", &spanish);
    assert_eq!((status, &value["error"]), (400, &json!("es is not supported")));
}

#[test]
fn each_text_of_deepl_s_lists_has_its_language() {
    let server = Server::start(&[]);
    let french = "Où se trouve la gare la plus proche ?";
    let asked = json!({"text": [ENGLISH, french, "12:30", GERMAN, ENGLISH], "target_lang": "DE"});
    let (status, _, value) = server.json("/v2/translate", &asked);
    assert_eq!(status, 200, "{value}");
    let of = |field: &str| -> Vec<&Value> {
        value["translations"].as_array().expect("a list").iter().map(|one| &one[field]).collect()
    };
    let (languages, texts) = (of("detected_source_language"), of("text"));
    assert_eq!([languages[0], languages[1], languages[3], languages[4]], ["EN", "FR", "DE", "EN"]);
    assert_eq!([texts[0], texts[2], texts[3], texts[4]], [GERMAN, "12:30", GERMAN, GERMAN]);
    assert!(texts[1].as_str().is_some_and(|text| text.contains("Bahnhof")), "{value}");
    // a word, and a few of them in a language that no model reads, are in the language of the others
    let asked =
        json!({"text": [ENGLISH, "Taxi", "Muchas gracias", "I see a red house."], "target_lang": "DE"});
    let (_, _, value) = server.json("/v2/translate", &asked);
    let all = value["translations"].as_array().expect("a list");
    assert!(all.iter().all(|one| one["detected_source_language"] == "EN"), "{value}");
    // html in several languages
    let asked = json!({"text": [format!("<p>{ENGLISH}</p>"), "", format!("<p>{french}</p>")], "target_lang": "DE",
        "tag_handling": "html"});
    let (_, _, value) = server.json("/v2/translate", &asked);
    let all = &value["translations"];
    assert_eq!([&all[0]["text"], &all[1]["text"]], [&format!("<p>{GERMAN}</p>"), ""]);
    assert_eq!(all[2]["detected_source_language"], "FR");
    // LibreTranslate's lists are in one language
    let asked = json!({"q": [ENGLISH, "I see a red house.", french], "source": "auto", "target": "de"});
    let (_, _, value) = server.json("/translate", &asked);
    let found = value["detectedLanguage"].as_array().expect("a list");
    assert!(found.len() == 3 && found.iter().all(|one| one == &found[0]), "{value}");
}

/// Its connection broke while it sent, and many clients report that in place of the answer.
#[test]
fn who_sends_a_body_that_nobody_reads_gets_the_answer() {
    let server = Server::start(&["--body-limit", "4M"]);
    let body = "x".repeat(15 << 20); // far more than sockets buffer
    for (line, status) in [
        ("POST /translate", 413),
        ("POST /v2/translate", 413),
        ("PUT /translate", 405),
        ("POST /v2/none", 404),
        ("POST /none", 405),
        ("POST /suggest", 403),
        ("POST http://example.com/translate", 421),
    ] {
        let (found, _, answer) = server.send(line, "Content-Type: application/json\r\n", &body);
        assert_eq!(found, status, "{line}: {answer}");
    }
    // one that is far too large, and one that waits to be asked for, are not read
    for headers in ["Content-Length: 1000000000\r\n", "Content-Length: 5000000\r\nExpect: 100-continue\r\n"] {
        let mut stream = server.connect();
        let address = &server.address;
        write!(stream, "POST /translate HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n")
            .expect("the request is sent");
        assert_eq!(read(stream).0, 413, "{headers}");
    }
    // the connection goes on
    let mut stream = server.connect();
    let address = &server.address;
    let request =
        format!("PUT /none HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).expect("the request is sent");
    let mut start = [0; 12];
    stream.read_exact(&mut start).expect("an answer");
    assert_eq!(&start, b"HTTP/1.1 405");
    write!(stream, "GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
        .expect("it is sent");
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("answers in UTF-8");
    assert!(rest.contains("HTTP/1.1 200") && rest.ends_with(r#"{"status":"ok"}"#), "{rest}");
}

/// A form with a file, and other values.
fn upload(
    server: &Server,
    path: &str,
    (name, content): (&str, &str),
    values: &[(&str, &str)],
) -> (u16, String, Value) {
    let mut body = String::new();
    for (name, value) in values {
        body += &format!("--xx\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
    }
    body += &format!(
        "--xx\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n{content}\r\n--xx--\r\n"
    );
    server.send(&format!("POST {path}"), "Content-Type: multipart/form-data; boundary=xx\r\n", &body)
}

#[test]
fn documents_are_uploaded_and_fetched() {
    let server = Server::start(&["--char-limit", "60"]);
    let languages = [("source", "auto"), ("target", "de")];
    let html = format!("<p title=\"{ENGLISH}\">{ENGLISH}</p><pre>kept</pre>");
    let (status, _, answer) = upload(&server, "/translate_file", ("../my page.html", &html), &languages);
    assert_eq!(status, 200, "{answer}");
    let url = answer["translatedFileUrl"].as_str().expect("an address");
    let path = url.strip_prefix(&format!("http://{}", server.address)).expect("this server's address");
    let (status, head, body) = server.send(&format!("GET {path}"), "", "");
    assert_eq!((status, body), (200, json!(format!("<p title=\"{GERMAN}\">{GERMAN}</p><pre>kept</pre>"))));
    assert!(head.contains("attachment; filename*=utf-8''my%20page_de.html"), "{head}");
    assert_eq!(server.send("GET /download_file/0123.page_de.html", "", "").0, 404);
    for (name, content, values, reason) in [
        ("a.html", "", &languages[..], "empty file"),
        ("a.pdf", "text", &languages, "file format not supported"),
        ("a.docx", "text", &languages, "zip file"),
        ("a.json", "{", &languages, "no valid JSON"),
        ("a.txt", &"long ".repeat(20), &languages, "exceeds text limit (60)"),
        ("a.txt", "text", &languages[..1], "missing target"),
    ] {
        let (status, _, answer) = upload(&server, "/translate_file", (name, content), values);
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(status == 400 && error.contains(reason), "{name}: {status} {answer}");
    }
    assert_eq!(
        server.form("/translate_file", "source=en&target=de").2["error"],
        "Invalid request: missing file parameter"
    );
}

#[test]
fn documents_are_translated_in_the_shape_of_deepl() {
    let server = Server::start(&["--char-limit", "60"]);
    let german = [("target_lang", "DE"), ("output_format", "TXT")];
    let text = format!("{ENGLISH}\n");
    let (status, _, made) = upload(&server, "/v2/document", ("a.txt", &text), &german);
    assert_eq!(status, 200, "{made}");
    let [id, key] =
        ["document_id", "document_key"].map(|name| made[name].as_str().expect("a text").to_owned());
    let asked = json!({"document_key": key});
    let done = json!({"document_id": id, "status": "done", "billed_characters": ENGLISH.len()});
    let path = format!("/v2/document/{id}");
    let begun = Instant::now();
    while server.json(&path, &asked).2 != done {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", server.json(&path, &asked).2);
    }
    let (status, head, translated) = server.json(&format!("{path}/result"), &asked);
    assert_eq!((status, translated), (200, json!(format!("{GERMAN}\n"))));
    assert!(head.contains("attachment; filename*=utf-8''a_de.txt"), "{head}");
    // neither another key nor another document
    let other = json!({"document_key": id});
    for (path, asked) in [(&*path, &other), ("/v2/document/00", &asked), ("/v2/document/%ff/result", &asked)]
    {
        let (status, _, answer) = server.json(path, asked);
        assert!(status == 404 && answer["message"].is_string(), "{path}: {status} {answer}");
    }
    for (name, content, values, reason) in [
        ("a.txt", "", &german[..], "empty file"),
        ("a.pdf", "text", &german[..1], "file format not supported"),
        ("a.txt", &*"long ".repeat(20), &german, "exceeds text limit (60)"),
        ("a.txt", "text", &[], "missing target_lang"),
        (
            "a.txt",
            "text",
            &[("target_lang", "DE"), ("output_format", "docx")],
            "'output_format' not supported",
        ),
        ("a.txt", "text", &[("target_lang", "DE"), ("glossary_id", "none")], "Glossary not found"),
    ] {
        let (status, _, answer) = upload(&server, "/v2/document", (name, content), values);
        let message = answer["message"].as_str().unwrap_or_default();
        assert!((400..=404).contains(&status) && message.contains(reason), "{name}: {status} {answer}");
    }
    // a translation that fails is told when the client asks
    let (_, _, made) = upload(&server, "/v2/document", ("a.txt", &text), &[("target_lang", "ES")]);
    let path = format!("/v2/document/{}", made["document_id"].as_str().expect("a text"));
    let (_, _, failed) = server.json(&path, &json!({"document_key": made["document_key"]}));
    assert_eq!(failed["status"], "error", "{failed}");
    assert!(
        failed["error_message"].as_str().is_some_and(|message| message.contains("not supported")),
        "{failed}"
    );
}

/// The language of such a text took a minute to detect, and the server answered nobody in the meantime.
#[test]
fn markup_is_read_in_time_by_its_length() {
    let server = Server::start(&[]);
    let text = "%d".repeat(200_000);
    let asked = json!({"q": text, "source": "auto", "target": "de", "format": "html"});
    let (status, _, value) = server.json("/translate", &asked);
    assert_eq!((status, value["translatedText"].as_str()), (200, Some(&*text)));
    let asked = json!({"q": ["", "<p>Where is the train station?</p>"], "source": "auto", "target": "de", "format": "html"});
    let (_, _, value) = server.json("/translate", &asked);
    assert_eq!(value["translatedText"], json!(["", "<p>Wo ist der Bahnhof?</p>"]));
    assert_eq!(value["detectedLanguage"][0]["language"], "en");
}

#[test]
fn wrong_requests_are_refused_with_a_reason() {
    let server = Server::start(&["--char-limit", "40", "--batch-limit", "2", "--body-limit", "2K"]);
    let good = json!({"q": "Hello", "source": "en", "target": "de"});
    for (name, value, status, reason) in [
        ("q", Value::Null, 400, "missing q parameter"),
        ("q", json!(""), 400, "missing q parameter"),
        ("q", json!([]), 400, "missing q parameter"),
        ("q", json!({"a": 1}), 400, "not a string"),
        ("q", json!(["a", 1]), 400, "list of strings"),
        ("q", json!("x".repeat(41)), 400, "request (41) exceeds text limit (40)"),
        ("q", json!(["a", "b", "c"]), 400, "request (3) exceeds text limit (2)"),
        ("q", json!("x".repeat(3000)), 413, "exceeds 2048 bytes"),
        ("source", Value::Null, 400, "missing source parameter"),
        ("source", json!("xx"), 400, "xx is not supported"),
        ("source", json!("es"), 400, "es is not supported"),
        ("source", json!("de"), 400, ""),
        ("target", Value::Null, 400, "missing target parameter"),
        ("target", json!("<b>"), 400, "is not supported"),
        ("alternatives", json!("many"), 400, "alternatives parameter is not a number"),
        ("alternatives", json!(16), 400, "alternatives parameter must be <= 15"),
        ("format", json!("pdf"), 400, "format is text or html"),
    ] {
        let mut body = good.clone();
        body[name] = value;
        if body["source"] == "de" {
            body["target"] = json!("ko");
        }
        let (found, _, answer) = server.json("/translate", &body);
        assert_eq!(found, status, "{body}: {answer}");
        let error = answer["error"].as_str().unwrap_or_else(|| panic!("{body}: {answer}"));
        assert!(error.contains(reason), "{body}: {error}");
    }
    for (body, reason) in [("[1]", "Invalid JSON format"), ("{", "Invalid JSON format")] {
        let answer = server.send("POST /translate", "Content-Type: application/json\r\n", body);
        assert_eq!((answer.0, answer.2["error"].as_str()), (400, Some(reason)));
    }
    let packed = server.send("POST /translate", "Content-Encoding: gzip\r\n", "q=a");
    assert_eq!(
        (packed.0, packed.2["error"].as_str().is_some_and(|error| error.contains("gzip"))),
        (415, true)
    );
    let latin = server.form("/translate", "q=caf%E9&source=en&target=de");
    assert_eq!((latin.0, &latin.2["error"]), (400, &json!("Invalid request: q parameter is not UTF-8")));
    assert_eq!(server.form("/translate", "q=%EF%BF%BD&source=en&target=de").0, 200);
    assert_eq!(server.form("/suggest", "q=a&s=b&source=en&target=de").0, 403);
    let (status, _, answer) = server.send("GET /translate", "", "");
    assert_eq!((status, &answer["error"]), (405, &json!("Method not allowed")));
    let other = server.send("POST http://example.com/translate", "", "");
    assert_eq!(other.0, 421, "another site's name");
    assert_eq!(server.send("OPTIONS /translate", "Origin: https://a.example\r\n", "").0, 204);
    // refused with 431, or cut off before the client has read that
    let mut stream = server.connect();
    let long = "x".repeat(1 << 20);
    let _ = write!(stream, "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: {long}\r\n\r\n");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/1.1 200"), "a header of a megabyte");
    // half-closed and broken requests end by themselves, and the server lives on
    for broken in [
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{",
        "GET",
        "\0\0\0\r\n\r\n",
    ] {
        let mut stream = server.connect();
        let _ = stream.write_all(broken.as_bytes());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut answer);
    }
    assert_eq!(server.get("/health"), json!({"status": "ok"}));
}

#[test]
fn changed_bytes_of_requests_are_never_the_server_s_fault() {
    let server = Server::start(&["--char-limit", "60", "--body-limit", "4K"]);
    let form = "application/x-www-form-urlencoded";
    let file = "--xx\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.srt\"\r\n\r\n1\n00:00:01,000 --> 00:00:02,000\nHi\n\
                \r\n--xx\r\nContent-Disposition: form-data; name=\"target\"\r\n\r\nde\r\n--xx--\r\n";
    let requests = [
        (
            "POST /translate",
            "application/json",
            r#"{"q":["Hi","<b>Yes</b>"],"source":"auto","target":"de","format":"html"}"#,
        ),
        (
            "POST /translate",
            "application/json",
            r#"{"q":"Yes.","source":"en","target":"de","alternatives":2}"#,
        ),
        ("POST /translate", form, "q=Yes%2C+please&source=en&target=de"),
        ("POST /detect", form, "q=Guten+Tag"),
        (
            "POST /v2/translate",
            "application/json",
            r#"{"text":["<p>Hi</p>"],"target_lang":"DE","tag_handling":"xml","ignore_tags":["x"]}"#,
        ),
        ("POST /translate_file", "multipart/form-data; boundary=xx", file),
        ("GET /languages?a=%20", form, ""),
    ];
    let broken = |state: &mut u64| {
        let mut random = |below: usize| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*state >> 33) as usize % below
        };
        let (line, kind, body) = requests[random(requests.len())];
        let mut request = format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            server.address,
            body.len()
        )
        .into_bytes();
        for _ in 0..=random(4) {
            let (place, byte) = (random(request.len()), random(256) as u8);
            match random(3) {
                0 => request[place] = byte,
                1 => request.insert(place, byte),
                _ => drop(request.remove(place)),
            }
        }
        request
    };
    let was_refused = |request: &[u8]| {
        let mut stream = server.connect();
        // a request that lacks bytes has no answer
        stream.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
        let mut answer = Vec::new();
        let _ = stream.write_all(request);
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP/1.1 5"), "{}", String::from_utf8_lossy(request));
        answer.starts_with(b"HTTP/1.1 4")
    };
    // several at a time, because some wait for an answer that does not come
    let refused: usize = thread::scope(|scope| {
        let ask = |mut state: u64| {
            (0..50).map(move |_| broken(&mut state)).filter(|request| was_refused(request)).count()
        };
        let asking: Vec<_> = (1..=6).map(|state| scope.spawn(move || ask(state))).collect();
        asking.into_iter().map(|thread| thread.join().expect("no answer says that the server failed")).sum()
    });
    assert!(refused > 100, "{refused} of 300 were refused");
    let good = json!({"q": ENGLISH, "source": "en", "target": "de"});
    assert_eq!(server.json("/translate", &good).2["translatedText"], GERMAN);
}

#[test]
fn keys_have_their_limits() {
    let folder = scratch("serve-keys");
    let (keys, suggestions) = (folder.join("keys.db"), folder.join("suggestions.db"));
    let keys_of = |arguments: &[&str]| {
        let all = [&["serve", "keys", "--api-keys", text(&keys)], arguments].concat();
        run(&all, "").succeeds().trim_end().to_owned()
    };
    run(&["serve", "keys", "--api-keys", text(&keys)], "").fails(1, &["there is no such file"]);
    run(&["serve", "keys", "--api-keys", text(&keys), "add", "0"], "").fails(2, &["REQ_LIMIT"]);
    let key = keys_of(&["add", "2", "--char-limit", "30"]);
    assert_eq!(keys_of(&[]), format!("{key}\t2\t30"));
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&keys.metadata().unwrap().permissions()) & 0o777,
        0o600
    );

    let arguments = ["--api-keys", text(&keys), "--suggestions", text(&suggestions), "--host", "0.0.0.0"];
    let server = Server::start(&arguments);
    assert_eq!(server.get("/frontend/settings")["keyRequired"], true);
    let ask = |key: &str, q: &str| {
        server.json("/translate", &json!({"q": q, "source": "en", "target": "de", "api_key": key}))
    };
    let (status, _, answer) = ask("", ENGLISH);
    assert_eq!((status, answer["error"].as_str().map(|error| error.contains("API key"))), (400, Some(true)));
    let (status, _, answer) = server.json("/v2/translate", &json!({"text": [ENGLISH], "target_lang": "DE"}));
    assert!(status == 403 && answer["message"].is_string(), "{answer}");
    assert_eq!(ask("wrong", ENGLISH).2, json!({"error": "Invalid API key"}));
    assert_eq!(ask(&key, &"x".repeat(31)).0, 400);
    assert_eq!(ask(&key, ENGLISH).2, json!({"translatedText": GERMAN}));
    assert_eq!(ask(&key, ENGLISH).0, 200);
    let (status, head, answer) = ask(&key, ENGLISH);
    assert_eq!((status, answer), (429, json!({"error": "Slowdown: 2 per 1 minute"})));
    assert!(head.contains("retry-after: "), "{head}");

    let other = keys_of(&["add", "100"]);
    let suggested = json!({"q": "a", "s": "b", "source": "en", "target": "de", "api_key": other});
    assert_eq!(server.json("/suggest", &suggested).2, json!({"success": true}));
    keys_of(&["remove", &other]);
    assert_eq!(ask(&other, ENGLISH).0, 403);
    drop(server);

    let closed = Server::start(&["--host", "0.0.0.0"]);
    let (status, _, answer) = closed.json("/translate", &json!({"q": "a", "source": "en", "target": "de"}));
    assert_eq!(status, 403, "{answer}");
}

#[test]
fn who_goes_away_stops_the_work_and_the_end_finishes_what_runs() {
    let mut server = Server::start(&["--queue", "300"]);
    let long: Vec<String> = (0..300)
        .map(|number| format!("The {number} trains to Berlin and the {number} boats are late."))
        .collect();
    let body = json!({"q": long, "source": "en", "target": "de"}).to_string();
    let length = body.len();
    let request = format!(
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let mut gone = server.connect();
    gone.write_all(request.as_bytes()).unwrap();
    let wait_for = |what: &str, done: &dyn Fn() -> bool| {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !done() {
            assert!(Instant::now() < deadline, "{what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    wait_for("the request begins", &|| server.metric("wordloom_sentences_running ") > 0.0);
    // the queue is full for others, who may come again
    let (status, head, _) = server.json("/translate", &json!({"q": "Hello", "source": "en", "target": "de"}));
    assert!(status == 429 && head.contains("retry-after: 2"), "{status} {head}");
    drop(gone);
    wait_for("the work stops", &|| server.metric("wordloom_sentences_running ") == 0.0);
    assert_eq!(server.metric("wordloom_sentences_waiting "), 0.0);
    assert_eq!(server.metric("wordloom_texts_under_way "), 0.0);
    assert!(server.metric("wordloom_texts_total ") < 300.0);

    let mut last = server.connect();
    last.write_all(request.as_bytes()).unwrap();
    wait_for("the request begins", &|| server.metric("wordloom_sentences_running ") > 0.0);
    interrupt(&server.child);
    let (status, _, answer) = read(last);
    assert_eq!((status, answer["translatedText"].as_array().map(Vec::len)), (200, Some(300)));
    assert!(server.child.wait().expect("it ends").success());
}

#[test]
fn requests_name_glossaries_and_ask_for_quality() {
    let folder = scratch("glossaries");
    let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    std::fs::write(path("terms.en-de.tsv"), "ticket\tBillett\tBilletts|Billette\n").expect("written");
    std::fs::write(path("known.en-de.tsv"), "Good morning\tMoin\n").expect("written");
    let keys = path("keys.db");
    for key in ["one", "two"] {
        run(&["serve", "keys", "--api-keys", &keys, "add", "1000", "--key", key], "").succeeds();
    }
    let server = Server::start(&[
        "--glossary",
        &path("terms.en-de.tsv"),
        "--translation-memory",
        &path("known.en-de.tsv"),
        "--api-keys",
        &keys,
    ]);
    let q = "Where can I buy a ticket?";
    let body = json!({"q": [q, "Good morning"], "source": "en", "target": "de", "glossary": "terms.en-de",
        "quality": true});
    let (status, _, value) = server.json("/translate", &body);
    assert_eq!(status, 200, "{value}");
    assert!(value["translatedText"][0].as_str().is_some_and(|text| text.contains("Billett")), "{value}");
    assert_eq!(value["translatedText"][1], "Moin");
    assert_eq!(value["quality"][1], json!({"origin": "memory", "score": 1.0}));
    assert!(value["quality"][0]["trust"].is_number(), "{value}");
    let key =
        |key: &str| format!("Authorization: DeepL-Auth-Key {key}\r\nContent-Type: application/json\r\n");
    let new = json!({"name": "dogs", "source_lang": "EN", "target_lang": "DE", "entries": "dog\tKöter",
        "entries_format": "tsv"});
    let (status, _, made) = server.send("POST /v2/glossaries", &key("one"), &new.to_string());
    assert_eq!((status, &made["entry_count"]), (201, &json!(1)), "{made}");
    let id = made["glossary_id"].as_str().expect("an id");
    let ask =
        json!({"text": ["The dog sleeps."], "source_lang": "EN", "target_lang": "DE", "glossary_id": id});
    let (status, _, value) = server.send("POST /v2/translate", &key("one"), &ask.to_string());
    assert_eq!((status, &value["translations"][0]["text"]), (200, &json!("Der Köter schläft.")));
    // another key neither sees nor uses nor removes it
    let (status, _, _) = server.send("POST /v2/translate", &key("two"), &ask.to_string());
    assert_eq!(status, 404);
    let (_, _, listed) = server.send("GET /v2/glossaries", &key("two"), "");
    assert_eq!(listed["glossaries"].as_array().map(Vec::len), Some(1), "{listed}");
    let one = format!("/v2/glossaries/{id}");
    assert_eq!(server.send(&format!("DELETE {one}"), &key("two"), "").0, 404);
    assert_eq!(server.send(&format!("DELETE {one}"), &key("one"), "").0, 204);
    assert_eq!(server.send(&format!("GET {one}"), &key("one"), "").0, 404);
    for (field, wrong, problem) in [
        ("entries", "dog", "has 1 column"),
        ("entries_format", "csv", "entries_format"),
        ("target_lang", "xx?", "xx?"),
    ] {
        let mut body = new.clone();
        body[field] = json!(wrong);
        let (status, _, value) = server.send("POST /v2/glossaries", &key("one"), &body.to_string());
        assert!(
            status == 400 && value["message"].as_str().is_some_and(|text| text.contains(problem)),
            "{value}"
        );
    }
}
