"""Numbers of `wordloom study` through a model: python make_study_numbers.py > study_numbers.json

(in tests/data; torch 2.15, transformers 5.23, sentencepiece, NumPy 2.4, SciPy 1.17, scikit-learn 1.9)

Marian with random weights (models/marian_tied) in float64 reads the first 20 pairs of tatoeba-test.tsv. Vectors, maps and states come from
hooks of torch; each number is computed from its definition on the pages of docs/studies. No code of Wordloom runs. Each item is a row of a
study's data: the columns by which it is found, and its numbers.
"""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import torch
from scipy.stats import entropy, spearmanr
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from transformers import MarianMTModel, MarianTokenizer

warnings.filterwarnings("ignore")
HERE = Path(__file__).parent
FOLDER = HERE / "models/marian_tied"
model = MarianMTModel.from_pretrained(FOLDER, dtype=torch.float64, attn_implementation="eager").eval()
tokenizer = MarianTokenizer.from_pretrained(FOLDER)
CONFIG = model.config
HEADS, D = CONFIG.encoder_attention_heads, CONFIG.d_model
WIDTH, START, LIMIT = D // HEADS, CONFIG.decoder_start_token_id, CONFIG.max_position_embeddings
rows = []


def emit(study, where, **numbers):
    rows.append({"study": study, "where": where, "numbers": numbers})


def ids_of(source, target):
    return tokenizer(source)["input_ids"], [START] + tokenizer(text_target=target)["input_ids"]


def attentions():
    """Kind, layer, module of each attention."""
    for layer, block in enumerate(model.model.encoder.layers):
        yield "encoder", layer, block.self_attn
    for kind, name in [("decoder", "self_attn"), ("cross", "encoder_attn")]:
        for layer, block in enumerate(model.model.decoder.layers):
            yield kind, layer, getattr(block, name)


def cut(tensor):
    """[1, rows, d_model] as [heads, rows, width]."""
    return tensor[0].detach().numpy().reshape(-1, HEADS, WIDTH).transpose(1, 0, 2)


class Pass:
    """One pass with everything that hooks see."""

    def __init__(self, source, target, mask=None):
        seen, hooks = {}, []
        for kind, layer, module in attentions():
            for name in ["q_proj", "k_proj", "v_proj"]:
                keep = lambda _m, _i, out, at=(kind, layer, name[0]): seen.__setitem__(at, out)
                hooks.append(getattr(module, name).register_forward_hook(keep))
        for layer, block in enumerate(model.model.decoder.layers):
            for name, norm in [("self", block.self_attn_layer_norm), ("cross", block.encoder_attn_layer_norm)]:
                keep = lambda _m, i, out, at=(name, layer): seen.__setitem__(at, (i[0], out))
                hooks.append(norm.register_forward_hook(keep))
        with torch.no_grad():
            self.out = model(
                input_ids=torch.tensor([source]),
                attention_mask=None if mask is None else torch.tensor([mask]),
                decoder_input_ids=torch.tensor([target[:-1]]),
                output_attentions=True,
                output_hidden_states=True,
            )
        for hook in hooks:
            hook.remove()
        self.seen = seen
        weights = [self.out.encoder_attentions, self.out.decoder_attentions, self.out.cross_attentions]
        self.weights = {
            (kind, layer): tensor[0].numpy()
            for kind, all_layers in zip(["encoder", "decoder", "cross"], weights)
            for layer, tensor in enumerate(all_layers)
        }
        self.log_probabilities = torch.log_softmax(self.out.logits[0], -1).numpy()

    def heads(self, kind, layer, what):
        return cut(self.seen[kind, layer, what])

    def of_target(self, target):
        return self.log_probabilities[np.arange(len(target) - 1), target[1:]]


pairs = [line.split("\t") for line in (HERE / "tatoeba-test.tsv").read_text(encoding="utf-8").splitlines()[:20]]
sentences = [ids_of(source, target) for source, target in pairs]
passes = [Pass(source, target) for source, target in sentences]


def loss(source, target):
    return -Pass(source, target).of_target(target).mean()


def summary(values):
    return {"mean": float(np.mean(values)), "deviation": float(np.std(values, ddof=1))}


