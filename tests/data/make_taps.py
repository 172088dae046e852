#!/usr/bin/env python3
"""Writes taps/NAME.safetensors: what hooks of torch see inside Hugging Face's classes, under Wordloom's names of taps.

    python make_taps.py        # needs torch, transformers, safetensors, numpy; downloads nothing

The models are those of models/NAME, widened to float64. Scores before the softmax are the inputs of torch's own softmax.
"""
import json
import math
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.numpy import save_file

HERE = Path(__file__).parent
CLASSES = {"marian": "MarianMTModel", "mbart": "MBartForConditionalGeneration", "t5": "T5ForConditionalGeneration"}
# post-norm; pre-norm with embedding norm and final norm; RMS norm, relative bias, gated feed-forward
MODELS = ["marian_tied", "mbart", "t5_gated_untied_bf16"]
SOURCE = [[11, 57, 23, 90, 7], [31, 8, 64, None, None]]  # None: padding
TARGET = [[None, 45, 12, 77], [None, 19, 101, 6]]  # None: the start token
LOWEST = -1e30  # below: masked

torch.set_grad_enabled(False)


class Taps:
    """Collects tensors under names, by hooks."""

    def __init__(self):
        self.tensors = {}

    def out(self, module, name, of=lambda x: x):
        module.register_forward_hook(lambda _, args, y: self.put(name, of(y[0] if isinstance(y, tuple) else y)))

    def into(self, module, name, of=lambda x: x):
        module.register_forward_pre_hook(lambda _, args: self.put(name, of(args[0])))

    def put(self, name, x):
        assert name not in self.tensors, name
        self.tensors[name] = x.detach().double().clone()

    def norm(self, module, place, prefix, rms=False):
        """The parts of a norm; its input is hooked, too."""

        def seen(_, args, y):
            x = args[0].double()
            if rms:
                self.put(f"{place}.{prefix}mean_square", (x * x).mean(-1))
            else:
                self.put(f"{place}.{prefix}mean", x.mean(-1))
                self.put(f"{place}.{prefix}variance", x.var(-1, unbiased=False))
                self.put(f"{place}.{prefix}shift", module.bias)
            self.put(f"{place}.{prefix}scale", module.weight)
            self.put(f"{place}.{prefix}output", y)

        module.register_forward_hook(seen)


def attention(taps, place, modules, heads):
    """Hooks of q, k, v and the output's projection."""

    def by_head(x):
        return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)

    q, k, v, o = modules
    for name, module in [("queries", q), ("keys", k), ("values", v)]:
        taps.out(module, f"{place}.{name}", by_head)
    taps.into(o, f"{place}.context", by_head)
    taps.out(o, f"{place}.output")


def hook_bart(taps, model):
    """Marian and mBART, whose norms stand after and before the blocks."""
    pre = model.config.model_type == "mbart"
    inner = model.model
    for name, stack, heads in [("encoder", inner.encoder, model.config.encoder_attention_heads),
                               ("decoder", inner.decoder, model.config.decoder_attention_heads)]:
        scale = 1.0 if pre else math.sqrt(model.config.d_model)  # mBART's embedding scales itself
        taps.out(stack.embed_tokens, f"{name}.embedding.token", lambda x, scale=scale: x * scale)
        batch = len(SOURCE)
        taps.out(stack.embed_positions, f"{name}.embedding.position",
                 lambda x: x.reshape(-1, x.shape[-2], x.shape[-1]).expand(batch, -1, -1))
        if pre:
            taps.into(stack.layernorm_embedding, f"{name}.embedding.sum")
            taps.norm(stack.layernorm_embedding, f"{name}.embedding", "norm.")
            taps.norm(stack.layer_norm, f"{name}.norm", "")
        else:
            taps.into(stack.layers[0], f"{name}.embedding.sum")
        for index, layer in enumerate(stack.layers):
            blocks = [("self", layer.self_attn, layer.self_attn_layer_norm)]
            if name == "decoder":
                blocks.append(("cross", layer.encoder_attn, layer.encoder_attn_layer_norm))
            for kind, block, norm in blocks:
                place = f"{name}.{index}.{kind}"
                attention(taps, place, [block.q_proj, block.k_proj, block.v_proj, block.out_proj], heads)
                taps.norm(norm, place, "norm.")
                if not pre:
                    taps.into(norm, f"{place}.residual")
            place = f"{name}.{index}.feed_forward"
            taps.into(layer.fc2, f"{place}.inner")
            taps.out(layer.fc2, f"{place}.output")
            taps.norm(layer.final_layer_norm, place, "norm.")
            # the inputs of blocks; in mBART they are the residual sums of the blocks before
            taps.into(layer, f"{name}.{index}.self.input")
            if pre:
                norms = [norm for _, _, norm in blocks] + [layer.final_layer_norm]
                for (kind, _, _), after in zip(blocks, norms[1:]):
                    taps.into(after, f"{name}.{index}.{kind}.residual")
                taps.out(layer, f"{place}.residual")
            else:
                taps.into(layer.final_layer_norm, f"{place}.residual")


