//! The files of a Firefox student, whose names contain its languages: `model.ende.intgemm.alphas.bin`,
//! `vocab.deen.spm`, `lex.50.50.ende.s2t.bin`, each perhaps with `.gz`.

use crate::sorting;
use std::borrow::Cow;

use super::error::ModelError;
use super::files::{ByteSource, ModelFiles};

/// A file that a student does not need, but can have.
const GENERATION_CONFIG: &str = "generation_config.json";
/// Suffix of a compressed file.
const GZ: &str = ".gz";
/// Bytes that a compressed file may always expand to, besides twice its own length.
#[cfg(not(target_arch = "wasm32"))]
const EXPANSION: u64 = 64 << 20;

/// The names of a student's files in its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StudentFiles {
    /// Weights, with the model's options.
    pub weights: String,
    /// SentencePiece models of source and target, equal if they share one; `None` if the folder has none.
    pub vocabularies: Option<[String; 2]>,
    /// Binary shortlist.
    pub shortlist: Option<String>,
}

impl StudentFiles {
    /// Finds the files by their names; `None` if there are no weights. The best weights win: with activation scales,
    /// then 8 bits, then others.
    ///
    /// Errors: [`ModelError::AmbiguousFiles`]; [`ModelError::UnreadableWeights`] if the only weights are an `.npz`.
    pub fn find(files: &ModelFiles) -> Result<Option<Self>, ModelError> {
        let names = files.names()?;
        let Some(weights) = weights(files, &names)? else { return Ok(None) };
        let vocabularies = vocabularies(files, &names, &weights)?;
        let shortlist = one(files, &names, is_shortlist)?;
        Ok(Some(Self { weights, vocabularies, shortlist }))
    }
}

fn weights(files: &ModelFiles, names: &[String]) -> Result<Option<String>, ModelError> {
    for suffix in [".intgemm.alphas.bin", ".intgemm8.bin", ".bin"] {
        let found = one(files, names, |name| is_weights(name) && name.ends_with(suffix))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    match one(files, names, |name| name.starts_with("model.") && name.ends_with(".npz"))? {
        Some(name) => Err(ModelError::UnreadableWeights { file: files.file_label(&name) }),
        None => Ok(None),
    }
}

/// `vocab.*.spm`, or `srcvocab.*.spm` and `trgvocab.*.spm`, or one `vocab.*.spm` for each language of the weights' name.
fn vocabularies(
    files: &ModelFiles,
    names: &[String],
    weights: &str,
) -> Result<Option<[String; 2]>, ModelError> {
    let spm = |start: &str| one(files, names, |name| name.starts_with(start) && is_vocabulary(name));
    if let (Some(source), Some(target)) = (spm("srcvocab.")?, spm("trgvocab.")?) {
        return Ok(Some([source, target]));
    }
    let pair = weights.strip_prefix("model.").and_then(|rest| rest.split('.').next()).unwrap_or_default();
    if let Some((source, target)) = pair.split_at_checked(pair.len() / 2) {
        let of = |language| match language {
            "" => Ok(None),
            language => one(files, names, |name| name == format!("vocab.{language}.spm")),
        };
        if let (Some(source), Some(target)) = (of(source)?, of(target)?) {
            return Ok(Some([source, target]));
        }
    }
    Ok(spm("vocab.")?.map(|joint| [joint.clone(), joint]))
}

/// The only file whose name, without `.gz`, passes the test. A plain file comes before its compressed form.
fn one(
    files: &ModelFiles,
    names: &[String],
    test: impl Fn(&str) -> bool,
) -> Result<Option<String>, ModelError> {
    let plain = |name: &str| name.strip_suffix(GZ).unwrap_or(name).to_owned();
    let mut found: Vec<&String> = names.iter().filter(|name| test(&plain(name))).collect();
    sorting::sort(&mut found); // a name comes before the same name with `.gz`
    found.dedup_by_key(|name| plain(name));
    match found.as_slice() {
        [] => Ok(None),
        [name] => Ok(Some((*name).clone())),
        [one, other, ..] => Err(ModelError::AmbiguousFiles {
            folder: files.label().to_owned(),
            one: (*one).clone(),
            other: (*other).clone(),
        }),
    }
}

/// Whether a Firefox model has files of this name, but for `.gz`.
pub fn is_firefox_file(name: &str) -> bool {
    is_weights(name) || is_vocabulary(name) || is_shortlist(name)
}

fn is_weights(name: &str) -> bool {
    name.starts_with("model.") && name.ends_with(".bin")
}

fn is_vocabulary(name: &str) -> bool {
    let starts = ["vocab.", "srcvocab.", "trgvocab."];
    starts.iter().any(|start| name.starts_with(start)) && name.ends_with(".spm")
}

fn is_shortlist(name: &str) -> bool {
    name.starts_with("lex") && name.ends_with(".bin")
}

/// The names of a Firefox model's files in a folder: weights, vocabularies, shortlist. `None` for other models.
///
/// # Errors
/// [`ModelError::AmbiguousFiles`] if two files have one role, and those of listing a folder.
pub fn firefox_files(files: &ModelFiles) -> Result<Option<Vec<String>>, ModelError> {
    let student = if files.has("config.json") { None } else { StudentFiles::find(files)? };
    Ok(student.map(|StudentFiles { weights, vocabularies, shortlist }| {
        let mut names = vec![weights];
        names.extend(vocabularies.into_iter().flatten());
        names.extend(shortlist);
        names.dedup();
        names
    }))
}

/// The same files, decompressed in memory if the folder is a student's and has compressed ones. So they are decompressed
/// only once.
pub(super) fn unpacked(files: ModelFiles) -> Result<ModelFiles, ModelError> {
    let Some(mut names) = firefox_files(&files)? else { return Ok(files) };
    if !names.iter().any(|name| name.ends_with(GZ)) {
        return Ok(files);
    }
    names.extend([GENERATION_CONFIG.to_owned()].into_iter().filter(|name| files.has(name)));
    let content = names.iter().map(|name| {
        let plain = name.strip_suffix(GZ).unwrap_or(name).to_owned();
        Ok((plain, open(&files, name)?.into_bytes()?))
    });
    let content: Vec<(String, Vec<u8>)> = content.collect::<Result<_, ModelError>>()?;
    Ok(ModelFiles::memory(files.label(), content))
}

/// Opens a file, and decompresses it into memory if its name ends in `.gz`.
///
/// Errors as [`ModelFiles::open`]; [`ModelError::Compressed`] if it cannot be decompressed.
pub(super) fn open(files: &ModelFiles, name: &str) -> Result<ByteSource, ModelError> {
    let file = files.open(name)?;
    if !name.ends_with(GZ) {
        return Ok(file);
    }
    let content = decompressed(&file)?;
    Ok(ByteSource::memory(file.label(), content))
}

/// Reads a small file, decompressed; errors as [`ModelFiles::read`] and [`open`].
pub(super) fn read<'f>(files: &'f ModelFiles, name: &str, limit: u64) -> Result<Cow<'f, [u8]>, ModelError> {
    if !name.ends_with(GZ) {
        return files.read(name, limit);
    }
    let file = open(files, name)?;
    if file.len() > limit {
        return Err(ModelError::FileTooLarge { file: file.label().to_owned(), bytes: file.len(), limit });
    }
    file.into_bytes().map(Cow::Owned)
}

