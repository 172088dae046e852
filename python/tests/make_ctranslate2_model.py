"""Writes `models/tatoeba-en-de` as a model of CTranslate2 4.8.5, with its weights as they are: `make_ctranslate2_model.py FOLDER`.

CTranslate2's own converter begins every translation of a Marian model with a zero instead of the start token's embedding. Most such models
have a zero there; this one does not.
"""

import json
import struct
import sys
from pathlib import Path

import numpy
from ctranslate2.specs import common_spec, transformer_spec

MODEL = Path(__file__).parents[2] / "models" / "tatoeba-en-de"
CONFIG = json.loads((MODEL / "config.json").read_text(encoding="utf-8"))


def read_weights():
    data = (MODEL / "model.safetensors").read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)

    def tensor(entry):
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        kind = {"F16": numpy.float16, "F32": numpy.float32}[entry["dtype"]]
        return numpy.frombuffer(data[begin:end], kind).reshape(entry["shape"]).astype(numpy.float32)

    return {name: tensor(entry) for name, entry in header.items()}


WEIGHTS = read_weights()


def set_linear(spec, *names):
    spec.weight = numpy.concatenate([WEIGHTS[f"{name}.weight"] for name in names])
    spec.bias = numpy.concatenate([WEIGHTS[f"{name}.bias"] for name in names])


def set_norm(spec, name):
    spec.gamma, spec.beta = WEIGHTS[f"{name}.weight"], WEIGHTS[f"{name}.bias"]


def set_attention(spec, name, is_self):
    projections = [f"{name}.{part}_proj" for part in "qkv"]
    if is_self:
        set_linear(spec.linear[0], *projections)
    else:
        set_linear(spec.linear[0], projections[0])
        set_linear(spec.linear[1], *projections[1:])
    set_linear(spec.linear[-1], f"{name}.out_proj")


def positions(count, width):
    """Sines in the first half of the columns, cosines in the second."""
    angles = numpy.arange(count)[:, None] / 10000 ** (2 * numpy.arange(width // 2) / width)
    return numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], axis=1).astype(numpy.float32)


def set_side(spec, side):
    embeddings = spec.embeddings if side == "decoder" else spec.embeddings[0]
    embeddings.weight = WEIGHTS["model.shared.weight"]
    spec.scale_embeddings = CONFIG["scale_embedding"]
    spec.position_encodings.encodings = positions(CONFIG["max_position_embeddings"], CONFIG["d_model"])
    for index, layer in enumerate(spec.layer):
        name = f"model.{side}.layers.{index}"
        set_attention(layer.self_attention, f"{name}.self_attn", True)
        set_norm(layer.self_attention.layer_norm, f"{name}.self_attn_layer_norm")
        if side == "decoder":
            set_attention(layer.attention, f"{name}.encoder_attn", False)
            set_norm(layer.attention.layer_norm, f"{name}.encoder_attn_layer_norm")
        set_linear(layer.ffn.linear_0, f"{name}.fc1")
        set_linear(layer.ffn.linear_1, f"{name}.fc2")
        set_norm(layer.ffn.layer_norm, f"{name}.final_layer_norm")


def main(folder):
    layers = (CONFIG["encoder_layers"], CONFIG["decoder_layers"])
    activation = {"swish": common_spec.Activation.SWISH, "relu": common_spec.Activation.RELU}[CONFIG["activation_function"]]
    spec = transformer_spec.TransformerSpec.from_config(
        layers, CONFIG["encoder_attention_heads"], pre_norm=False, activation=activation, layernorm_embedding=False
    )
    set_side(spec.encoder, "encoder")
    set_side(spec.decoder, "decoder")
    bias = WEIGHTS["final_logits_bias"].reshape(-1).copy()
    bias[CONFIG["pad_token_id"]] = -1e9  # the start token is never generated
    spec.decoder.projection.weight, spec.decoder.projection.bias = WEIGHTS["model.shared.weight"], bias
    ids = json.loads((MODEL / "vocab.json").read_text(encoding="utf-8"))
    pieces = sorted(ids, key=ids.get)
    pieces += [f"<unused {index}>" for index in range(len(pieces), len(bias))]
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = "<s>", "</s>", "<unk>"
    spec.config.decoder_start_token = pieces[CONFIG["decoder_start_token_id"]]
    spec.config.add_source_eos = False
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.validate()
    spec.optimize("float32")
    Path(folder).mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


if __name__ == "__main__":
    main(sys.argv[1])
