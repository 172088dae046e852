//! The encoder alone: equal to a forward pass, and the device's counters during a replay.

mod common;

use common::{data, device_test, devices, model};
use wordloom::Transformer;
use wordloom::transformer::{ForwardError, ForwardInput, ForwardSelection};

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
