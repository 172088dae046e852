//! `wordloom bench`: its output, not the speed.

use serde_json::Value;
use wordloom::kernels::{attention, linear};

use super::{model, run, scratch, text};

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[cfg(feature = "embedded-model")]
#[test]
fn bench_tells_what_it_measured() {
    let arguments = [
        "bench",
        "--device",
        "cpu",
        "--json",
        "--repeats",
        "2",
        "--encode",
        "8,16",
        "--source",
        "8",
        "--tokens",
        "2,6",
        "--beams",
        "1,3",
        "--batch",
        "2",
    ];
    let output = run(&arguments, "");
    let json: Value = serde_json::from_str(output.succeeds()).unwrap();
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    let date = json["date"].as_str().unwrap();
    assert!(date.len() == 10 && date.starts_with("20"), "{date}");
    assert_eq!(json["model"]["model_type"], "marian");
    assert_eq!(json["device"]["name"], "CPU");
    for time in ["open_ms", "load_ms", "first_run_ms"] {
        assert!(number(&json[time]) > 0.0, "{time}: {json}");
    }

    let encode = json["encode"].as_array().unwrap();
    assert_eq!(encode.iter().map(|row| number(&row["tokens"])).collect::<Vec<_>>(), [8.0, 16.0]);
    for row in encode {
        assert!(number(&row["ms"]) >= number(&row["ms_min"]) && number(&row["ms_min"]) > 0.0, "{row}");
        assert!(number(&row["cpu_ms"]) >= 0.0 && number(&row["share_of_product"]) > 0.0, "{row}");
        assert_eq!(row["repeats"], 2);
    }
    // six matrices a layer: 3 + 1 of attention and 2 of the feed-forward layer, d_model² and 4 · d_model² each
    let linears = 4 * 2 * 8 * (4 * 256 * 256 + 2 * 4 * 256 * 256);
    let attention = 4 * 4 * 8 * 8 * 256;
    assert_eq!(encode[0]["operations"], linears + attention);

    let decode = json["decode"].as_array().unwrap();
    let sizes: Vec<_> =
        decode.iter().map(|row| ["batch", "beams", "tokens"].map(|key| number(&row[key]))).collect();
    assert_eq!(sizes, [[2.0, 1.0, 2.0], [2.0, 1.0, 6.0], [2.0, 3.0, 2.0], [2.0, 3.0, 6.0]]);
    for row in decode {
        let translate = &row["translate"];
        let per_second = number(&row["batch"]) * number(&row["tokens"]) / number(&translate["ms"]) * 1e3;
        assert!((number(&row["tokens_per_second"]) / per_second - 1.0).abs() < 0.01, "{row}");
        let difference = number(&translate["ms"]) - number(&row["first_token"]["ms"]);
        let per_token = difference / (number(&row["tokens"]) - 1.0);
        assert!((number(&row["per_token"]["ms"]) - per_token).abs() < 0.01, "{row}");
        assert_eq!(row["per_token"]["later_ms"].is_null(), row["tokens"] == 2, "{row}");
        assert_eq!(row["counted_per_token"], Value::Null, "a CPU has no queue");
    }

    // three layers with 6 · d_model² of attention and 8 · d_model² else, and the output projection, with biases and norms
    let weights = 4 * (3 * 14 * 256 * 256 + 12_000 * 256);
    let step = number(&json["memory"]["step_weights"]);
    assert!(
        step > f64::from(weights) && step < f64::from(weights) * 1.01,
        "{step} bytes a step, weights {weights}"
    );
    assert_eq!(json["memory"]["cache_per_token"], 3 * 2 * 256 * 4);
    for limit in ["weights", "memory"] {
        assert!(number(&json["limits"][limit]["gb_per_second"]) > 0.0, "{json}");
    }
    assert!(number(&json["limits"]["product"]["gflop_per_second"]) > 0.0, "{json}");
    #[cfg(target_os = "linux")]
    assert!(number(&json["memory"]["host_peak"]) > number(&json["model"]["weight_bytes"]), "{json}");
}