#[cfg(target_arch = "wasm32")]
fn decompressed(file: &ByteSource) -> Result<Vec<u8>, ModelError> {
    // the page decompresses with the browser's own stream
    let problem = "this build does not decompress files; give it without .gz".to_owned();
    Err(ModelError::Compressed { file: file.label().to_owned(), problem })
}

/// The content of a gzip file, with its checksum checked.
#[cfg(not(target_arch = "wasm32"))]
fn decompressed(file: &ByteSource) -> Result<Vec<u8>, ModelError> {
    use std::io::Read;

    let compressed = |problem| ModelError::Compressed { file: file.label().to_owned(), problem };
    let limit = EXPANSION + 2 * file.len();
    // the last four bytes are the length, if the file is valid
    let mut end = [0; 4];
    match file.len().checked_sub(4) {
        Some(place) => file.read_at(place, &mut end)?,
        None => return Err(compressed(format!("it is {} bytes long, too short for gzip", file.len()))),
    }
    let length = u64::from(u32::from_le_bytes(end));
    if length > limit {
        return Err(compressed(format!(
            "it claims to hold {length} bytes; at most {limit} are expected of {} compressed ones",
            file.len()
        )));
    }
    let mut content = Vec::with_capacity(length as usize);
    let reader = SourceReader { file, place: 0, failed: None };
    let mut decoder = flate2::bufread::GzDecoder::new(std::io::BufReader::with_capacity(1 << 16, reader));
    let read = decoder.by_ref().take(length + 1).read_to_end(&mut content);
    if let Some(error) = decoder.into_inner().into_inner().failed {
        return Err(error);
    }
    read.map_err(|error| compressed(format!("it cannot be decompressed: {error}; download it again")))?;
    match content.len() as u64 == length {
        true => Ok(content),
        false => Err(compressed("its content is longer than it claims; download it again".to_owned())),
    }
}

/// Reads a file from the start. Keeps an error, because [`std::io::Error`] cannot hold it.
#[cfg(not(target_arch = "wasm32"))]
struct SourceReader<'f> {
    file: &'f ByteSource,
    place: u64,
    failed: Option<ModelError>,
}

#[cfg(not(target_arch = "wasm32"))]
impl std::io::Read for SourceReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = (buffer.len() as u64).min(self.file.len() - self.place) as usize;
        if let Err(error) = self.file.read_at(self.place, &mut buffer[..count]) {
            self.failed = Some(error);
            return Err(std::io::ErrorKind::Other.into());
        }
        self.place += count as u64;
        Ok(count)
    }
}
