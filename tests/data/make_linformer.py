#!/usr/bin/env python3
"""Write linformer.safetensors: models/marian_tied with learned projections of keys and values, by torch in float64.

    python make_linformer.py

Each head of an encoder's layer computes softmax(Q (E K)^T / sqrt(d)) F V (Wang et al. 2020, "Linformer", equation 7), with E and F of
RANK rows for each layer, shared by its heads. A sentence of n tokens takes the first n columns of E and F; one of RANK tokens or
fewer keeps its own keys and values, which is full attention. All else is transformers' MarianMTModel. The batches are those of
training/marian_tied/expected.safetensors.

Python: torch, transformers, safetensors.
"""
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import MarianMTModel

HERE = Path(__file__).parent
RANK, SMOOTHING = 4, 0.1
STORED = ["q_proj.weight", "k_proj.weight", "v_proj.weight", "k_proj.bias", "out_proj.weight"]


def attention(module, factors, mask):
    """The forward of an encoder's attention; `mask`: [batch, length]."""
    heads, width = module.num_heads, module.head_dim

    def forward(hidden_states, *_, **__):
        batch, length, _ = hidden_states.shape
        queries, keys, values = (part(hidden_states) for part in (module.q_proj, module.k_proj, module.v_proj))
        rows = []
        for sentence in range(batch):
            count = int(mask[sentence].sum())
            pair = [keys[sentence, :count], values[sentence, :count]]
            if count > RANK:
                pair = [factor[:, :count] @ part for factor, part in zip(factors, pair)]
            q, k, v = (part.reshape(len(part), heads, width).transpose(0, 1) for part in (queries[sentence], *pair))
            weights = torch.softmax(q @ k.transpose(1, 2) / width**0.5, -1)
            rows.append((weights @ v).transpose(0, 1).reshape(length, heads * width))
        return module.out_proj(torch.stack(rows)), None

    return forward


def main():
    model = MarianMTModel.from_pretrained(HERE / "models/marian_tied", dtype=torch.float64).eval()
    tensors = load_file(HERE / "training/marian_tied/expected.safetensors")
    torch.manual_seed(1)
    positions = model.config.max_position_embeddings
    layers = model.model.encoder.layers
    factors = {}
    for layer in range(len(layers)):
        for part in ("keys", "values"):
            drawn = (torch.randn(RANK, positions) / 2).double()
            factors[f"model.encoder.layers.{layer}.self_attn.linformer_{part}"] = drawn.requires_grad_()
    found = {name: factor.detach().float() for name, factor in factors.items()}
    for batch in ("padded", "full"):
        ids, mask, decoder_ids, labels = (
            tensors[f"{batch}.{key}"].long() for key in ("input_ids", "attention_mask", "decoder_input_ids", "labels")
        )
        for layer, block in enumerate(layers):
            own = [factors[f"model.encoder.layers.{layer}.self_attn.linformer_{part}"] for part in ("keys", "values")]
            block.self_attn.forward = attention(block.self_attn, own, mask)
        output = model(input_ids=ids, attention_mask=mask, decoder_input_ids=decoder_ids)
        loss = torch.nn.functional.cross_entropy(
            output.logits.flatten(0, 1), labels.flatten(), ignore_index=model.config.pad_token_id, label_smoothing=SMOOTHING
        )
        model.zero_grad()
        for factor in factors.values():
            factor.grad = None
        loss.backward()
        # states of padding are nobody's
        found[f"{batch}.states"] = (output.encoder_last_hidden_state * mask[..., None]).detach().float()
        found[f"{batch}.logits"] = output.logits.detach().float()
        found[f"{batch}.loss"] = loss.detach().float()[None]
        for name, factor in factors.items():
            found[f"{batch}.grad.{name}"] = factor.grad.float()
        for name, parameter in model.named_parameters():
            if "encoder.layers.0.self_attn." in name and any(name.endswith(part) for part in STORED):
                found[f"{batch}.grad.{name}"] = parameter.grad.float()
    save_file({name: tensor.contiguous() for name, tensor in found.items()}, HERE / "linformer.safetensors")


if __name__ == "__main__":
    main()
