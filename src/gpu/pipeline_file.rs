//! Compiled pipelines on disk, so that a later run need not compile them again.
//!
//! Only Vulkan gives access to compiled pipelines; other drivers have caches of their own. A damaged file, a file of another
//! driver and an error of writing are ignored: they cost time, nothing else.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The cache's folder, or `off`.
const VARIABLE: &str = "WORDLOOM_PIPELINE_CACHE";
/// Limit on a file's size; a larger file is not Wordloom's.
const MOST_BYTES: u64 = 256 << 20;
/// The beginning of a file, before the checksum.
const MAGIC: [u8; 8] = *b"wloompc1";
/// Number of files written by this program, for names of their own.
static WRITES: AtomicU64 = AtomicU64::new(0);
const HEADER_BYTES: usize = MAGIC.len() + size_of::<u64>();

/// The pipelines of one adapter, in memory and on disk.
pub(super) struct PipelineFile {
    cache: wgpu::PipelineCache,
    path: PathBuf,
    owner: String,
    /// The checksum of the file's content, if any.
    stored: Mutex<Option<u64>>,
}

impl PipelineFile {
    /// The cache of an adapter in a folder; `None` if the device was opened without the feature.
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

    /// The driver's cache, for making pipelines.
    pub fn cache(&self) -> &wgpu::PipelineCache {
        &self.cache
    }

    /// Whether a valid file was read or written.
    pub fn is_stored(&self) -> bool {
        self.stored.lock().unwrap_or_else(|poison| poison.into_inner()).is_some()
    }

    /// Writes the driver's compiled pipelines, if the file differs.
    pub fn store(&self) {
        let Some(data) = self.cache.get_data() else { return };
        let sum = checksum(&self.owner, &data);
        let mut stored = self.stored.lock().unwrap_or_else(|poison| poison.into_inner());
        if *stored != Some(sum) && write_whole(&self.path, &[&MAGIC, &sum.to_le_bytes(), &data]).is_ok() {
            *stored = Some(sum);
        }
    }
}

/// The user's folder for pipelines, if the system has one and [`VARIABLE`] does not turn it off.
///
/// On Linux, the XDG base directory specification defines it; on Windows, a variable.
pub(super) fn users_folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    match variable(VARIABLE) {
        Some(value) if value == "off" => return None,
        Some(folder) => return Some(folder.into()),
        None => {}
    }
    // by the specification, a relative path is ignored
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = match cfg!(windows) {
        true => absolute("LOCALAPPDATA"),
        false => absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache"))),
    };
    Some(caches?.join("wordloom").join("pipelines"))
}

/// The owner of the pipelines: adapter, driver, and program version. Another driver cannot read them; another program version
/// would leave old kernels in the file for ever.
pub(super) fn owner(adapter: &wgpu::AdapterInfo) -> String {
    let wgpu::AdapterInfo { name, vendor, device, driver, driver_info, backend, .. } = adapter;
    let version = env!("CARGO_PKG_VERSION");
    format!("{version}\n{backend}\n{vendor}\n{device}\n{name}\n{driver}\n{driver_info}")
}

/// The checksum may change with the version of Rust's library; then the file counts as damaged.
fn checksum(owner: &str, data: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(owner.as_bytes());
    hasher.write_u8(0xff); // occurs in no string
    hasher.write(data);
    hasher.finish()
}

/// Checksum and content of a valid file of this owner.
fn read(path: &Path, owner: &str) -> Option<(u64, Vec<u8>)> {
    // before opening, because opening a named pipe would wait for a writer
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

/// Writes to another name and renames, so that no program reads half a file, and two programs do not mix theirs.
pub(super) fn write_whole(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let own =
        path.with_extension(format!("{}-{}.tmp", std::process::id(), WRITES.fetch_add(1, Ordering::Relaxed)));
    let written = (|| {
        let mut file = File::create(&own)?;
        parts.iter().try_for_each(|part| file.write_all(part))?;
        drop(file);
        fs::rename(&own, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&own); // there may be none
    }
    written
}
