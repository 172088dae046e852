"""Tokens a second of transformers' `generate` in f16 on a GPU, for docs/performance.md.

    python benches/generate_torch.py configs/shapes/base.json configs/shapes/nllb.json

Random weights, sources of 32 tokens, translations of 32 tokens; `wordloom bench --device gpu --config FILE --weights f16`
measures the same. Needs torch with CUDA, and transformers.
"""
import json
import statistics
import sys
import time

import torch
from transformers import MarianConfig, MarianMTModel

SOURCE = TOKENS = 32
BATCHES = [(1, 1), (16, 1), (64, 1), (256, 1), (1, 4), (64, 4)]
SHAPE = ["vocab_size", "d_model", "activation_function"] + [
    f"{side}_{name}" for side in ("encoder", "decoder") for name in ("layers", "attention_heads", "ffn_dim")
]


def seconds(run, repeats=3):
    """The median after one run to warm up."""
    run()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def limits():
    x = torch.randn(1 << 30, device="cuda", dtype=torch.float16)
    y = torch.empty_like(x)
    print(f"copy, GB/s read and written: {4 * x.numel() / seconds(lambda: y.copy_(x)) / 1e9:.0f}")
    for dtype in (torch.float16, torch.float32):
        a = torch.randn(2048, 2048, device="cuda", dtype=dtype)
        each = seconds(lambda: [a @ a for _ in range(50)]) / 50
        print(f"product of 2048 x 2048, {dtype}: {2 * 2048**3 / each / 1e12:.1f} TFLOP/s")


def measure(path):
    with open(path, encoding="utf-8") as file:
        shape = json.load(file)
    pad = shape["vocab_size"] - 1
    config = MarianConfig(
        **{name: shape[name] for name in SHAPE}, decoder_vocab_size=shape["vocab_size"], max_position_embeddings=1024,
        static_position_embeddings=True, scale_embedding=True, pad_token_id=pad, eos_token_id=0,
        decoder_start_token_id=pad, forced_eos_token_id=None)
    with torch.device("cuda"):
        model = MarianMTModel(config)
    model = model.to(dtype=torch.float16).eval()
    for length in (128, 512):
        ids = torch.randint(1, pad - 1, (1, length), device="cuda")
        encoder = model.get_encoder()
        print(f"{path}: encode {length}: {1e3 * seconds(lambda: encoder(input_ids=ids)):.2f} ms", flush=True)
    for batch, beams in BATCHES:
        ids = torch.randint(1, pad - 1, (batch, SOURCE), device="cuda")
        options = dict(num_beams=beams, min_new_tokens=TOKENS, max_new_tokens=TOKENS, do_sample=False)
        each = seconds(lambda: model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **options))
        print(f"{path}: batch {batch}, {beams} beams: {1e3 * each:.1f} ms, {batch * TOKENS / each:.0f} tokens/s", flush=True)


print(torch.cuda.get_device_name(0), "torch", torch.__version__)
limits()
with torch.no_grad():
    for path in sys.argv[1:]:
        measure(path)
