"""Tokens a second of CTranslate2 on a GPU in f16, for docs/performance.md.

    python benches/generate_ctranslate2.py configs/shapes/base.json configs/shapes/nllb.json [--device cpu --compute-type float32]

Random weights, sources of 32 tokens, translations of 32 tokens; `wordloom bench --device gpu --config FILE --weights f16`
measures the same. Needs ctranslate2, with CUDA and cuBLAS for a GPU.
"""
import argparse
import json
import statistics
import tempfile
import time

import ctranslate2
import numpy as np
from ctranslate2.specs import common_spec, transformer_spec

SOURCE = TOKENS = 32
BATCHES = [(1, 1), (16, 1), (64, 1), (256, 1), (1, 4), (64, 4)]
ACTIVATIONS = {"relu": common_spec.Activation.RELU, "swish": common_spec.Activation.SWISH, "silu": common_spec.Activation.SWISH,
               "gelu": common_spec.Activation.GELU}


def random_weights(spec, shape, rng):
    """Fills every weight of the specification with small numbers."""
    width, vocabulary = shape["d_model"], shape["vocab_size"]
    numbers = lambda *size: (0.02 * rng.standard_normal(size, dtype=np.float32)).astype(np.float16)
    ones = lambda: np.ones(width, dtype=np.float16)

    def linear(layer, inputs, outputs):
        layer.weight, layer.bias = numbers(outputs, inputs), numbers(outputs)

    def norm(layer):
        layer.gamma, layer.beta = ones(), numbers(width)

    def attention(layer, is_self):
        linear(layer.linear[0], width, 3 * width if is_self else width)
        if not is_self:
            linear(layer.linear[1], width, 2 * width)
        linear(layer.linear[-1], width, width)
        norm(layer.layer_norm)

    positions = numbers(1024, width)
    table = numbers(vocabulary, width)
    for side in ("encoder", "decoder"):
        stack, inner = getattr(spec, side), shape[f"{side}_ffn_dim"]
        embeddings = stack.embeddings[0] if side == "encoder" else stack.embeddings
        embeddings.weight = table
        stack.position_encodings.encodings = positions
        if hasattr(stack, "layer_norm"):
            norm(stack.layer_norm)
        for layer in stack.layer:
            attention(layer.self_attention, True)
            if side == "decoder":
                attention(layer.attention, False)
            linear(layer.ffn.linear_0, width, inner)
            linear(layer.ffn.linear_1, inner, width)
            norm(layer.ffn.layer_norm)
    spec.decoder.projection.weight, spec.decoder.projection.bias = table, numbers(vocabulary)


def model_of(shape, folder):
    """Writes a model of the shape."""
    spec = transformer_spec.TransformerSpec.from_config(
        (shape["encoder_layers"], shape["decoder_layers"]), shape["encoder_attention_heads"], pre_norm=False,
        activation=ACTIVATIONS[shape["activation_function"]])
    random_weights(spec, shape, np.random.default_rng(1))
    tokens = ["<unk>", "<s>", "</s>"] + [f"t{index}" for index in range(3, shape["vocab_size"])]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.validate()
    spec.save(folder)


def measure(path, device, compute_type):
    with open(path, encoding="utf-8") as file:
        shape = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        model_of(shape, folder)
        translator = ctranslate2.Translator(folder, device=device, compute_type=compute_type)
    rng = np.random.default_rng(2)
    for batch, beams in BATCHES:
        sources = [[f"t{index}" for index in rng.integers(3, shape["vocab_size"], SOURCE)] for _ in range(batch)]

        def run():
            results = translator.translate_batch(
                sources, beam_size=beams, min_decoding_length=TOKENS, max_decoding_length=TOKENS, max_batch_size=0)
            assert all(len(result.hypotheses[0]) == TOKENS for result in results)

        run()
        times = []
        for _ in range(3):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        each = statistics.median(times)
        print(f"{path}: batch {batch}, {beams} beams: {1e3 * each:.1f} ms, {batch * TOKENS / each:.0f} tokens/s", flush=True)


arguments = argparse.ArgumentParser()
arguments.add_argument("shapes", nargs="+")
arguments.add_argument("--device", default="cuda")
arguments.add_argument("--compute-type", default="float16")
arguments = arguments.parse_args()
print("ctranslate2", ctranslate2.__version__, arguments.device, arguments.compute_type)
for path in arguments.shapes:
    measure(path, arguments.device, arguments.compute_type)
