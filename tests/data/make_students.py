"""Writes students in the format of Firefox's translation models, with random weights.

    python make_students.py fixtures OUT        the fixtures of tests/data/firefox, without expected.json
    python make_students.py full OUT SHAPE VOCAB.spm [LEX.bin]
                                                a full-size student over a real vocabulary; SHAPE: small, tiny,
                                                base-memory, base, base-2048

Needs numpy, and sentencepiece for `fixtures`. The same arguments give the same bytes.

Weights are normal, and are stored in 8 bits as marian-conv does: `byte = round(weight * 127 / max |weight|)`. One thing
differs from a trained model. The engine's WebAssembly build adds two products of 8 bits in 16 bits, with saturation.
Which sums saturate depends on the processor (builds with VNNI never do), so these weights are limited to sums that do
not: neighbours along a matrix product's inner axis have |a| + |b| <= 129.
"""

import gzip
import struct
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
FLOAT32, INT8, INTGEMM8 = 0x0404, 0x0101, 0x4101

#         width, encoder, decoder, inner, heads
SHAPES = {
    "small": (64, 2, 2, 128, 8),
    "tiny": (256, 6, 2, 1536, 8),
    "base-memory": (384, 6, 4, 1536, 8),
    "base": (512, 6, 2, 2048, 8),
    "base-1536": (512, 6, 2, 1536, 8),
}


def options(shape, vocabularies):
    """The options as the real metadata of the English-German tiny student lists them."""
    width, encoder, decoder, inner, heads = shape
    joint = len(vocabularies) == 1
    source, target = vocabularies[0], vocabularies[-1]
    lines = {
        "bert-train-type-embeddings": "true",
        "bert-type-vocab-size": 2,
        "dec-cell": "ssru",
        "dec-cell-base-depth": 2,
        "dec-cell-high-depth": 1,
        "dec-depth": decoder,
        "dim-emb": width,
        "dim-rnn": 1024,
        "dim-vocabs": f"\n  - {source}\n  - {target}",
        "enc-cell": "gru",
        "enc-cell-depth": 1,
        "enc-depth": encoder,
        "enc-type": "bidirectional",
        "input-types": "\n  []",
        "layer-normalization": "false",
        "lemma-dim-emb": 0,
        "output-omit-bias": "false",
        "right-left": "false",
        "skip": "false",
        "tied-embeddings": "false" if joint else "true",
        "tied-embeddings-all": "true" if joint else "false",
        "tied-embeddings-src": "false",
        "transformer-aan-activation": "swish",
        "transformer-aan-depth": 2,
        "transformer-aan-nogate": "false",
        "transformer-decoder-autoreg": "rnn",
        "transformer-dim-aan": 2048,
        "transformer-dim-ffn": inner,
        "transformer-ffn-activation": "relu",
        "transformer-ffn-depth": 2,
        "transformer-guided-alignment-layer": "last",
        "transformer-heads": heads,
        "transformer-no-projection": "false",
        "transformer-pool": "false",
        "transformer-postprocess": "dan",
        "transformer-postprocess-emb": "d",
        "transformer-postprocess-top": '""',
        "transformer-preprocess": '""',
        "transformer-tied-layers": "\n  []",
        "transformer-train-position-embeddings": "false",
        "type": "transformer",
        "ulr": "false",
        "ulr-dim-emb": 0,
        "ulr-trainable-transformation": "false",
        "version": "v1.9.56 dad4d50 2021-06-28 12:10:40 +0100",
    }
    text = "".join(f"{key}:{'' if str(value).startswith(chr(10)) else ' '}{value}\n" for key, value in lines.items())
    return text.rstrip("\n").encode() + b"\0"


class Matrix:
    """A matrix as Marian has it, [inputs, outputs], or a table [tokens, width]; in 8 bits."""

    def __init__(self, values, is_table):
        self.is_table = is_table
        inner = values if is_table else values.T  # the inner axis of the product is the last
        inner = inner.copy()
        top = np.abs(inner).max()
        # one value of 127, all others at most 64: no sum of neighbours exceeds 129
        limit = top / 127 * 64
        inner = np.clip(inner, -limit, limit)
        row, column = divmod(int(np.abs(inner).argmax()), inner.shape[1])
        inner[row, column ^ 1] = 0
        inner[row, column] = top
        self.multiplier = np.float32(127) / np.float32(top)
        self.bytes = np.rint(inner.astype(np.float32) * self.multiplier).astype(np.int8)
        assert (np.abs(self.bytes.astype(int)).reshape(-1, 2).sum(1) <= 129).all()

    def floats(self):
        """The 8-bit values as f32, [inputs, outputs] or [tokens, width]."""
        values = self.bytes.astype(np.float32) * (np.float32(1) / self.multiplier)
        return values if self.is_table else np.ascontiguousarray(values.T)

    def shape(self):
        return self.bytes.shape if self.is_table else self.bytes.shape[::-1]


