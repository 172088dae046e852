//! Text in, text out: `cargo run --release --example translate`

use std::error::Error;

use wordloom::{Device, DeviceChoice, Model, TranslateOptions, Translator};

#[pollster::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let choice = DeviceChoice::Auto;
    let device = Device::open(&choice).await?;
    println!("{}", device.notice(&choice));

    // Model::load("path/to/a/hugging/face/folder") loads another model
    let translator = Translator::new(&device, &Model::embedded()?)?;
    let options = TranslateOptions::default().beams(4);
    let translation = translator.translate("Where is the train station?", &options).await?;
    println!("{}", translation.text);

    // sentences of many texts share batches
    for translation in translator.translate(&["Good morning!", "I am learning German."], &options).await? {
        println!("{}", translation.text);
    }
    Ok(())
}