/// Replaying a step creates nothing on the device, and waits once.
#[test]
fn bench_counts_what_a_device_does() {
    let arguments = [
        "bench",
        "--device",
        "gpu",
        "--json",
        "--model",
        &model("marian_tied"),
        "--repeats",
        "1",
        "--encode",
        "4",
        "--source",
        "4",
        "--tokens",
        "5",
        "--beams",
        "1",
        "--batch",
        "1",
    ];
    let output = run(&arguments, "");
    assert_eq!(output.output.status.code(), Some(0), "{}", output.stderr());
    let json: Value = serde_json::from_str(output.stdout()).unwrap();
    let counted = &json["decode"][0]["counted_per_token"];
    assert_eq!(
        (&counted["buffers"], &counted["bind_groups"]),
        (&Value::from(0.0), &Value::from(0.0)),
        "{counted}"
    );
    let step = number(&json["decode"][0]["per_token"]["dispatches"]);
    assert!(step > 10.0 && step == step.trunc() && number(&counted["dispatches"]) > step, "{json}");
    assert!(number(&counted["submits"]) <= 2.0 && number(&counted["readbacks"]) <= 1.0, "{counted}");
    assert!(number(&json["encode"][0]["dispatches"]) > 10.0, "{json}");
    assert!(number(&json["memory"]["device_peak"]) >= number(&json["memory"]["device"]), "{json}");
    assert!(number(&json["memory"]["device"]) >= number(&json["model"]["weight_bytes"]), "{json}");
    assert!(json["device"]["driver"].is_string(), "{json}");
}

#[test]
fn bench_tells_people_in_tables() {
    let short =
        ["--repeats", "1", "--encode", "4", "--source", "4", "--tokens", "3", "--beams", "1", "--batch", "1"];
    for (folder, tables) in [("marian_tied", 3), ("bert", 1), ("gpt2", 2)] {
        let folder = model(folder);
        let arguments = [&["bench", "--device", "cpu", "--model", &folder][..], &short].concat();
        let output = run(&arguments, "");
        let shown = output.succeeds();
        for part in ["device    CPU", "limits    reading ", "start     "] {
            assert!(shown.contains(part), "{part} is not in:\n{shown}");
        }
        assert_eq!(shown.split("\n\n").count(), 1 + tables, "{folder}:\n{shown}");
    }
}

#[test]
fn bench_takes_a_configuration_alone_and_kernels_one_by_one() {
    let config = model("marian_tied") + "/config.json";
    let arguments =
        ["bench", "--config", &config, "--device", "cpu", "--kernels", "--repeats", "1", "--json"];
    let output = run(&arguments, "");
    let json: Value = serde_json::from_str(output.succeeds()).unwrap();
    assert_eq!(json["model"]["random_weights"], true);
    let kernels = json["kernels"].as_array().unwrap();
    for layer in ["qkv", "output", "up", "down", "logits", "whole", "cached", "norm"] {
        let mut cases = kernels.iter().filter(|case| case["layer"] == layer).peekable();
        assert!(cases.peek().is_some(), "no {layer}");
        assert!(
            cases.all(|case| number(&case["variants"][0]["ms"]) >= 0.0 && case["best"] == case["chosen"])
        );
    }
}

