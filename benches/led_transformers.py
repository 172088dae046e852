"""Wordloom's encoder and that of transformers over long texts, in one run, for docs/performance.md: LED-base's shape, made-up
weights, windows of 512 tokens on each side, the first token global.

    python benches/led_transformers.py WORDLOOM [THREADS] [LENGTH,LENGTH,...] [ROUNDS]

WORDLOOM is the command, `target/release/wordloom`. Of several rounds the best counts. Each engine has a process of its own for each length, one after the other, so
that each has a peak of memory of its own. Needs torch and transformers, and Linux, which counts the peak.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

CONFIG = dict(
    model_type="led", architectures=["LEDForConditionalGeneration"], vocab_size=50265, d_model=768,
    encoder_layers=6, encoder_attention_heads=12, encoder_ffn_dim=3072, num_hidden_layers=6,
    decoder_layers=6, decoder_attention_heads=12, decoder_ffn_dim=3072,
    attention_window=[1024] * 6, max_encoder_position_embeddings=16384, max_decoder_position_embeddings=1024,
    activation_function="gelu", bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2,
    is_encoder_decoder=True, tie_word_embeddings=True,
)


def peak_bytes():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def run_transformers(length, threads):
    """Prints seconds, processor seconds and peak bytes of the encoder of transformers, after a run to warm up."""
    import torch
    from transformers import LEDConfig, LEDModel

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    own = {key: value for key, value in CONFIG.items() if key not in ("model_type", "architectures")}
    encoder = LEDModel(LEDConfig(**own)).eval().encoder

    def encode(length):
        ids = torch.randint(10, 50000, (1, length))
        first = torch.zeros_like(ids)
        first[0, 0] = 1
        encoder(input_ids=ids, attention_mask=torch.ones_like(ids), global_attention_mask=first)

    with torch.inference_mode():
        encode(1024)
        start, processor = time.time(), time.process_time()
        encode(length)
        print(json.dumps([time.time() - start, time.process_time() - processor, peak_bytes()]))


def measure_transformers(length, threads):
    command = [sys.executable, __file__, "--transformers", str(length), str(threads)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def measure_wordloom(wordloom, config, length, threads):
    command = [wordloom, "bench", "--device", "cpu", "--weights", "f32", "--config", config, "--encode", str(length), "--json"]
    command += ["--tokens", "1", "--source", "8", "--beams", "1", "--batch", "1", "--repeats", "1"]
    environment = dict(os.environ, RAYON_NUM_THREADS=str(threads))
    found = json.loads(subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE).stdout)
    encode = found["encode"][0]
    return [encode["ms"] / 1e3, encode["cpu_ms"] / 1e3, found["memory"]["host_peak"]], found["model"]["weight_bytes"]


def main(wordloom, threads="1", lengths="1024,4096,16384", rounds="1"):
    threads = int(threads)
    from importlib.metadata import version

    print(f"transformers {version('transformers')}, torch {version('torch')}, {threads} threads")
    print("| tokens | Wordloom, s | transformers, s | ratio | Wordloom, cpu s | transformers, cpu s | ratio | Wordloom, peak MB | transformers, peak MB |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "led-base.json")
        with open(config, "w") as file:
            json.dump(CONFIG, file)
        weights = 0
        for length in map(int, lengths.split(",")):
            ours, theirs = [], []
            for _ in range(int(rounds)):
                found, weights = measure_wordloom(wordloom, config, length, threads)
                ours.append(found)
                theirs.append(measure_transformers(length, threads))
            (time_ours, cpu_ours, peak_ours), (time_theirs, cpu_theirs, peak_theirs) = (
                [min(column) for column in zip(*runs)] for runs in (ours, theirs)
            )
            numbers = [time_ours, time_theirs, time_ours / time_theirs, cpu_ours, cpu_theirs, cpu_ours / cpu_theirs]
            cells = [f"{length:,}", *(f"{number:.2f}" for number in numbers), *(f"{peak / 1e6:,.0f}" for peak in (peak_ours, peak_theirs))]
            print(f"| {' | '.join(cells)} |", flush=True)
    print(f"weights: {weights / 1e6:,.0f} MB")


if sys.argv[1] == "--transformers":
    run_transformers(*map(int, sys.argv[2:]))
else:
    main(*sys.argv[1:])
