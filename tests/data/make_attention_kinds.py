#!/usr/bin/env python3
"""Write attention_kinds.safetensors: the encoder of models/marian_tied with other kinds of attention, in float64.

    python make_attention_kinds.py

The encoder is written here from the paper's formulas. With full attention it must give what transformers gave, which
models/marian_tied/expected.safetensors has. Then both of its layers have:

    linformer:K  keys and values of a sentence are the nearest matrices of rank K, by numpy's SVD
    additive     the score of a query and a key of a head is the sum of tanh(q + k), times 1/sqrt(d)

Python: numpy, safetensors.
"""
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

FOLDER = Path(__file__).parent
HEADS = 4


def nearest(x, rank):
    u, s, v = np.linalg.svd(x, full_matrices=False)
    assert rank >= len(s) or s[rank] < 0.999 * s[rank - 1], "the subspace is not certain"
    return (u[:, :rank] * s[:rank]) @ v[:rank]


def norm(x, weights, name):
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def linear(x, weights, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def attention(x, weights, name, kind, rank):
    q, k, v = (linear(x, weights, f"{name}.{part}_proj") for part in "qkv")
    if kind == "linformer":
        k, v = nearest(k, rank), nearest(v, rank)
    length, width = x.shape
    q, k, v = (part.reshape(length, HEADS, width // HEADS).swapaxes(0, 1) for part in (q, k, v))
    if kind == "additive":
        scores = np.tanh(q[:, :, None] + k[:, None]).sum(-1)
    else:
        scores = q @ k.swapaxes(1, 2)
    scores = np.exp(scores / np.sqrt(width // HEADS))
    shares = scores / scores.sum(-1, keepdims=True)
    return linear((shares @ v).swapaxes(0, 1).reshape(length, width), weights, f"{name}.out_proj"), shares


def encode(ids, weights, kind, rank=None):
    table = weights["model.shared.weight"]
    width = table.shape[1]
    angles = np.arange(len(ids))[:, None] / 10000 ** (2 * np.arange(width // 2) / width)
    x = table[ids] * np.sqrt(width) + np.concatenate([np.sin(angles), np.cos(angles)], 1)
    all_shares = []
    for layer in range(2):
        name = f"model.encoder.layers.{layer}"
        y, shares = attention(x, weights, f"{name}.self_attn", kind, rank)
        all_shares.append(shares)
        x = norm(x + y, weights, f"{name}.self_attn_layer_norm")
        y = linear(np.maximum(linear(x, weights, f"{name}.fc1"), 0), weights, f"{name}.fc2")
        x = norm(x + y, weights, f"{name}.final_layer_norm")
    return x, all_shares


def main():
    folder = FOLDER / "models/marian_tied"
    weights = {name: tensor.astype(np.float64) for name, tensor in load_file(folder / "model.safetensors").items()}
    stored = load_file(folder / "expected.safetensors")
    ids, mask = stored["main.input_ids"], stored["main.attention_mask"]
    found = {"input_ids": ids, "attention_mask": mask}
    kinds = {"full": ("full", None), "linformer:2": ("linformer", 2), "linformer:5": ("linformer", 5), "additive": ("additive", None)}
    for name, (kind, rank) in kinds.items():
        states = np.zeros((*ids.shape, 64))
        maps = np.zeros((2, len(ids), HEADS, ids.shape[1], ids.shape[1]))
        for row, (tokens, visible) in enumerate(zip(ids, mask)):
            length = visible.sum()
            states[row, :length], shares = encode(tokens[:length], weights, kind, rank)
            maps[:, row, :, :length, :length] = shares
        if kind == "full":
            error = np.abs(states - stored["main.encoder_last_hidden_state"])[mask == 1].max()
            assert error < 1e-5, f"transformers has something else: {error}"
            print(f"full attention: {error:.1e} from transformers")
            continue
        found[f"{name}.encoder_last_hidden_state"] = states.astype(np.float32)
        found[f"{name}.encoder_attentions.1"] = maps[1].astype(np.float32)
    save_file(found, FOLDER / "attention_kinds.safetensors")


if __name__ == "__main__":
    main()