#[test]
fn bench_compares_variants_on_a_gpu() {
    let folder = model("marian_tied");
    let output =
        run(&["bench", "--model", &folder, "--device", "gpu", "--kernels", "--repeats", "1", "--json"], "");
    assert_eq!(output.output.status.code(), Some(0), "{}", output.stderr());
    let json: Value = serde_json::from_str(output.stdout()).unwrap();
    for case in json["kernels"].as_array().unwrap() {
        let variants = case["variants"].as_array().unwrap();
        let count = match case["operator"].as_str() {
            Some("linear") => linear::Variant::ALL.len(),
            Some("normalized_linear") => 1 + linear::Variant::SPLIT.len(),
            Some("output_layer") => 1 + linear::Variant::SPLIT.len(),
            // over a cache a row has one query, and there are no tiles
            Some("attention") => attention::Variant::ALL.len() - usize::from(case["layer"] == "cached"),
            _ => 2,
        };
        let on_units =
            |timing: &&Value| timing["variant"].as_str().is_some_and(|name| name.contains("_units_"));
        let units = variants.iter().filter(on_units).count(); // of a GPU that has them
        assert_eq!(variants.len() - units, count, "{case}");
        let time =
            |name: &Value| variants.iter().find(|timing| timing["variant"] == *name).unwrap()["ms"].as_f64();
        let best = time(&case["best"]).unwrap();
        assert!(variants.iter().filter_map(|timing| timing["ms"].as_f64()).all(|ms| ms >= best), "{case}");
        let chosen = time(&case["chosen"]).expect("what is chosen is never too slow to be measured");
        assert!(chosen >= best, "{case}");
    }
}

#[test]
fn bench_writes_a_line_per_workload_and_folder() {
    let folder = scratch("bench-lines");
    for name in ["bert", "marian_tied", "no model"] {
        std::fs::create_dir(folder.join(name)).unwrap();
    }
    for name in ["bert", "marian_tied"] {
        for file in ["config.json", "model.safetensors"] {
            std::fs::copy(format!("{}/{file}", model(name)), folder.join(name).join(file)).unwrap();
        }
    }
    let arguments = [
        "bench",
        "--device",
        "cpu",
        "--repeats",
        "1",
        "--encode",
        "4,8",
        "--source",
        "6",
        "--tokens",
        "3",
        "--beams",
        "1,2",
        "--batch",
        "1,2",
        "--lines",
        text(&folder),
    ];
    let output = run(&arguments, "");
    let lines: Vec<Value> =
        output.succeeds().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shown: Vec<_> = lines
        .iter()
        .map(|line| {
            assert_eq!(line["peer"], "wordloom-cpu");
            let sizes = ["batch", "beam", "src", "tgt"].map(|key| line[key].as_u64().unwrap());
            (line["model"].as_str().unwrap(), line["task"].as_str().unwrap(), sizes)
        })
        .collect();
    let encode = |model, length| (model, "encode", [1, 1, length, 0]);
    let translate = |batch, beam| ("marian_tied", "translate", [batch, beam, 6, 3]);
    assert_eq!(
        shown,
        [
            encode("bert", 4),
            encode("bert", 8),
            encode("marian_tied", 4),
            encode("marian_tied", 8),
            translate(1, 1),
            translate(1, 2),
            translate(2, 1),
            translate(2, 2),
        ]
    );
    for line in &lines {
        assert!(number(&line["ms"]) > 0.0 && number(&line["ms_min"]) > 0.0 && line["reps"] == 1, "{line}");
        assert_eq!(line["tok_s"].is_null(), line["task"] == "encode", "{line}");
    }
}

/// As many launches as are counted without a profile, and no kernel without a time.
#[test]
fn bench_profiles_a_gpu_launch_by_launch() {
    let folder = model("marian_tied");
    let size =
        ["--batch", "2", "--beams", "1", "--tokens", "8", "--source", "8", "--encode", "8", "--repeats", "1"];
    let bench = |options: &[&str]| {
        let arguments =
            [&["bench", "--model", &folder, "--device", "gpu", "--json"], &size[..], options].concat();
        let output = run(&arguments, "");
        assert_eq!(output.output.status.code(), Some(0), "{}", output.stderr());
        serde_json::from_str::<Value>(output.stdout()).unwrap()
    };
    let profile = bench(&["--profile"]);
    let kernels = profile["translations"][0]["kernels"].as_array().unwrap();
    let sum = |key: &str| kernels.iter().map(|kernel| number(&kernel[key])).sum::<f64>();
    let counted = bench(&[]);
    let per_token = number(&counted["decode"][0]["counted_per_token"]["dispatches"]);
    assert!((sum("launches") - 8.0 * per_token).abs() < 0.5, "{per_token} a token, {kernels:?}");
    assert!((sum("share") - 1.0).abs() < 0.01 && kernels.iter().all(|kernel| number(&kernel["ms"]) >= 0.0));
    let programs: Vec<_> = kernels.iter().map(|kernel| kernel["program"].as_str().unwrap()).collect();
    assert!(programs.contains(&"encode") && programs.contains(&"decode step"), "{programs:?}");

    let training = bench(&["--training", "64", "--profile"]);
    assert!(number(&training["tokens_per_second"]) > 0.0, "{training}");
    let kernels = training["kernels"].as_array().unwrap();
    assert!(kernels.iter().any(|kernel| kernel["kernel"] == "adam"), "{kernels:?}");
}