def hook_t5(taps, model):
    heads = model.config.num_heads
    for name, stack in [("encoder", model.encoder), ("decoder", model.decoder)]:
        taps.into(stack.block[0], f"{name}.embedding.sum")
        taps.norm(stack.final_layer_norm, f"{name}.norm", "", rms=True)
        for index, block in enumerate(stack.block):
            for layer in block.layer:
                part = type(layer).__name__
                kind = {"T5LayerSelfAttention": "self", "T5LayerCrossAttention": "cross", "T5LayerFF": "feed_forward"}[part]
                place = f"{name}.{index}.{kind}"
                taps.into(layer, f"{place}.input")
                taps.out(layer, f"{place}.residual")
                taps.norm(layer.layer_norm, place, "norm.", rms=True)
                if kind == "feed_forward":
                    taps.into(layer.DenseReluDense.wo, f"{place}.inner")
                    taps.out(layer.DenseReluDense.wo, f"{place}.output")
                else:
                    module = layer.SelfAttention if kind == "self" else layer.EncDecAttention
                    attention(taps, place, [module.q, module.k, module.v, module.o], heads)


def make(name):
    folder = HERE / "models" / name
    config = json.loads((folder / "config.json").read_text())
    cls = getattr(transformers, CLASSES[config["model_type"]])
    model = cls.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager").eval()
    taps = Taps()
    (hook_t5 if config["model_type"] == "t5" else hook_bart)(taps, model)
    pad, start = config["pad_token_id"], config["decoder_start_token_id"]
    ids = torch.tensor([[pad if t is None else t for t in row] for row in SOURCE])
    mask = torch.tensor([[int(t is not None) for t in row] for row in SOURCE])
    target = torch.tensor([[start if t is None else t for t in row] for row in TARGET])

    before, softmax = [], torch.nn.functional.softmax

    def seen(x, *args, **kwargs):
        y = softmax(x, *args, **kwargs)
        before.append((x.detach().double(), y.detach().double()))
        return y

    torch.nn.functional.softmax = seen
    output = model(input_ids=ids, attention_mask=mask, decoder_input_ids=target, use_cache=False)
    torch.nn.functional.softmax = softmax

    layers = len(model.get_encoder().layers if hasattr(model.get_encoder(), "layers") else model.encoder.block)
    decoder = len(model.get_decoder().layers if hasattr(model.get_decoder(), "layers") else model.decoder.block)
    places = [f"encoder.{i}.self" for i in range(layers)]
    places += [f"decoder.{i}.{kind}" for i in range(decoder) for kind in ("self", "cross")]
    assert len(before) == len(places), (len(before), places)
    for place, (scores, weights) in zip(places, before):
        queries, keys = taps.tensors[f"{place}.queries"], taps.tensors[f"{place}.keys"]
        products = queries @ keys.transpose(-1, -2)
        taps.put(f"{place}.products", products)
        taps.put(f"{place}.scores", products if config["model_type"] == "t5" else products / math.sqrt(queries.shape[-1]))
        taps.put(f"{place}.masked_scores", torch.where(scores < LOWEST, -torch.inf, scores))
        taps.put(f"{place}.weights", weights)
    taps.put("encoder.output", output.encoder_last_hidden_state)
    taps.put("logits", output.logits)
    taps.put("log_probabilities", torch.log_softmax(output.logits, -1))

    tensors = {key: np.ascontiguousarray(x.numpy().astype(np.float32)) for key, x in taps.tensors.items()}
    for key, x in [("input_ids", ids), ("attention_mask", mask), ("decoder_input_ids", target)]:
        tensors[key] = x.numpy().astype(np.int32)
    save_file(tensors, HERE / "taps" / f"{name}.safetensors",
              {"torch": torch.__version__, "transformers": transformers.__version__})
    print(name, len(taps.tensors), "taps")


if __name__ == "__main__":
    for model_name in MODELS:
        make(model_name)