def scale():
    for kind, layer, _ in attentions():
        for head in range(HEADS):
            products, sides = [], [[], []]
            largest, gradient, uncertainty = [], [], []
            for one in passes:
                q, k = (one.heads(kind, layer, what)[head] for what in "qk")
                sides[0].append(q)
                sides[1].append(k)
                for query, row in enumerate(q @ k.T):
                    row = row[: query + 1] if kind == "decoder" else row
                    products.extend(row)
                    if len(row) < 2:
                        continue
                    both = [np.exp(f * (row - row.max())) for f in [1 / math.sqrt(WIDTH), 1]]
                    both = [powers / powers.sum() for powers in both]
                    largest.append([p.max() for p in both])
                    gradient.append([(p * (1 - p)).sum() / (1 - 1 / len(row)) for p in both])
                    uncertainty.append([entropy(p) / math.log(len(row)) for p in both])
            q, k = (np.concatenate(side) for side in sides)
            independent = q.var(0) * k.var(0) + q.mean(0) ** 2 * k.var(0) + k.mean(0) ** 2 * q.var(0)
            where = {"kind": kind, "layer": layer, "head": head}
            for name, values in [("largest_weight", largest), ("gradient", gradient), ("relative_entropy", uncertainty)]:
                with_it, without = np.mean(values, axis=0)
                emit("scale", where, **{name: with_it, f"{name}_without_scale": without})
            emit("scale", where, pairs=len(products), variance=np.var(products), variance_if_independent=independent.sum())


def ratio(matrix):
    return np.linalg.norm(matrix - matrix.T) / np.linalg.norm(matrix)


def weight(linear, head=None):
    """As `x · W`: [d_model, outputs], of a head or of all."""
    matrix = linear.weight.detach().numpy().T
    return matrix if head is None else matrix[:, head * WIDTH : (head + 1) * WIDTH]


def symmetry():
    for kind, layer, module in attentions():
        for head in range(HEADS if kind != "cross" else 0):
            q, k = weight(module.q_proj, head), weight(module.k_proj, head)
            scores = [
                ratio(one.heads(kind, layer, "q")[head] @ one.heads(kind, layer, "k")[head].T) for one in passes
            ]
            where = {"kind": kind, "layer": layer, "head": head}
            emit("symmetry", where, weights=ratio(q @ k.T), scores=np.mean(scores), shared_weights=ratio(k @ k.T))


def components(matrix):
    variance = np.linalg.svd(matrix, compute_uv=False) ** 2
    return int(np.argmax(np.cumsum(variance) / variance.sum() >= 0.9)) + 1


def projections():
    for kind, layer, module in attentions():
        for head in [*range(HEADS), None]:
            product = weight(module.q_proj, head) @ weight(module.k_proj, head).T
            where = {"kind": kind, "layer": layer, "head": "all" if head is None else head}
            emit("projections", where, components=components(product))


