//! A text that is shown during its translation: `cargo run --release --example stream`

use std::error::Error;
use std::io::{Write, stdout};

use wordloom::{Device, DeviceChoice, Model, TranslateOptions, Translator};

const TEXT: &str = "Good morning! Where is the train station? I would like a cup of coffee, please.";

#[pollster::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::open(&DeviceChoice::Auto).await?;
    let translator = Translator::new(&device, &Model::embedded()?)?;
    let options = TranslateOptions::default().beams(1);

    let mut stream = translator.stream(TEXT, &options)?;
    let mut shown = 0;
    while let Some(update) = stream.next().await? {
        // `settled` only grows; the text after it may change
        let (settled, _) = stream.text();
        print!("{}", settled.get(shown..).unwrap_or_default());
        stdout().flush()?;
        shown = shown.max(settled.len());
        for translation in update.translations {
            println!("\n{} sentences: {}", update.of_sentences, translation.text);
        }
    }
    Ok(())
}
