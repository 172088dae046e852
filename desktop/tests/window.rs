//! The window on an X server: opened, typed into, photographed, closed and opened again.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    ClientMessageEvent, ConnectionExt, EventMask, ImageFormat, InputFocus, Window,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// Time limit for reading the model and a first translation, on a busy machine without a GPU.
const PATIENCE: Duration = Duration::from_secs(90);
const SIZE: [u16; 2] = [1180, 800];
/// Position of the text to translate.
const TEXT: [i16; 2] = [120, 128];
/// Position of the search tab.
const SEARCH: [i16; 2] = [622, 62];

/// An X server without a screen, which ends with the test.
struct Server {
    child: Child,
    display: String,
}

impl Server {
    fn start() -> Self {
        let screen = format!("{}x{}x24", SIZE[0], SIZE[1]);
        let arguments = ["-displayfd", "1", "-screen", "0", &screen, "-nolisten", "tcp"];
        let mut child = Command::new("Xvfb")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("Xvfb: {error}; `cargo xtask setup` installs it"));
        let mut number = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut number).expect("the server's number");
        Self { child, display: format!(":{}", number.trim()) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended already
        let _ = self.child.wait();
    }
}

/// The program and its connection to the server.
struct Desktop<'a> {
    child: Child,
    x: &'a RustConnection,
    root: Window,
    window: Window,
}

impl<'a> Desktop<'a> {
    fn open(server: &Server, x: &'a RustConnection, screen: usize, state: &Path) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_wordloom-desktop"))
            .args(["--device", "cpu", "--state"])
            .arg(state)
            .env("DISPLAY", &server.display)
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("WAYLAND_SOCKET")
            // no models but those of the test, and no network
            .env("HF_HOME", state.with_file_name("hub"))
            .env("WORDLOOM_MODELS", state.with_file_name("own"))
            .env("HF_HUB_OFFLINE", "1")
            .env_remove("HF_HUB_CACHE")
            .env_remove("HUGGINGFACE_HUB_CACHE")
            .spawn()
            .expect("the program starts");
        let root = x.setup().roots[screen].root;
        let mut desktop = Self { child, x, root, window: 0 };
        desktop.window = desktop.wait("a window", |desktop| {
            let tree = x.query_tree(root).expect("a request").reply().expect("the windows");
            tree.children.into_iter().find(|window| desktop.title(*window).contains("Wordloom"))
        });
        desktop
    }