def order():
    whole = [-one.of_target(target).mean() for one, (_, target) in zip(passes, sentences)]
    emit("order", {"what": "loss", "value": "as it is"}, **summary(whole))
    for last in [8, 4, 2]:
        joined = [" ".join(side) for first in range(0, len(pairs) // last * last, last) for side in zip(*pairs[first : first + last])]
        texts = [ids_of(*both) for both in zip(joined[::2], joined[1::2])]
        starts = [last * at for at, (s, t) in enumerate(texts) if len(s) <= LIMIT and len(t) - 1 <= LIMIT][:12]
        if len(starts) >= 2:
            break
    for count in [one for one in [1, 2, 4, 8] if one <= last]:
        losses, tokens = [], []
        for start in starts:
            parts = [pairs[first : first + count] for first in range(start, start + last, count)]
            read = [ids_of(*(" ".join(side) for side in zip(*part))) for part in parts]
            tokens += [len(source) for source, _ in read]
            sums = [(loss(*both) * (len(both[1]) - 1), len(both[1]) - 1) for both in read]
            losses.append(sum(a for a, _ in sums) / sum(b for _, b in sums))
        emit("order", {"what": "loss of joined sentences", "value": count}, **summary(losses))
        emit("order", {"what": "source tokens of joined sentences", "value": count}, mean=np.mean(tokens))
    table = model.model.encoder.embed_positions.weight.detach().numpy()
    for offset in [1, 2, 4, 8, 16, 32]:
        at = [np.arange(first, len(table) - offset, 2) for first in [0, 1]]
        fitted = Ridge(alpha=1e-6).fit(table[at[0]], table[at[0] + offset])
        share = r2_score(table[at[1] + offset], fitted.predict(table[at[1]]), multioutput="variance_weighted")
        emit("order", {"what": "PE(p + k) explained", "value": offset}, mean=share)


def is_sign(id):
    text = tokenizer.convert_ids_to_tokens(id).lstrip("▁")
    return text != "<unk>" and text != "" and not any(c.isalnum() or c.isspace() for c in text)


def roles():
    for layer in range(CONFIG.encoder_layers):
        for head in range(HEADS):
            found = {name: [] for name in ["previous position", "own position", "next position", "two rarest tokens", "mass on the end token"]}
            for one, (source, _) in zip(passes, sentences):
                weights, words = one.weights["encoder", layer][head], list(range(len(source) - 1))
                rarest = sorted((at for at in words if not is_sign(source[at])), key=lambda at: -source[at])[:2]
                most = weights[:-1, :-1].argmax(1)
                for name, offset in [("previous position", -1), ("own position", 0), ("next position", 1)]:
                    found[name].append(np.mean(most - words == offset))
                found["two rarest tokens"].append(np.mean(np.isin(most, rarest)))
                found["mass on the end token"].append(weights[:-1, -1].mean())
            for name, values in found.items():
                emit("roles", {"what": name, "layer": layer, "head": head}, **summary(values))
    for kind, layer, module in attentions():
        if kind != "encoder":
            emit("roles", {"what": f"cost of {kind}, nats", "layer": layer, "head": "all"}, **summary(costs([(module, None)])))


def costs(muted):
    """Rise of the loss of each sentence without these heads."""

    def mute(head):
        def hook(_module, inputs):
            context = inputs[0].clone()
            context[..., slice(None) if head is None else slice(head * WIDTH, (head + 1) * WIDTH)] = 0
            return (context,)

        return hook

    hooks = [module.out_proj.register_forward_pre_hook(mute(head)) for module, head in muted]
    found = [loss(*both) + one.of_target(both[1]).mean() for one, both in zip(passes, sentences)]
    for hook in hooks:
        hook.remove()
    return np.array(found)


def pruning():
    whole = np.array([-one.of_target(target).mean() for one, (_, target) in zip(passes, sentences)])
    for name in ["encoder", "decoder", "cross", "all kinds"]:
        everything = [(module, None) for kind, _, module in attentions() if name in [kind, "all kinds"]]
        for removed, cost in [(0, 0), (HEADS * len(everything), costs(everything))]:
            both = summary(whole + cost)
            emit("pruning", {"heads": name, "removed": removed}, loss=both["mean"], loss_deviation=both["deviation"])
    for kind, layer, module in attentions():
        for head in range(HEADS):
            both = summary(costs([(module, head)]))
            where = {"heads": f"{kind}.{layer}.{head}, increase"}
            emit("pruning", where, loss=both["mean"], loss_deviation=both["deviation"])


def content():
    for kind, layer, _ in attentions():
        if kind == "cross":
            continue
        states = [getattr(one.out, f"{kind}_hidden_states")[layer][0].numpy() for one in passes]
        bottom = [getattr(one.out, f"{kind}_hidden_states")[0][0].numpy() for one in passes]
        outputs = [one.weights[kind, layer] @ one.heads(kind, layer, "v") for one in passes]
        together = [np.concatenate(list(heads), axis=1) for heads in outputs]
        probes = [(head, "input", [heads[head] for heads in outputs], states) for head in range(HEADS)]
        probes += [("all heads", "input", together, states), ("all heads", "embeddings", together, bottom)]
        for name, of, inputs, wanted in probes:
            shares = []
            for part in range(5):
                parts = [[side[at] for at in range(20) if (at % 5 == part) == is_test] for side in [inputs, wanted] for is_test in [False, True]]
                x, test_x, y, test_y = (np.concatenate(one) for one in parts)
                fitted = Ridge(alpha=1e-3 * x.var(0).mean() * len(x)).fit(x, y)
                shares.append(r2_score(test_y, fitted.predict(test_x), multioutput="variance_weighted"))
            both = summary(shares)
            emit("content", {"kind": kind, "layer": layer, "from": name, "of": of}, explained=both["mean"], deviation=both["deviation"])


def size(states):
    return math.sqrt(np.abs(states).sum(0).max() * np.abs(states).sum(1).max())


def apart(states):
    return size(states - states.mean(0))


def collapse():
    layers = [module for kind, _, module in attentions() if kind == "encoder"]

    def attend(module, x):
        after = np.zeros_like(x)
        for head in range(HEADS):
            q, k, v = (x @ weight(getattr(module, name), head) for name in ["q_proj", "k_proj", "v_proj"])
            powers = np.exp(q @ k.T / math.sqrt(WIDTH))
            output = weight(module.out_proj)[head * WIDTH : (head + 1) * WIDTH]
            after += powers / powers.sum(1, keepdims=True) @ v @ output
        return after

    def beta(module, head):
        scores = weight(module.q_proj, head) @ weight(module.k_proj, head).T
        values = weight(module.v_proj, head) @ weight(module.out_proj)[head * WIDTH : (head + 1) * WIDTH]
        return np.abs(scores).sum(0).max() * size(values)

    largest = max(beta(module, head) for module in layers for head in range(HEADS))
    for number, one in enumerate(passes):
        states = [layer[0].numpy() for layer in one.out.encoder_hidden_states]
        for depth, state in enumerate(states):
            emit("collapse", {"sentence": number, "path": "whole model", "layers": depth}, relative_distance=apart(state) / size(state))
        alone, skips = states[0], states[0]
        first = math.log10(apart(alone))
        for depth in range(len(layers) + 1):
            power = 3**depth
            bound = (power - 1) / 2 * math.log10(4 * largest * HEADS / math.sqrt(WIDTH)) + power * first
            where = {"sentence": number, "path": "attention alone", "layers": depth}
            emit("collapse", where, relative_distance=apart(alone) / size(alone), log10_distance=math.log10(apart(alone)), log10_bound=bound)
            where = {"sentence": number, "path": "with skips", "layers": depth}
            emit("collapse", where, relative_distance=apart(skips) / size(skips))
            module = layers[depth % len(layers)]
            alone, skips = attend(module, alone), skips + attend(module, skips)


def explanation():
    lines = (HERE / "../../cli/data/alignments-en-de.txt").read_text(encoding="utf-8").splitlines()
    for line in (line for line in lines if line and not line.startswith("#")):
        source_text, target_text, _ = (part.strip() for part in line.split("|||"))
        source, target = ids_of(source_text, target_text)
        one = Pass(source, target)
        # how far the state after the block turns if the values of a token are zeros: mean over layers
        zeroed = np.zeros((len(target) - 1, len(source)))
        for layer, block in enumerate(model.model.decoder.layers):
            module = block.encoder_attn
            before, after = (tensor[0].detach() for tensor in one.seen["cross", layer])
            weights, v = one.weights["cross", layer], one.heads("cross", layer, "v")
            for key in range(len(source)):
                lost = np.concatenate([np.outer(weights[head][:, key], v[head][key]) for head in range(HEADS)], axis=1)
                changed = block.encoder_attn_layer_norm(before - torch.tensor(lost @ weight(module.out_proj)))
                cosine = torch.nn.functional.cosine_similarity(after, changed, dim=-1)
                zeroed[:, key] += (1 - cosine).detach().numpy() / CONFIG.decoder_layers
        masked = np.zeros_like(zeroed)
        for key in range(len(source)):
            mask = [int(at != key) for at in range(len(source))]
            masked[:, key] = one.of_target(target) - Pass(source, target, mask).of_target(target)
        # the end token has no text
        correlations = [spearmanr(a[:-1], b[:-1]).statistic for a, b in zip(zeroed, masked)]
        emit("explanation", {"sentence": source_text}, value_zeroing_occlusion=np.mean(correlations))


for study in [scale, symmetry, projections, order, roles, pruning, content, collapse, explanation]:
    study()
for row in rows:
    row["numbers"] = {name: float(f"{float(value):.9g}") for name, value in row["numbers"].items()}
print("[" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "]")
