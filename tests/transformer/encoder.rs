//! The encoder alone: equal to a forward pass, the device's counters during a replay, and memory.

use crate::common::{data, device_test, devices, gpu, model, read};
use wordloom::model::files::ModelFiles;
use wordloom::transformer::{ForwardError, ForwardInput, ForwardSelection};
use wordloom::{Device, Model, Transformer};

#[device_test]
async fn the_encoder_alone_gives_the_states_of_a_forward_pass() {
    for name in ["marian_tied", "t5_relu_tied", "bert"] {
        let model = model(&data("models").join(name));
        for device in devices().await {
            let transformer = Transformer::load(&device, &model, &mut |_| {}).unwrap();
            let sources = [vec![5, 9, 2, 17, 3], vec![11, 4, 8, 8, 1]];
            let crosses = transformer.config().decoder.layers > 0;
            let input = ForwardInput {
                batch: 2,
                source_length: 5,
                input_ids: sources.concat(),
                attention_mask: vec![1; 10],
                target_length: usize::from(crosses),
                decoder_input_ids: if crosses { vec![1; 2] } else { Vec::new() },
                ..ForwardInput::default()
            };
            let selection = ForwardSelection { hidden: true, ..ForwardSelection::default() };
            let want =
                transformer.forward_selected(&input, &selection).await.unwrap().encoder_last_hidden_state;

            let mut encoder = transformer.encoder(2, 5).unwrap();
            encoder.run(&sources).await.unwrap();
            let before = device.gpu().map(|gpu| gpu.counters());
            encoder.run(&sources).await.unwrap();
            if let (Some(gpu), Some(before)) = (device.gpu(), before) {
                let counted = gpu.counters().since(before);
                assert!(counted.dispatches > 10, "{name}: {counted:?}");
                assert_eq!((counted.buffers, counted.bind_groups, counted.readbacks), (0, 0, 0), "{name}");
            }
            assert_eq!(encoder.read().await.unwrap(), want, "{name} on {device}");
        }
    }
}

#[device_test]
async fn what_the_encoder_cannot_run_is_named() {
    let folder = model(&data("models").join("marian_tied"));
    for device in devices().await {
        let transformer = Transformer::load(&device, &folder, &mut |_| {}).unwrap();
        assert!(matches!(transformer.encoder(0, 5), Err(ForwardError::Empty { .. })));
        assert!(matches!(transformer.encoder(1, 1 << 20), Err(ForwardError::TooLong { .. })));
        let mut encoder = transformer.encoder(1, 2).unwrap();
        let error = encoder.run(&[vec![1], vec![1]]).await.unwrap_err();
        assert!(matches!(error, ForwardError::Size { .. }), "{error}");
        let error = encoder.run(&[vec![1; 3]]).await.unwrap_err();
        assert!(matches!(error, ForwardError::TooLong { length: 3, limit: 2, .. }), "{error}");
        let error = encoder.run(&[vec![1, 1 << 30]]).await.unwrap_err();
        assert!(matches!(error, ForwardError::Token { row: 0, column: 1, .. }), "{error}");
    }
    let folder = model(&data("models").join("gpt2"));
    for device in devices().await {
        let transformer = Transformer::load(&device, &folder, &mut |_| {}).unwrap();
        assert!(matches!(transformer.encoder(1, 1), Err(ForwardError::NoEncoder { .. })));
    }
}

/// Twice the tokens take twice the bytes, where tokens see windows or blocks: no buffer has the size length × length.
#[device_test]
async fn memory_of_sparse_encoders_grows_with_the_length() {
    let gpu = gpu().await;
    for (name, positions) in
        [("bigbird_pegasus", "max_position_embeddings"), ("led", "max_encoder_position_embeddings")]
    {
        let config = read(&data("models").join(name).join("config.json"));
        let mut config: serde_json::Value = serde_json::from_slice(&config).expect("sound JSON");
        config[positions] = 8192.into();
        let files = ModelFiles::memory(name, [("config.json", config.to_string().into_bytes())]);
        let model = Model::random(files, 1).unwrap();
        let device = Device::Gpu(gpu.clone());
        let transformer = Transformer::load(&device, &model, &mut |_| {}).unwrap();
        let before = gpu.bytes_in_use();
        let bytes = |length| {
            let _encoder = transformer.encoder(1, length).unwrap();
            gpu.bytes_in_use() - before
        };
        let [short, long] = [bytes(4096), bytes(8192)];
        assert!(short > 4 * 4096 * 48 && long <= 2 * short, "{name}: {short} and {long} bytes");
    }
}
