"""Makes training/curve.json: the losses of 100 steps of Adam by torch, without dropout.

    python make_training_curve.py

Needs torch, transformers and safetensors. The batches are those of training/bart/expected.safetensors, in turn; the
rate is the paper's formula times a factor, with a warm-up. The factor is small enough that correct programs stay near each
other: `perturbed` is the largest change of a loss over four runs whose first weights were multiplied by 1 + 3e-7 · noise.
A model with ReLU would not do: one switches sometimes, and Adam makes a difference of 1e-3 of it.
"""
import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import BartForConditionalGeneration

HERE = Path(__file__).parent
STEPS, FACTOR, WARM_UP, SMOOTHING, PAD = 100, 0.02, 30, 0.1, 1
BATCHES = ["padded", "full", "third"]


def rate(step, d_model):
    return FACTOR * d_model**-0.5 * min(step**-0.5, step * WARM_UP**-1.5)


def losses(dtype, seed=None):
    model = BartForConditionalGeneration.from_pretrained(HERE / "models/bart", dtype=dtype, attn_implementation="eager").train()
    for module in model.modules():
        for name in ("dropout", "attention_dropout", "activation_dropout", "layerdrop"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    if seed is not None:
        torch.manual_seed(seed)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter *= 1 + 3e-7 * torch.randn_like(parameter)
    tensors = load_file(HERE / "training/bart/expected.safetensors")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)
    found = []
    for step in range(1, STEPS + 1):
        name = BATCHES[(step - 1) % 3]
        ids, mask, decoder_ids, labels = (
            tensors[f"{name}.{key}"].long() for key in ("input_ids", "attention_mask", "decoder_input_ids", "labels")
        )
        logits = model(input_ids=ids, attention_mask=mask, decoder_input_ids=decoder_ids).logits
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.param_groups[0]["lr"] = rate(step, model.config.d_model)
        optimizer.step()
        found.append(loss.item())
    return found


if __name__ == "__main__":
    single, double = losses(torch.float32), losses(torch.float64)
    perturbed = max(abs(a - b) for seed in range(4) for a, b in zip(single, losses(torch.float32, seed)))
    print("perturbed:", perturbed)
    print("first, last:", single[0], single[-1], "f32 and f64 differ by", max(abs(a - b) for a, b in zip(single, double)))
    recipe = dict(model="bart", steps=STEPS, lr_factor=FACTOR, warmup=WARM_UP, label_smoothing=SMOOTHING, batches=BATCHES)
    (HERE / "training/curve.json").write_text(json.dumps(dict(recipe=recipe, losses=single, losses_in_f64=double, perturbed=perturbed)) + "\n")