def weights(shape, vocabularies, seed, end=8.5):
    """Items by name: matrices, and vectors as f32.

    `end` is the bias of the end token. The decoder's blocks have large outputs, so that little of a step's own token is left at the top. Otherwise the tied
    table would make most steps repeat their token.
    """
    width, encoder, decoder, inner, heads = shape
    random = np.random.default_rng(seed)
    items = {}

    def normal(rows, columns, deviation):
        return random.normal(0, deviation, (rows, columns)).astype(np.float32)

    def vector(name, size, mean=0.0, deviation=0.1):
        items[name] = random.normal(mean, deviation, size).astype(np.float32)

    def matrix(name, inputs, outputs, gain=1.0):
        items[name] = Matrix(normal(inputs, outputs, gain / inputs**0.5), False)

    def norm(name):
        vector(f"{name}_ln_scale", width, 1.0)
        vector(f"{name}_ln_bias", width)

    def attention(name, gain=1.0):
        for part in "qkvo":
            matrix(f"{name}_W{part}", width, width, {"q": 2.0, "k": 2.0, "v": 1.0, "o": gain}[part])
            vector(f"{name}_b{part}", width)
        norm(f"{name}_Wo")

    def feed_forward(name, gain=1.0):
        matrix(f"{name}_W1", width, inner)
        vector(f"{name}_b1", inner)
        matrix(f"{name}_W2", inner, width, 1.4 * gain)
        vector(f"{name}_b2", width)
        norm(f"{name}_ffn")

    tables = ["Wemb"] if len(vocabularies) == 1 else ["encoder_Wemb", "decoder_Wemb"]
    for name, size in zip(tables, vocabularies):
        items[name] = Matrix(normal(size, width, 2.5 / width**0.5), True)
    for layer in range(1, encoder + 1):
        attention(f"encoder_l{layer}_self")
        feed_forward(f"encoder_l{layer}_ffn")
    for layer in range(1, decoder + 1):
        name = f"decoder_l{layer}_rnn"
        matrix(f"{name}_W", width, width, 6.0)
        matrix(f"{name}_Wf", width, width)
        vector(f"{name}_bf", width)
        norm(f"{name}_ffn")
        attention(f"decoder_l{layer}_context", 6.0)
        feed_forward(f"decoder_l{layer}_ffn", 3.0)
    vector("decoder_ff_logit_out_b", vocabularies[-1], 0.0, 0.5)
    items["decoder_ff_logit_out_b"][0] = end  # some sentences should end
    # static scales of the inputs: 127 / (the largest absolute value of an average run)
    alphas = {}
    for name, item in items.items():
        if isinstance(item, Matrix) and name not in ("encoder_Wemb",):
            top = 2.5 if name.endswith("_Wo") else 6.0 if name.endswith("_W2") else 4.5
            alphas[name] = np.float32(127 / (top * random.uniform(0.9, 1.1)))
    alphas["none"] = alphas.get("Wemb", alphas.get("decoder_Wemb"))
    return items, alphas


