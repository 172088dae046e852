"""A small student of Firefox's kind with random weights, and its results by the formulas, in float64.

    python reference.py ../models/firefox

Needs numpy and safetensors; the searches are those of `../make_fixtures.py`, which needs torch and transformers. The
formulas are those of Marian (mozilla/translations, inference/marian-fork): models/transformer.h, rnn/cells.h (SSRU),
layers/generic.h, graph/node_initializers.cpp (positions). No code of Wordloom is used.
"""
import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

sys.path.append(str(Path(__file__).resolve().parent.parent))
from make_fixtures import log_softmax64, ref_generate  # noqa: E402

D, HEADS, ENC, DEC, FFN, VOCABULARY, EOS, UNK = 32, 4, 2, 2, 48, 200, 0, 1

CONFIG = {
    "model_type": "firefox",
    "type": "transformer",
    "dim-emb": D,
    "dim-vocabs": [VOCABULARY, VOCABULARY],
    "enc-depth": ENC,
    "dec-depth": DEC,
    "dec-cell": "ssru",
    "transformer-decoder-autoreg": "rnn",
    "transformer-dim-ffn": FFN,
    "transformer-ffn-activation": "relu",
    "transformer-ffn-depth": 2,
    "transformer-heads": HEADS,
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-postprocess-emb": "d",
    "transformer-postprocess-top": "",
    "transformer-tied-layers": [],
    "tied-embeddings-all": True,
    "tied-embeddings": False,
    "output-omit-bias": False,
}


def make_weights(rng):
    w = {}

    def matrix(name, rows, columns, factor=1.0):
        w[name] = (rng.standard_normal((rows, columns)) * factor * np.sqrt(2.0 / (rows + columns))).astype(np.float32)

    def bias(name, columns, size=0.1):
        w[name] = (rng.standard_normal((1, columns)) * size).astype(np.float32)

    def norm(place):
        w[f"{place}_ln_scale"] = (1 + 0.1 * rng.standard_normal((1, D))).astype(np.float32)
        bias(f"{place}_ln_bias", D)

    def attention(place):
        for letter in "qkvo":
            matrix(f"{place}_W{letter}", D, D, 1.5)
            bias(f"{place}_b{letter}", D)
        norm(f"{place}_Wo")

    def feed_forward(place):
        matrix(f"{place}_W1", D, FFN)
        bias(f"{place}_b1", FFN)
        matrix(f"{place}_W2", FFN, D)
        bias(f"{place}_b2", D)
        norm(f"{place}_ffn")

    w["Wemb"] = (rng.standard_normal((VOCABULARY, D)) / np.sqrt(D)).astype(np.float32)
    for layer in range(1, ENC + 1):
        attention(f"encoder_l{layer}_self")
        feed_forward(f"encoder_l{layer}_ffn")
    for layer in range(1, DEC + 1):
        matrix(f"decoder_l{layer}_rnn_W", D, D, 1.5)
        matrix(f"decoder_l{layer}_rnn_Wf", D, D)
        bias(f"decoder_l{layer}_rnn_bf", D, 0.5)
        norm(f"decoder_l{layer}_rnn_ffn")
        attention(f"decoder_l{layer}_context")
        feed_forward(f"decoder_l{layer}_ffn")
    bias("decoder_ff_logit_out_b", VOCABULARY, 0.3)
    w["decoder_ff_logit_out_b"][0, EOS] += 1.2
    return w


class Close(Exception):
    """A search decides by less than f32 can tell."""