    fn wait<T>(&mut self, what: &str, found: impl Fn(&Self) -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = found(self) {
                return found;
            }
            if let Some(status) = self.child.try_wait().expect("a child") {
                panic!("waiting for {what}, the program ended with {status}");
            }
            let title = if self.window == 0 { String::new() } else { self.title(self.window) };
            assert!(begun.elapsed() < PATIENCE, "{what} did not come; the title is {title:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn title(&self, window: Window) -> String {
        let atom =
            |name: &[u8]| self.x.intern_atom(false, name).expect("a request").reply().expect("an atom").atom;
        let (name, utf8) = (atom(b"_NET_WM_NAME"), atom(b"UTF8_STRING"));
        let property = self.x.get_property(false, window, name, utf8, 0, 1024).expect("a request").reply();
        property.map_or_else(|_| String::new(), |title| String::from_utf8_lossy(&title.value).into_owned())
    }

    /// Waits until the window's title begins with the translation.
    fn wait_for_translation(&mut self, text: &str) {
        let title = format!("{text} – Wordloom");
        self.wait(&title, |desktop| (desktop.title(desktop.window) == title).then_some(()));
    }

    fn fake(&self, kind: u8, detail: u8, [x, y]: [i16; 2]) {
        self.x.xtest_fake_input(kind, detail, 0, self.root, x, y, 0).expect("a request");
        self.x.flush().expect("the server listens");
        std::thread::sleep(Duration::from_millis(15)); // as fast as a user
    }

    fn click(&self, at: [i16; 2]) {
        for (kind, detail) in [(6, 0), (4, 1), (5, 1)] {
            self.fake(kind, detail, at); // a motion, a button down, and up
            std::thread::sleep(Duration::from_millis(150)); // frames are slow in software
        }
    }

    /// Types keys by their symbols, while another key is held down.
    fn type_keys(&self, symbols: impl IntoIterator<Item = u32>, held: Option<u32>) {
        let setup = self.x.setup();
        let (least, most) = (setup.min_keycode, setup.max_keycode);
        let map =
            self.x.get_keyboard_mapping(least, most - least + 1).expect("a request").reply().expect("a map");
        let per_key = usize::from(map.keysyms_per_keycode);
        let find = |symbol: u32| {
            let place = map.keysyms.chunks(per_key).position(|key| key[..2].contains(&symbol));
            let place = place.unwrap_or_else(|| panic!("no key for {symbol:#x}"));
            (least + place as u8, map.keysyms[place * per_key] != symbol)
        };
        let shift = find(0xffe1).0;
        let held = held.map(|symbol| find(symbol).0);
        for symbol in symbols {
            let (key, shifted) = find(symbol);
            let around: Vec<u8> = held.into_iter().chain(shifted.then_some(shift)).collect();
            around.iter().for_each(|key| self.fake(2, *key, [0, 0]));
            self.fake(2, key, [0, 0]);
            self.fake(3, key, [0, 0]);
            around.iter().rev().for_each(|key| self.fake(3, *key, [0, 0]));
        }
    }

    /// Red, green and blue of every pixel of the screen.
    fn screenshot(&self) -> Vec<[u8; 3]> {
        let [width, height] = SIZE;
        let image = self.x.get_image(ImageFormat::Z_PIXMAP, self.root, 0, 0, width, height, u32::MAX);
        let image = image.expect("a request").reply().expect("an image");
        image.data.chunks_exact(4).map(|pixel| [pixel[2], pixel[1], pixel[0]]).collect()
    }

    /// Asks the window to close, as a window manager does.
    fn close(mut self) {
        let atom =
            |name: &[u8]| self.x.intern_atom(false, name).expect("a request").reply().expect("an atom").atom;
        let data = [atom(b"WM_DELETE_WINDOW"), 0, 0, 0, 0];
        let message = ClientMessageEvent::new(32, self.window, atom(b"WM_PROTOCOLS"), data);
        self.x.send_event(false, self.window, EventMask::NO_EVENT, message).expect("a request");
        self.x.flush().expect("the server listens");
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "the window does not close");
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(status.success(), "closed with {status}");
    }
}

impl Drop for Desktop<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it has usually ended already
        let _ = self.child.wait();
    }
}

/// Number of pixels of about this colour.
fn near(seen: &[[u8; 3]], wanted: [u8; 3]) -> usize {
    within(seen, wanted, 24)
}

fn exactly(seen: &[[u8; 3]], wanted: [u8; 3]) -> usize {
    within(seen, wanted, 2)
}

fn within(seen: &[[u8; 3]], wanted: [u8; 3], apart: u8) -> usize {
    let same = |pixel: &&[u8; 3]| pixel.iter().zip(wanted).all(|(a, b)| a.abs_diff(b) < apart);
    seen.iter().filter(same).count()
}

/// Stores a screenshot for inspection.
fn keep(screenshot: &[[u8; 3]], name: &str) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let file = std::fs::File::create(path).expect("a file");
    let mut encoder = png::Encoder::new(file, SIZE[0].into(), SIZE[1].into());
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().expect("it can be written");
    writer.write_image_data(screenshot.as_flattened()).expect("it can be written");
}

