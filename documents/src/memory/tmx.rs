//! TMX 1.4b: units (`tu`) with a variant (`tuv`) for each language. <https://www.gala-global.org/tmx-14b>

use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::super::error::DocumentError;
use super::variants::Variants;

/// Depth of the deepest element.
const MOST_DEPTH: usize = 100;
/// Elements within a segment that hold codes of a format, not text.
const CODES: [&[u8]; 6] = [b"bpt", b"ept", b"it", b"ph", b"ut", b"sub"];

/// Reads a file. Returns the language of the sources, if the header names one, and the units.
pub fn read(text: &str) -> Result<(Option<String>, Vec<Variants>), DocumentError> {
    let mut reader = Reader::from_str(text);
    let mut file = File::default();
    loop {
        let at = reader.buffer_position() as usize;
        let problem = match reader.read_event() {
            Ok(Event::Eof) => break,
            Ok(event) => file.take(&event).err(),
            Err(error) => Some(error.to_string()),
        };
        if let Some(problem) = problem {
            let line =
                text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
            return Err(DocumentError::invalid("TMX", format!("line {line}: {problem}")));
        }
    }
    if file.depth > 0 || !file.is_tmx {
        let problem = if file.is_tmx { "an element has no end" } else { "it has no element tmx" };
        return Err(DocumentError::invalid("TMX", problem.to_owned()));
    }
    Ok((file.source, file.units))
}

#[derive(Default)]
struct File {
    is_tmx: bool,
    source: Option<String>,
    units: Vec<Variants>,
    unit: Option<Variants>,
    language: Option<String>,
    segment: Option<String>,
    depth: usize,
    /// Open elements that hold codes.
    codes: usize,
}

impl File {
    fn take(&mut self, event: &Event<'_>) -> Result<(), String> {
        match event {
            Event::Start(start) => {
                if self.depth == MOST_DEPTH {
                    return Err(format!("more than {MOST_DEPTH} elements in one another"));
                }
                self.depth += 1;
                self.open(start)
            }
            Event::Empty(start) if start.name().as_ref() == b"header" => self.open(start),
            Event::End(end) => {
                self.depth -= 1; // the reader refuses an end without a start
                self.close(end.name().as_ref());
                Ok(())
            }
            Event::Text(text) => self.add(&text.decode().map_err(|error| error.to_string())?),
            Event::CData(text) => self.add(&text.decode().map_err(|error| error.to_string())?),
            Event::GeneralRef(reference) if self.segment.is_some() => {
                let character = character(reference)?;
                self.add(character.encode_utf8(&mut [0; 4]))
            }
            _ => Ok(()),
        }
    }

    fn open(&mut self, start: &BytesStart<'_>) -> Result<(), String> {
        match start.name().as_ref() {
            b"tmx" => self.is_tmx = true,
            b"header" => self.source = attribute(start, &["srclang"])?.filter(|language| language != "*all*"),
            b"tu" => self.unit = Some(Vec::new()),
            b"tuv" => {
                let language = attribute(start, &["xml:lang", "lang"])?;
                self.language = Some(language.ok_or("an element tuv names no language (xml:lang)")?);
            }
            b"seg" => self.segment = Some(String::new()),
            name if CODES.contains(&name) => self.codes += 1,
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, name: &[u8]) {
        match name {
            b"tu" => self.units.extend(self.unit.take()),
            b"seg" => {
                let variant = self.segment.take().zip(self.language.clone());
                if let (Some(unit), Some((text, language))) = (&mut self.unit, variant) {
                    unit.push((Some(language), text));
                }
            }
            name if CODES.contains(&name) => self.codes = self.codes.saturating_sub(1),
            _ => {}
        }
    }

    fn add(&mut self, text: &str) -> Result<(), String> {
        if let Some(segment) = self.segment.as_mut().filter(|_| self.codes == 0) {
            *segment += text;
        }
        Ok(())
    }
}

fn attribute(start: &BytesStart<'_>, names: &[&str]) -> Result<Option<String>, String> {
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        if names.iter().any(|name| name.as_bytes() == attribute.key.as_ref()) {
            let value = std::str::from_utf8(&attribute.value).map_err(|error| error.to_string())?;
            return Ok(Some(html_escape::decode_html_entities(value).trim().to_owned()));
        }
    }
    Ok(None)
}

/// The character of a reference; those of a DTD are refused, so that none can grow.
fn character(reference: &BytesRef<'_>) -> Result<char, String> {
    if let Some(character) = reference.resolve_char_ref().map_err(|error| error.to_string())? {
        return Ok(character);
    }
    match &**reference {
        b"amp" => Ok('&'),
        b"lt" => Ok('<'),
        b"gt" => Ok('>'),
        b"quot" => Ok('"'),
        b"apos" => Ok('\''),
        other => Err(format!("the entity &{}; is not expanded", String::from_utf8_lossy(other))),
    }
}
