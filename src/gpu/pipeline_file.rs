//! Compiled pipelines on disk: what a driver has compiled in one run, the next one need not compile again.
//!
//! Only where the API hands compiled pipelines out, which is Vulkan; elsewhere, drivers keep caches of their own. A file
//! that is damaged, or another driver's, is as good as none, and one that cannot be written is done without: it is a
//! matter of time only.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Turns the cache off (`off`), or gives the folder that it is kept in.
const VARIABLE: &str = "WORDLOOM_PIPELINE_CACHE";
/// Larger files are not ours.
const MOST_BYTES: u64 = 256 << 20;
/// At a file's beginning, before the checksum.
const MAGIC: [u8; 8] = *b"wloompc1";
const HEADER_BYTES: usize = MAGIC.len() + size_of::<u64>();

/// The pipelines of one adapter, in memory and on disk.
pub(super) struct PipelineFile {
    cache: wgpu::PipelineCache,
    path: PathBuf,
    owner: String,
    /// The checksum of what the file holds, where it holds something.
    stored: Mutex<Option<u64>>,
}

impl PipelineFile {
    /// The cache of an adapter in a folder; none where the device was opened without the feature for it.
    pub fn open(device: &wgpu::Device, adapter: &wgpu::AdapterInfo, folder: &Path) -> Option<Self> {
        if !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return None;
        }
        let key = wgpu::util::pipeline_cache_key(adapter)?;
        let path = folder.join(format!("{key}_{:08x}.bin", checksum(&adapter.driver, &[]) as u32));
        let owner = owner(adapter);
        let content = read(&path, &owner);
        #[expect(unsafe_code, reason = "the driver trusts what it is given")]
        // SAFETY: the data is what `get_data` returned for an adapter of the same key: `read` gives only what `store` has
        // written for this adapter, this driver's version and this version of the program, unchanged by its checksum.
        let cache = unsafe {
            device.create_pipeline_cache(&wgpu::PipelineCacheDescriptor {
                label: Some("wordloom"),
                data: content.as_ref().map(|(_, data)| data.as_slice()),
                fallback: true,
            })
        };
        Some(Self { cache, path, owner, stored: Mutex::new(content.map(|(sum, _)| sum)) })
    }

    /// What pipelines are made with.
    pub fn cache(&self) -> &wgpu::PipelineCache {
        &self.cache
    }

    /// Whether there was a sound file, or one has been written.
    pub fn is_stored(&self) -> bool {
        self.stored.lock().unwrap_or_else(|poison| poison.into_inner()).is_some()
    }

    /// Writes what the driver has compiled, if the file does not hold it.
    pub fn store(&self) {
        let Some(data) = self.cache.get_data() else { return };
        let sum = checksum(&self.owner, &data);
        let mut stored = self.stored.lock().unwrap_or_else(|poison| poison.into_inner());
        if *stored != Some(sum) && write(&self.path, sum, &data).is_ok() {
            *stored = Some(sum);
        }
    }
}

/// The user's folder for pipelines, if the system has one and [`VARIABLE`] does not turn it off.
///
/// Found by hand: Vulkan runs on Linux, where the XDG base directory specification says how, and on Windows, where a
/// variable does.
pub(super) fn users_folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    match variable(VARIABLE) {
        Some(value) if value == "off" => return None,
        Some(folder) => return Some(folder.into()),
        None => {}
    }
    // the specification: a relative path is to be ignored
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = match cfg!(windows) {
        true => absolute("LOCALAPPDATA"),
        false => absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache"))),
    };
    Some(caches?.join("wordloom").join("pipelines"))
}

/// Whose pipelines they are: another driver would not know what to do with them, another version of the program's
/// kernels would leave the old ones in the file for ever.
fn owner(adapter: &wgpu::AdapterInfo) -> String {
    let wgpu::AdapterInfo { name, vendor, device, driver, driver_info, backend, .. } = adapter;
    let version = env!("CARGO_PKG_VERSION");
    format!("{version}\n{backend}\n{vendor}\n{device}\n{name}\n{driver}\n{driver_info}")
}

/// Not the same from one version of Rust's library to another, perhaps; then what is on disk counts as damaged.
fn checksum(owner: &str, data: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(owner.as_bytes());
    hasher.write_u8(0xff); // in no string
    hasher.write(data);
    hasher.finish()
}

/// Checksum and content of a sound file of this owner.
fn read(path: &Path, owner: &str) -> Option<(u64, Vec<u8>)> {
    // asked before opening: opening a named pipe would wait for a writer
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut content = Vec::new();
    File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut content).ok()?;
    let (magic, rest) = content.split_first_chunk()?;
    let (sum, data) = rest.split_first_chunk()?;
    let sum = u64::from_le_bytes(*sum);
    if *magic != MAGIC || sum != checksum(owner, data) {
        return None;
    }
    content.drain(..HEADER_BYTES);
    Some((sum, content))
}

/// Under another name first, so that nobody reads half a file, and two programs at once do not mix theirs.
fn write(path: &Path, sum: u64, data: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let own = path.with_extension(format!("{}-{sum:016x}.tmp", std::process::id()));
    let written = (|| {
        let mut file = File::create(&own)?;
        file.write_all(&MAGIC)?;
        file.write_all(&sum.to_le_bytes())?;
        file.write_all(data)?;
        drop(file);
        fs::rename(&own, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&own); // there may be none
    }
    written
}