#[test]
fn bench_says_what_it_cannot_measure() {
    run(&["bench", "--profile", "--device", "cpu"], "").fails(2, &["--profile", "--device gpu"]);
    run(&["bench", "--profile", "--kernels"], "").fails(2, &["--profile", "--kernels"]);
    run(&["bench", "--profile", "--layers"], "").fails(2, &["--profile", "--layers"]);
    run(&["bench", "--training", "64", "--weights", "f16"], "").fails(2, &["--training", "f32", "--weights"]);
    let folder = model("marian_tied");
    for option in ["--encode", "--source", "--tokens"] {
        let mut arguments = vec!["bench", "--device", "cpu", "--model", &folder, option, "100000"];
        if option != "--encode" {
            arguments.extend(["--encode", "4"]);
        }
        run(&arguments, "").fails(2, &[option, "100000", "positions"]);
    }
    run(&["bench", "--tokens", "0"], "").fails(2, &["--tokens", "above 0"]);
    run(&["bench", "--lines", ".", "--json"], "").fails(2, &["--lines", "--json"]);
    let empty = scratch("bench-no-models");
    run(&["bench", "--lines", text(&empty)], "").fails(1, &["bench-no-models", "config.json"]);
}

#[test]
fn many_sentences_take_no_more_memory_than_some() {
    let model = model("marian_tied");
    let arguments =
        ["bench", "--model", &model, "--device", "cpu", "--sentences", "2100", "--beams", "1", "--json"];
    let output = run(&arguments, "");
    let json: Value = serde_json::from_str(output.succeeds()).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let sentences: Vec<_> = rows.iter().map(|row| number(&row["sentences"])).collect();
    assert_eq!(sentences, [1000.0, 2000.0, 2100.0]);
    for row in rows {
        assert!(number(&row["sentences_per_second"]) > 0.0 && row["device_bytes"].is_null(), "{row}");
    }
    if cfg!(target_os = "linux") {
        let [first, last] = [0, 2].map(|row: usize| number(&rows[row]["host_peak_bytes"]));
        assert!(last < first + 16e6, "{first} bytes grew to {last}");
    }
}