def binary(items, alphas, model_options, kind):
    """Marian's binary; `kind`: "alphas", "intgemm8" or "float32"."""
    entries = []
    for name, item in items.items():
        if isinstance(item, np.ndarray):
            entries.append((name, FLOAT32, (1, item.size), item.astype("<f4").tobytes()))
        elif kind == "float32":
            entries.append((name, FLOAT32, item.shape(), item.floats().astype("<f4").tobytes()))
        else:
            data = item.bytes.tobytes() + struct.pack("<f", item.multiplier)
            entries.append((name, INTGEMM8, item.shape(), data))
    if kind == "alphas":
        entries += [(f"{name}_QuantMultA", FLOAT32, (1, 1), struct.pack("<f", alpha)) for name, alpha in alphas.items()]
    entries.sort()  # marian-conv walks through a sorted map
    # data of parameters is padded to 256 bytes
    entries = [(name, code, shape, data + bytes(-len(data) % 256)) for name, code, shape, data in entries]
    entries.append(("special:model.yml", INT8, (len(model_options),), model_options))
    head = struct.pack("<QQ", 1, len(entries))
    for name, code, shape, data in entries:
        head += struct.pack("<4Q", len(name) + 1, code, len(shape), len(data))
    head += b"".join(name.encode() + b"\0" for name, *_ in entries)
    head += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in entries)
    padding = ((len(head) + 8) // 256 + 1) * 256 - len(head) - 8
    return head + struct.pack("<Q", padding) + bytes(padding) + b"".join(data for *_, data in entries)


def checksum(data):
    seed, mask = 0, 2**64 - 1
    for (word,) in struct.iter_unpack("<Q", data[: len(data) // 8 * 8]):
        seed ^= (word + 0x9E3779B9 + (seed << 6) + (seed >> 2)) & mask
    return seed


def shortlist(source, target, first, best, seed):
    """A binary shortlist with random targets; some source tokens have none. The last has one: the engine demands it."""
    random = np.random.default_rng(seed)
    offsets, tokens = [0], []
    for token in range(source):
        count = int(random.integers(0, best + 1)) if token not in (0, source - 1) else int(token > 0)
        tokens += sorted(random.choice(target, count, replace=False).tolist())
        offsets.append(len(tokens))
    body = struct.pack("<4Q", first, best, len(offsets), len(tokens))
    body += np.array(offsets, "<u8").tobytes() + np.array(tokens, "<u4").tobytes()
    return struct.pack("<QQ", 0xF11A48D5013417F5, checksum(body)) + body


def train(path, sentences, size):
    """A vocabulary as Marian trains it."""
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_prefix=str(path.with_suffix("")),
        vocab_size=size,
        bos_id=-1,
        eos_id=0,
        unk_id=1,
        character_coverage=0.999,
        num_threads=1,
        minloglevel=2,
    )
    path.with_suffix(".model").rename(path)
    path.with_suffix(".vocab").unlink()


def joint():
    """The weights of the student with one vocabulary."""
    return weights(SHAPES["small"], [504], 2)


def split():
    """The weights of the student with two vocabularies."""
    return weights(SHAPES["small"], [400, 480], 3, 3.0)


def fixtures(out):
    pairs = [line.split("\t") for line in (HERE / "tatoeba-test.tsv").read_text("utf-8").splitlines()]
    english, german = ([pair[index] for pair in pairs] for index in (0, 1))
    one, two = out / "joint", out / "split"
    for folder in (one, two):
        folder.mkdir(parents=True, exist_ok=True)
    train(one / "vocab.deen.spm", english + german, 504)
    (one / "lex.50.50.ende.s2t.bin").write_bytes(shortlist(504, 504, 50, 50, 1))
    content = binary(*joint(), options(SHAPES["small"], [504]), "alphas")
    (one / "model.ende.intgemm.alphas.bin").write_bytes(content)
    # two vocabularies, dynamic scales of the inputs, compressed
    for side, sentences, size in (("src", english, 400), ("trg", german, 480)):
        path = two / f"{side}vocab.ende.spm"
        train(path, sentences, size)
        (two / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
        path.unlink()
    content = binary(*split(), options(SHAPES["small"], [400, 480]), "intgemm8")
    (two / "model.ende.intgemm8.bin.gz").write_bytes(gzip.compress(content, 9, mtime=0))
    content = shortlist(400, 480, 40, 30, 4)
    (two / "lex.40.30.ende.s2t.bin.gz").write_bytes(gzip.compress(content, 9, mtime=0))


def full(out, name, vocabulary, lex=None):
    import sentencepiece

    out.mkdir(parents=True, exist_ok=True)
    size = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary)).get_piece_size()
    student = weights(SHAPES[name], [size], 5, -2.0)
    (out / "model.ende.intgemm.alphas.bin").write_bytes(binary(*student, options(SHAPES[name], [size]), "alphas"))
    (out / "vocab.deen.spm").write_bytes(Path(vocabulary).read_bytes())
    content = Path(lex).read_bytes() if lex else shortlist(size, size, 50, 50, 6)
    (out / "lex.50.50.ende.s2t.bin").write_bytes(content)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["fixtures", out]:
            fixtures(Path(out))
        case ["full", out, name, vocabulary, *lex]:
            full(Path(out), name, vocabulary, *lex)
        case _:
            sys.exit(__doc__)