#[test]
fn a_window_translates_what_is_typed_and_remembers_it() {
    let scratch = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("window");
    let _ = std::fs::remove_dir_all(&scratch);
    std::fs::create_dir_all(&scratch).expect("a folder");
    let state = scratch.join("state.ron");
    let server = Server::start();
    let (x, screen) = RustConnection::connect(Some(&server.display)).expect("the server listens");

    let mut desktop = Desktop::open(&server, &x, screen, &state);
    desktop.wait_for_translation("Wo ist der Bahnhof?");
    // without a window manager, the test must give it the keyboard
    let focus =
        x.set_input_focus(InputFocus::PARENT, desktop.window, x11rb::CURRENT_TIME).expect("a request");
    focus.check().expect("it is shown");
    // a very busy machine may miss events
    let typed = (0..5).any(|_| {
        desktop.click(TEXT);
        desktop.type_keys(" Thanks!".chars().map(u32::from), None);
        let begun = Instant::now();
        let changed = || desktop.title(desktop.window) != "Wo ist der Bahnhof? – Wordloom";
        std::iter::repeat_with(|| std::thread::sleep(Duration::from_millis(100)))
            .take_while(|()| begun.elapsed() < Duration::from_secs(10))
            .any(|()| changed())
    });
    assert!(typed, "what was typed is not translated");
    const CONTROL: u32 = 0xffe3;
    desktop.type_keys([u32::from('a')], Some(CONTROL));
    desktop.type_keys("Good morning!".chars().map(u32::from), None);
    desktop.wait_for_translation("Guten Morgen!");

    // the ends of viridis occur only in the viewer
    let seen = desktop.wait("maps of attention", |desktop| {
        let seen = desktop.screenshot();
        (near(&seen, [68, 1, 84]) > 5_000 && near(&seen, [253, 231, 37]) > 200).then_some(seen)
    });
    keep(&seen, "window.png");

    // only the path of the best hypothesis has this colour
    let seen = desktop.wait("the tree of the search", |desktop| {
        desktop.click(SEARCH);
        let seen = desktop.screenshot();
        (exactly(&seen, [233, 235, 246]) > 2_000 && near(&seen, [68, 1, 84]) < 100).then_some(seen)
    });
    keep(&seen, "search.png");
    desktop.close();

    let mut again = Desktop::open(&server, &x, screen, &state);
    again.wait_for_translation("Guten Morgen!");
    again.close();
}

/// A small model with random weights in a cache of the hub, as if it were of these languages.
fn install(home: &Path, pair: [&str; 2]) {
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let repository = home.join("hub").join(format!("models--tests--opus-mt-{}-{}", pair[0], pair[1]));
    let folder = repository.join("snapshots").join(commit);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::create_dir_all(repository.join("refs")).expect("a folder");
    std::fs::write(repository.join("refs/main"), commit).expect("a file");
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/models/marian_tied");
    for file in [
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "source.spm",
        "target.spm",
        "vocab.json",
    ] {
        std::fs::copy(model.join(file), folder.join(file)).expect("a file");
    }
    let config = std::fs::read_to_string(model.join("tokenizer_config.json")).expect("a file");
    let config = config.replace("\"ko\"", "\"target\"").replace("\"en\"", &format!("{:?}", pair[0]));
    let config = config.replace("\"target\"", &format!("{:?}", pair[1]));
    std::fs::write(folder.join("tokenizer_config.json"), config).expect("a file");
}

/// Pictures of the picker of languages, for people: `cargo test --package wordloom-desktop --test window -- --ignored`.
#[test]
#[ignore = "makes pictures, and judges nothing"]
fn pictures_of_the_picker() {
    let scratch = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pictures");
    let _ = std::fs::remove_dir_all(&scratch);
    std::fs::create_dir_all(&scratch).expect("a folder");
    let home = scratch.join("hub");
    install(&home, ["de", "ko"]);
    install(&home, ["ko", "en"]);
    let state = scratch.join("state.ron");
    let server = Server::start();
    let (x, screen) = RustConnection::connect(Some(&server.display)).expect("the server listens");
    let pause = || std::thread::sleep(Duration::from_secs(6));
    for (name, text, from, to) in [
        ("pivot", "Good morning! Where is the train station?", "en", "ko"),
        ("offer", "Good morning! Where is the train station?", "auto", "fr"),
        ("korean", "기차역이 어디예요? 감사합니다.", "auto", "en"),
    ] {
        let remembered = format!("(text:{text:?},from:Some({from:?}),to:Some({to:?}))");
        std::fs::write(&state, format!("{{\"wordloom\":{remembered:?}}}")).expect("a file");
        let desktop = Desktop::open(&server, &x, screen, &state);
        pause();
        keep(&desktop.screenshot(), &format!("picker-{name}.png"));
        if name == "offer" {
            desktop.click([250, 62]);
            pause();
            keep(&desktop.screenshot(), "picker-list.png");
            desktop.type_keys([0xff1b], None); // escape
        }
        desktop.click([196, 778]);
        let narrow = x11rb::protocol::xproto::ConfigureWindowAux::new().width(420);
        x.configure_window(desktop.window, &narrow).expect("a request").check().expect("it is resized");
        pause();
        keep(&desktop.screenshot(), &format!("picker-{name}-narrow.png"));
        desktop.close();
    }
}