class Student:
    def __init__(self, weights):
        self.w = {name: value.astype(np.float64) for name, value in weights.items()}

    def positions(self, length):
        half = D // 2
        step = np.log(10000.0) / (half - 1)
        angles = np.arange(length)[:, None] * np.exp(-step * np.arange(half))[None]
        return np.concatenate([np.sin(angles), np.cos(angles)], 1)

    def norm(self, place, x):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return self.w[f"{place}_ln_scale"] * (x - mean) / np.sqrt(variance + 1e-6) + self.w[f"{place}_ln_bias"]

    def affine(self, x, weight, bias):
        return x @ self.w[weight] + self.w[bias]

    def attention(self, place, x, keys, mask):
        """Returns the block's result and the weights, [heads, queries, keys]."""
        split = lambda y: y.reshape(len(y), HEADS, D // HEADS).transpose(1, 0, 2)
        q, k, v = (split(self.affine(y, f"{place}_W{i}", f"{place}_b{i}")) for i, y in zip("qkv", (x, keys, keys)))
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(D // HEADS)
        scores = np.where(mask[None, None] == 1, scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        joined = (weights @ v).transpose(1, 0, 2).reshape(len(x), D)
        return self.norm(f"{place}_Wo", self.affine(joined, f"{place}_Wo", f"{place}_bo") + x), weights

    def feed_forward(self, place, x):
        hidden = np.maximum(self.affine(x, f"{place}_W1", f"{place}_b1"), 0)
        return self.norm(f"{place}_ffn", self.affine(hidden, f"{place}_W2", f"{place}_b2") + x)

    def encode(self, ids, mask):
        x = np.sqrt(D) * self.w["Wemb"][ids] + self.positions(len(ids))
        states, maps = [x], []
        for layer in range(1, ENC + 1):
            x, weights = self.attention(f"encoder_l{layer}_self", x, x, mask)
            x = self.feed_forward(f"encoder_l{layer}_ffn", x)
            states.append(x)
            maps.append(weights)
        return x, states, maps

    def decode(self, ids, memory, mask):
        """`ids` begin with a start token, whose embedding is zero."""
        embeddings = np.sqrt(D) * self.w["Wemb"][ids]
        embeddings[0] = 0
        x = embeddings + self.positions(len(ids))
        states, maps = [x], []
        for layer in range(1, DEC + 1):
            place = f"decoder_l{layer}"
            content = x @ self.w[f"{place}_rnn_W"]
            forget = 1 / (1 + np.exp(-self.affine(x, f"{place}_rnn_Wf", f"{place}_rnn_bf")))
            cell, outputs = np.zeros(D), []
            for f, c in zip(forget, content):
                cell = f * cell + (1 - f) * c
                outputs.append(np.maximum(cell, 0))
            x = self.norm(f"{place}_rnn_ffn", np.array(outputs) + x)
            x, weights = self.attention(f"{place}_context", x, memory, mask)
            x = self.feed_forward(f"{place}_ffn", x)
            states.append(x)
            maps.append(weights)
        return x @ self.w["Wemb"].T + self.w["decoder_ff_logit_out_b"], states, maps


def forward(student, ids, mask, targets):
    out = {}
    for i, (source, seen, target) in enumerate(zip(ids, mask, targets)):
        memory, states, maps = student.encode(source, seen)
        logits, decoder_states, crossing = student.decode(target, memory, seen)
        one = {"encoder_last_hidden_state": memory, "logits": logits}
        for name, tensors in [
            ("encoder_hidden_states", states),
            ("decoder_hidden_states", decoder_states),
            ("encoder_attentions", maps),
            ("cross_attentions", crossing),
        ]:
            one.update({f"{name}.{layer}": tensor for layer, tensor in enumerate(tensors)})
        for name, tensor in one.items():
            out.setdefault(name, []).append(tensor)
    return {name: np.stack(tensors).astype(np.float32) for name, tensors in out.items()}


def search(student, ids, mask, kwargs, columns=None):
    options = {"num_beams": 1, "eos_token_id": EOS, "pad_token_id": EOS, "bad_words_ids": [[UNK]], "min_length": 0,
               "no_repeat_ngram_size": 0, "repetition_penalty": 1.0, "renormalize_logits": False} | kwargs
    sequences, scores, gaps = [], [], []
    for i, (source, seen) in enumerate(zip(ids, mask)):
        source, seen = source[seen == 1], seen[seen == 1]
        memory, _, _ = student.encode(source, seen)

        def step(histories):
            logits = np.array([student.decode(history, memory, seen)[0][-1] for history in histories])
            if columns is not None:
                outside = np.ones(VOCABULARY, bool)
                outside[columns[i]] = False
                logits[:, outside] = -np.inf
            return logits

        found, gap = ref_generate(step, [EOS], options)
        gaps.append(gap)
        for sequence, score in found[: options.get("num_return_sequences", 1)]:
            sequences.append([int(token) for token in sequence])
            scores.append(float(score))
    if min(gaps) < 1e-4:
        raise Close(f"a search hangs on {min(gaps)}")
    key = "sequences_scores" if options["num_beams"] > 1 else "sum_logprob"
    return {"sequences": sequences, key: scores, "min_margin": float(min(gaps))}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(19, 99):
        try:
            return make(folder, np.random.default_rng(seed))
        except Close as close:
            print(f"seed {seed}: {close}")


def make(folder, rng):
    weights = make_weights(rng)
    student = Student(weights)
    # vectors with one axis, as Wordloom reads them from Marian's files, too
    save_file({name: w[0] if len(w) == 1 else w for name, w in weights.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")

    tensors = {}
    for name, batch, length, target in [("main", 4, 12, 10), ("src1", 1, 1, 10), ("srcmax", 1, 64, 4)]:
        ids = rng.integers(2, VOCABULARY, (batch, length))
        mask = np.ones((batch, length), int)
        if name == "main":
            for row, short in enumerate([0, 3, 7, 1]):
                mask[row, length - short:] = 0
        lengths = mask.sum(1)
        ids[np.arange(batch), lengths - 1] = EOS
        ids = np.where(mask == 1, ids, EOS)
        targets = rng.integers(2, VOCABULARY, (batch, target))
        targets[:, 0] = EOS
        inputs = {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": targets}
        tensors.update({f"{name}.{key}": value.astype(np.int32) for key, value in inputs.items()})
        results = forward(student, ids, mask, targets)
        kept = results if name == "main" else {"logits", "encoder_last_hidden_state"}
        tensors.update({f"{name}.{key}": results[key] for key in kept})
        if name == "main":
            searched = ids, mask
    save_file(tensors, folder / "expected.safetensors")

    cases = [
        ("greedy", {"max_length": 24}),
        ("greedy_repetition", {"max_length": 16, "repetition_penalty": 1.3, "min_length": 6}),
        ("beam4", {"num_beams": 4, "max_length": 20}),
        ("beam4_n_best", {"num_beams": 4, "num_return_sequences": 4, "max_length": 14, "length_penalty": 0.6}),
        ("beam3_no_repeat", {"num_beams": 3, "max_length": 18, "no_repeat_ngram_size": 2, "early_stopping": True}),
    ]
    ids, mask = searched
    expected = {"name": "firefox", "cases": [], "shortlists": []}
    for name, kwargs in cases:
        kwargs = {"num_beams": 1} | kwargs
        expected["cases"].append(
            {"name": name, "input": "main", "generate_kwargs": kwargs} | search(student, ids, mask, kwargs))
    # lists of different lengths; the second is longer than a panel of the GPU
    columns = [np.unique(np.concatenate([[EOS, UNK], rng.integers(2, VOCABULARY, count)])) for count in (30, 150, 7, 62)]
    for name, kwargs in cases:
        kwargs = {"num_beams": 1} | kwargs
        expected["shortlists"].append(
            {"name": name, "input": "main", "generate_kwargs": kwargs, "columns": [list(map(int, c)) for c in columns]}
            | search(student, ids, mask, kwargs, columns))
    (folder / "expected.json").write_text(json.dumps(expected) + "\n")
    for case in expected["cases"] + expected["shortlists"]:
        print(case["name"], [len(sequence) for sequence in case["sequences"]], case["min_margin"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
