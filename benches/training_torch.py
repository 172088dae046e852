"""Tokens a second of PyTorch, for docs/performance.md: the default model, batches of 1,536 target tokens, Adam.

    python benches/training_torch.py THREADS [bf16]

With `bf16`, products of matrices take rounded operands (`torch.autocast`); weights, gradients and moments stay f32.

Needs torch and transformers. `cargo test --release --test speed trains -- --ignored --nocapture` is Wordloom's side.
"""
import random
import sys
import time
from pathlib import Path

import torch
from transformers import MarianMTModel

TOKENS, STEPS, DROPOUT = 1536, 10, 0.1
ROOT = Path(__file__).parent.parent

threads = int(sys.argv[1])
in_bf16 = sys.argv[2:] == ["bf16"]
torch.set_num_threads(threads)
torch.manual_seed(0)
model = MarianMTModel.from_pretrained(ROOT / "models/tatoeba-en-de", dtype=torch.float32, attn_implementation="eager").train()
for module in model.modules():
    if isinstance(getattr(module, "dropout", None), float):
        module.dropout = DROPOUT
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
numbers, pad, speeds = random.Random(1), model.config.pad_token_id, []
for _ in range(STEPS):
    # about equal lengths together, so that nothing is padded
    length = numbers.randint(6, 16)
    count = TOKENS // length
    source, target = (torch.randint(0, pad - 1, (count, length)) for _ in range(2))
    decoder = torch.cat([torch.full((count, 1), pad), target[:, :-1]], 1)
    start = time.time()
    with torch.autocast("cpu", torch.bfloat16, enabled=in_bf16):
        logits = model(input_ids=source, decoder_input_ids=decoder).logits
    loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), target.flatten(), label_smoothing=0.1)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    speeds.append(count * length / (time.time() - start))
print(f"{'bf16' if in_bf16 else 'f32'}, {threads} threads: {sorted(speeds)[STEPS // 2]:.0f} target tokens/s, median of {STEPS} steps")
