"""Makes switches/*.safetensors: logits of small models whose torch modules are patched as Wordloom's switches say.

    python make_switches.py            (in tests/data; torch 2.15.0, transformers 5.24.0, safetensors)

A file has the inputs and, under the text of each switch, the first 64 columns of the logits, in float64 rounded to float32. The patches are hooks on the modules
of transformers, and changed weights; no code of Wordloom runs.
"""

import copy
import warnings
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

warnings.filterwarnings("ignore")
HERE = Path(__file__).parent
COLUMNS = 64
# Most that torch's own float32 may differ from float64: without norms, states grow, and float32 says little.
ERROR = 3e-5


class Block:
    """The modules of one block: its first one, its last linear map, its norm, and its projections."""

    def __init__(self, kind, norm, entry, exit, attention=None, project=None):
        self.kind, self.norm, self.entry, self.exit = kind, norm, entry, exit
        self.attention, self.project = attention, project


def separate(attention, names, heads):
    """Writes W_Q := W_K and the like where projections are modules of their own."""
    q, k, o = (getattr(attention, name) for name in names)

    def project(what, head=None):
        with torch.no_grad():
            for name in ["weight", "bias"]:
                tensors = [getattr(linear, name, None) for linear in (q, k)]
                if tensors[0] is None:
                    continue
                width = tensors[0].shape[0] // heads
                if what == "query=key":
                    tensors[0].copy_(tensors[1])
                elif what == "key=query":
                    tensors[1].copy_(tensors[0])
                elif what == "uniform":
                    tensors[0][head * width : (head + 1) * width] = 0
                elif what == "scale":
                    tensors[0].mul_(head)
            if what == "mute":  # what the head gives is not read
                width = o.weight.shape[1] // heads
                o.weight[:, head * width : (head + 1) * width] = 0

    return project


def fused(attention, heads):
    """The same for GPT-2, whose Conv1D stores [inputs, outputs]."""

    def project(what, head=None):
        d_model = attention.c_proj.weight.shape[0]
        width = d_model // heads
        with torch.no_grad():
            for tensor in (attention.c_attn.weight, attention.c_attn.bias):
                q, k = tensor[..., :d_model], tensor[..., d_model : 2 * d_model]
                if what == "query=key":
                    q.copy_(k)
                elif what == "key=query":
                    k.copy_(q)
                elif what == "uniform":
                    q[..., head * width : (head + 1) * width] = 0
                elif what == "scale":
                    q.mul_(head)
            if what == "mute":
                attention.c_proj.weight[head * width : (head + 1) * width] = 0

    return project


def bart_blocks(model, pre_norm):
    """{(stack, layer): blocks}; also Marian's, Pegasus' and mBART's layout."""
    heads = model.config.encoder_attention_heads
    blocks = {}
    for stack, module in [("encoder", model.model.encoder), ("decoder", model.model.decoder)]:
        for index, layer in enumerate(module.layers):
            found = []
            for kind, name in [("self", "self_attn"), ("cross", "encoder_attn")]:
                if not hasattr(layer, name):
                    continue
                attention, norm = getattr(layer, name), getattr(layer, name + "_layer_norm")
                entry = norm if pre_norm else attention
                project = separate(attention, ["q_proj", "k_proj", "out_proj"], heads)
                found.append(Block(kind, norm, entry, attention.out_proj, attention, project))
            norm = layer.final_layer_norm
            found.append(Block("feed-forward", norm, norm if pre_norm else layer.fc1, layer.fc2))
            blocks[stack, index] = found
    ends = {
        stack: [getattr(module, name) for name in ["layernorm_embedding", "layer_norm"] if getattr(module, name, None)]
        for stack, module in [("encoder", model.model.encoder), ("decoder", model.model.decoder)]
    }
    positions = {stack: getattr(model.model, stack).embed_positions.weight for stack in ["encoder", "decoder"]}
    return blocks, ends, positions


def t5_blocks(model):
    heads = model.config.num_heads
    blocks, ends, positions = {}, {}, {}
    for stack in ["encoder", "decoder"]:
        module = getattr(model, stack)
        ends[stack] = [module.final_layer_norm]
        for index, layer in enumerate(module.block):
            found = []
            for part in layer.layer:
                for kind, name in [("self", "SelfAttention"), ("cross", "EncDecAttention")]:
                    if hasattr(part, name):
                        attention = getattr(part, name)
                        project = separate(attention, ["q", "k", "o"], heads)
                        norm = part.layer_norm
                        found.append(Block(kind, norm, norm, attention.o, attention, project))
                if hasattr(part, "DenseReluDense"):
                    found.append(Block("feed-forward", part.layer_norm, part.layer_norm, part.DenseReluDense.wo))
            blocks[stack, index] = found
        positions[stack] = module.block[0].layer[0].SelfAttention.relative_attention_bias.weight
    return blocks, ends, positions


def gpt2_blocks(model):
    heads, blocks = model.config.n_head, {}
    for index, layer in enumerate(model.transformer.h):
        attention = layer.attn
        blocks["decoder", index] = [
            Block("self", layer.ln_1, layer.ln_1, attention.c_proj, attention, fused(attention, heads)),
            Block("feed-forward", layer.ln_2, layer.ln_2, layer.mlp.c_proj),
        ]
    return blocks, {"decoder": [model.transformer.ln_f]}, {"decoder": model.transformer.wpe.weight}