/// Counts, not times: what a layer needs is the same on every machine.
#[test]
fn bench_layers_counts_and_draws() {
    let folder = scratch("bench-layers");
    let (page, picture) = (folder.join("layers.html"), folder.join("layers.svg"));
    let common = ["bench", "--layers", "--device", "cpu", "--lengths", "64,32", "--widths", "64,128"];
    let run = |more: &[&str]| run(&[&common[..], more].concat(), "");
    let json: Value =
        serde_json::from_str(run(&["--repeats", "1", "--json", "--plot", text(&page)]).succeeds()).unwrap();
    let names: Vec<&str> =
        json["kinds"].as_array().unwrap().iter().map(|kind| kind["name"].as_str().unwrap()).collect();
    let cells = json["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4 * names.len());
    let cell = |kind: &str| {
        let mut all = cells.iter();
        all.find(|cell| cell["kind"] == kind && cell["length"] == 64 && cell["width"] == 128).unwrap()
    };
    // launches, how many wait in turn, steps between positions, multiplications
    let (n, d) = (64.0, 128.0);
    let expected = [
        ("attention", 1, 1, 1, 2.0 * n * n * d),
        ("self-attention", 3, 3, 1, 2.0 * n * n * d + 4.0 * n * d * d),
        ("recurrent", 129, 128, 63, 6.0 * n * d * d + 3.0 * n * d),
        ("convolution", 2, 2, 32, 5.0 * n * d * d),
        ("separable", 2, 2, 32, 5.0 * n * d + n * d * d),
        // weights of 268 MB are in two buffers; their launches do not wait for each other
        ("fully-connected", 2, 1, 1, n * n * d * d),
    ];
    for (kind, launches, chain, path, multiplications) in expected {
        let cell = cell(kind);
        assert_eq!((&cell["launches"], &cell["chain"]), (&launches.into(), &chain.into()), "{kind}");
        assert_eq!(
            (&cell["path"], number(&cell["multiplications"])),
            (&path.into(), multiplications),
            "{kind}"
        );
        assert!(number(&cell["ms"]) > 0.0 && number(&cell["bytes"]) > 4.0 * 2.0 * n * d, "{kind}: {cell}");
    }
    assert_eq!(json["crossings"].as_array().unwrap().len(), 2);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.matches("<svg").count() == 2
            && !page.contains("NaN")
            && !page.replace("linformer", "").contains("inf"),
        "{page}"
    );
    assert!(names.iter().all(|name| page.contains(&format!("<td>{name}</td>"))), "{page}");

    let shown = run(&["--kinds", "attention,recurrent", "--repeats", "1", "--plot", text(&picture)]);
    for part in ["O(n² · d)", "O(n · d²)", "milliseconds, width 128", "63 of n = 64"] {
        assert!(shown.succeeds().contains(part), "{part} is not in:\n{}", shown.stdout());
    }
    assert!(std::fs::read_to_string(picture).unwrap().starts_with("<svg xmlns"));
    // what would take too long is said
    let skipped = run(&["--kinds", "attention", "--limit", "0", "--repeats", "1"]);
    let said = "skipped: attention, width 64, length 64: about";
    assert!(skipped.succeeds().contains(said), "{}", skipped.stdout());
}

/// The kernels of the bench's own layers, and their code for the CPU.
#[test]
fn bench_layers_computes_the_same_on_a_gpu() {
    let sums = |device: &str| -> Vec<(String, f64)> {
        let sizes = ["--lengths", "2,21", "--widths", "18", "--repeats", "1", "--limit", "1000"];
        let run = run(&[&["bench", "--layers", "--json", "--device", device], &sizes[..]].concat(), "");
        assert_eq!(run.output.status.code(), Some(0), "{}", run.stderr());
        let json: Value = serde_json::from_str(run.stdout()).unwrap();
        let cells = json["cells"].as_array().unwrap().iter();
        cells
            .map(|cell| (format!("{} of {}", cell["kind"], cell["length"]), number(&cell["checksum"])))
            .collect()
    };
    for ((cell, cpu), (_, gpu)) in sums("cpu").into_iter().zip(sums("gpu")) {
        assert!((cpu - gpu).abs() < 1e-6 && cpu.abs() > 1e-5, "{cell}: {cpu} on the CPU, {gpu} on a GPU");
    }
}

#[test]
fn bench_layers_refuses_unknown_kinds() {
    let bench = |options: &[&str]| run(&[&["bench", "--device", "cpu"], options].concat(), "");
    bench(&["--layers", "--kinds", "memory"])
        .fails(2, &["\"memory\"", "attention, self-attention, recurrent"]);
    bench(&["--layers", "--widths", "100"]).fails(2, &["--widths: 100", "multiple of 64"]);
    bench(&["--layers", "--lengths", "0"]).fails(2, &["--lengths", "above 0"]);
    bench(&["--layers", "--plot", "layers.png"]).fails(2, &["layers.png", ".html or .svg"]);
    bench(&["--layers", "--kernels"]).fails(2, &["--layers", "--kernels"]);
}
