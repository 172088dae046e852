//! Documents of every format: the first byte says which. What is read can be written, with its texts as they are, or longer.

#![no_main]

use wordloom_documents::{Document, Format, Options, Translated, TranslationMemory};

const FORMATS: [Format; 17] = [
    Format::Text,
    Format::Markdown,
    Format::Html,
    Format::Xml,
    Format::Srt,
    Format::Vtt,
    Format::Po,
    Format::Xliff,
    Format::Json,
    Format::Arb,
    Format::Strings,
    Format::Table,
    Format::Tsv,
    Format::Docx,
    Format::Pptx,
    Format::OpenDocument,
    Format::Epub,
];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&which, content)) = bytes.split_first() else { return };
    let Some(&format) = FORMATS.get(usize::from(which) % (FORMATS.len() + 1)) else {
        let _ = TranslationMemory::read("memory.tmx", content.to_vec());
        let _ = TranslationMemory::read("memory.tsv", content.to_vec());
        return;
    };
    let Ok(document) = Document::read(content.to_vec(), format, &Options::default()) else { return };
    for more in ["", " more"] {
        let translated = |text: &str| Translated { text: format!("{text}{more}"), links: Vec::new() };
        let translations: Vec<Translated> = document.units().iter().map(|unit| translated(unit.text())).collect();
        let _ = document.write(&translations);
    }
});