def leave_out_residual(block):
    """The block adds its input; so its last linear map subtracts it first."""
    kept = []

    def before(module, args, kwargs):
        kept[:] = [args[0] if args else kwargs["hidden_states"]]

    block.entry.register_forward_pre_hook(before, with_kwargs=True)
    block.exit.register_forward_hook(lambda module, args, output: output - kept[0])


def switch(model, parts, text):
    """Patches one switch, `encoder.0.self.residual=off` for example; what it does not name is everywhere."""
    blocks, ends, positions = parts
    place, value = text.split("=", 1)
    words = place.split(".")
    stack = words.pop(0) if words[0] in ("encoder", "decoder") else None
    layer = words.pop(0) if words and (words[0] == "*" or words[0].isdigit()) else None
    kind = words.pop(0) if words and words[0] in ("self", "cross", "feed-forward") else None
    part = words[0] if words else "block"
    chosen = [
        block
        for (own_stack, index), found in blocks.items()
        for block in found
        if stack in (None, own_stack) and layer in (None, "*", str(index)) and kind in (None, block.kind)
    ]
    if part == "positions":
        with torch.no_grad():
            for own, table in positions.items():
                if stack in (None, own):
                    table.zero_()
        return
    norms = [norm for own, some in ends.items() for norm in some if stack in (None, own)]
    if part == "norm" and layer is None and kind is None:
        for norm in norms:
            norm.forward = lambda x: x
    for block in chosen:
        if part == "residual":
            leave_out_residual(block)
        elif part == "norm":
            block.norm.forward = lambda x: x
        elif part == "block":
            block.exit.register_forward_hook(lambda module, args, output: output * 0)
        elif block.attention is None:
            continue
        elif part == "scale":
            scale = 1.0 if value == "off" else float(value)
            own = 1.0 if model.config.model_type == "t5" else block.attention.head_dim**-0.5
            block.project("scale", scale / own)  # scores are linear in the queries
        elif part == "head":
            block.project(value, int(words[1]))
        else:
            block.project(f"{part}={value}")


SEQ2SEQ = [
    "residual=off",
    "encoder.0.self.residual=off",
    "decoder.1.cross.residual=off",
    "feed-forward=off",
    "norm=off",
    "norm=off,scale=0.001",
    "encoder.norm=off,scale=0.001",
    "decoder.*.norm=off,scale=0.001",
    "decoder.1.norm=off",
    "positions=off",
    "scale=off",
    "encoder.1.scale=0.05",
    "encoder.0.self.query=key",
    "decoder.0.self.key=query",
    "decoder.1.cross.query=key",
    "encoder.1.self.head.0=mute,decoder.1.cross.head.1=mute",
    "decoder.0.cross.head.0=uniform",
    "decoder.0.self=off,encoder.1.feed-forward=off",
    "decoder.*.cross=off",
    "encoder.0.norm=off,encoder.0.feed-forward.residual=off,decoder.0.self.scale=1,decoder.0.self.head.1=mute",
]
ABSOLUTE = ["encoder.0.self.head.1=uniform,decoder.1.self.head.0=uniform", "decoder.positions=off"]
CAUSAL = [
    "decoder.0.residual=off",
    "decoder.1.feed-forward=off",
    "norm=off",
    "norm=off,scale=0.001",
    "positions=off",
    "scale=off",
    "decoder.0.self.query=key",
    "decoder.1.self.head.0=uniform,decoder.0.self.head.1=mute",
]


def run(own, name, case, inputs, dtype):
    """Logits of the patched model."""
    model = copy.deepcopy(own).to(dtype)
    parts = {"gpt2": gpt2_blocks, "t5_relu_tied": t5_blocks}.get(name, lambda model: bart_blocks(model, name == "mbart"))
    found = parts(model)
    for text in case.split(","):
        switch(model, found, text)
    return model(**inputs).logits[..., :COLUMNS]


def main():
    out = HERE / "switches"
    out.mkdir(exist_ok=True)
    for name in ["marian_tied", "bart", "mbart", "t5_relu_tied", "gpt2"]:
        folder = HERE / "models" / name
        causal = name == "gpt2"
        kind = AutoModelForCausalLM if causal else AutoModelForSeq2SeqLM
        own = kind.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
        generator = torch.Generator().manual_seed(23)
        vocabulary = own.config.vocab_size - 2
        ids = torch.randint(3, vocabulary, (2, 9), generator=generator)
        mask = torch.ones_like(ids)
        inputs = {"input_ids": ids, "attention_mask": mask}
        if not causal:
            mask[1, 6:] = 0
            inputs["decoder_input_ids"] = torch.randint(3, vocabulary, (2, 4), generator=generator)
        tensors = {key: value.to(torch.int32) for key, value in inputs.items()}
        cases = CAUSAL if causal else SEQ2SEQ + (ABSOLUTE if name != "t5_relu_tied" else [])
        with torch.no_grad():
            before = own(**inputs).logits[..., :COLUMNS]
            for case in cases:
                logits, rounded = (run(own, name, case, inputs, dtype) for dtype in (torch.float64, torch.float32))
                error = ((logits - rounded).abs() / (1 + logits.abs())).max().item()
                if error > ERROR:
                    print(f"{name}, {case}: left out, because float32 is off by {error:.1e} here")
                    continue
                assert torch.isfinite(logits).all(), (name, case)
                difference = (logits - before).abs().max().item()
                assert difference > 1e-3 or (name, case) == ("t5_relu_tied", "scale=off"), (name, case, difference)
                tensors[case] = logits.float().contiguous()
        save_file(tensors, out / f"{name}.safetensors")
        print(name, len(cases), "switches")


if __name__ == "__main__":
    main()
