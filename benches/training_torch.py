"""Tokens a second of PyTorch, for docs/performance.md: the default model's shape, Adam, sentences of 6 to 16 tokens.

    python benches/training_torch.py [--threads N] [--bf16] [--device cuda] [--batch-tokens N] [--compile]

With `--bf16`, products of matrices take rounded operands (`torch.autocast`); weights, gradients and moments stay f32.

Needs torch and transformers. `wordloom bench --training N` is Wordloom's side.
"""
import argparse
import random
import time
from pathlib import Path

import torch
from transformers import MarianConfig, MarianMTModel

DROPOUT = 0.1
parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=torch.get_num_threads())
parser.add_argument("--bf16", action="store_true")
parser.add_argument("--device", default="cpu")
parser.add_argument("--batch-tokens", type=int, default=1536, help="target tokens")
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--compile", action="store_true", help="with torch.compile; sentences of 16 tokens only, which it compiles for")
parser.add_argument("--config", default=Path(__file__).parent.parent / "models/tatoeba-en-de/config.json")
options = parser.parse_args()

torch.set_num_threads(options.threads)
torch.manual_seed(0)
config = MarianConfig.from_json_file(options.config)
for name in ("dropout", "attention_dropout", "activation_dropout"):
    if getattr(config, name, 0.0) > 0.0 or name == "dropout":
        setattr(config, name, DROPOUT)
config._attn_implementation = "eager"
model = MarianMTModel(config).float().to(options.device).train()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)


def loss_of(source, decoder, target):
    with torch.autocast(options.device, torch.bfloat16, enabled=options.bf16):
        logits = model(input_ids=source, decoder_input_ids=decoder).logits
    return torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), target.flatten(), label_smoothing=0.1)


if options.compile:
    loss_of = torch.compile(loss_of)


def seconds():
    if options.device != "cpu":
        torch.cuda.synchronize()
    return time.time()


numbers, pad, speeds = random.Random(1), config.pad_token_id, []
for _ in range(options.steps):
    # about equal lengths together, so that nothing is padded
    length = 16 if options.compile else numbers.randint(6, 16)
    count = options.batch_tokens // length
    source, target = (torch.randint(0, pad - 1, (count, length), device=options.device) for _ in range(2))
    decoder = torch.cat([torch.full((count, 1), pad, device=options.device), target[:, :-1]], 1)
    start = seconds()
    loss = loss_of(source, decoder, target)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    speeds.append(count * length / (seconds() - start))
kind = ("bf16" if options.bf16 else "f32") + (", compiled" if options.compile else "")
place = f"{options.threads} threads" if options.device == "cpu" else torch.cuda.get_device_name()
rate = sorted(speeds)[options.steps // 2]
print(f"{kind}, {place}: {rate:.0f} target tokens/s, median of {options.steps} steps of {options.batch_tokens} tokens")
