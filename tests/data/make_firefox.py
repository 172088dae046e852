"""Writes the expected results of tests/data/firefox with the real engine.

    python make_firefox.py PACKAGE VOCAB.spm LEX.bin

PACKAGE is the unpacked npm package @browsermt/bergamot-translator 0.4.9; Node.js 20 runs it (firefox/witness.mjs).
VOCAB.spm and LEX.bin are Mozilla's files of the English-German tiny student. Needs numpy and sentencepiece.

Writes firefox/{joint,split}/* (students of make_students.py), firefox/expected.json (their translations),
firefox/en-de/* (Mozilla's files, compressed) and firefox/en-de.json (token ids and shortlist columns).
"""

import base64
import gzip
import json
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
import sentencepiece

import make_students

HERE = Path(__file__).parent
OUT = HERE / "firefox"
SENTENCES = [line.split("\t")[0] for line in (HERE / "tatoeba-test.tsv").read_text("utf-8").splitlines()]
# a piece's characters that the vocabularies lack, marks, other scripts, several spaces
UNUSUAL = ["Ünknöwn Zeichen: 你好, мир!", "a  b   c", "«x» – “y” … 😀", "ﬁne ½ ①", "e\u0301te\u0301", "</s> <unk>"]


def ask(package, jobs):
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder, "jobs.json"), Path(folder, "out.json")
        asked.write_text(json.dumps(jobs))
        subprocess.run(["node", OUT / "witness.mjs", package, asked, answered], check=True)
        return json.loads(answered.read_text())


def rounded(answer):
    for key in ("log_probability", "margin"):
        if key in answer:
            answer[key] = round(answer[key], 5)
    return answer


def translations(package):
    make_students.fixtures(OUT)
    sentences = SENTENCES[:180] + [" ".join(SENTENCES[i : i + 4]) for i in range(180, 260, 4)]
    sentences += ["Ünknöwn Zeichen: 你好!", "a  b   c"]
    with tempfile.TemporaryDirectory() as folder:

        def plain(path):
            """The file, decompressed if it must be: the engine takes bytes."""
            if path.suffix != ".gz":
                return str(path)
            to = Path(folder, path.stem)
            to.write_bytes(gzip.decompress(path.read_bytes()))
            return str(to)

        joint = {
            "model": str(OUT / "joint/model.ende.intgemm.alphas.bin"),
            "vocabularies": [str(OUT / "joint/vocab.deen.spm")],
            "vocabulary": 504,
        }
        split = {
            "model": plain(OUT / "split/model.ende.intgemm8.bin.gz"),
            "vocabularies": [plain(OUT / f"split/{side}vocab.ende.spm.gz") for side in ("src", "trg")],
            "vocabulary": 480,
        }
        floats = Path(folder, "model.float32.bin")
        items, alphas = make_students.joint()
        shape = make_students.SHAPES["small"]
        floats.write_bytes(make_students.binary(items, alphas, make_students.options(shape, [504]), "float32"))
        joint_list = {"shortlist": str(OUT / "joint/lex.50.50.ende.s2t.bin")}
        split_list = {"shortlist": plain(OUT / "split/lex.40.30.ende.s2t.bin.gz")}
        dynamic = {"gemm-precision": "int8shiftAll"}
        cases = {
            "joint, shortlist, greedy": joint | joint_list | {"sentences": sentences, "record": ["ids"]},
            "joint, greedy": joint | {"sentences": sentences[:100], "record": ["ids"]},
            "joint, shortlist, 4 beams": joint
            | joint_list
            | {"sentences": sentences[80:], "record": ["scores"], "options": {"beam-size": 4}},
            "joint, 4 beams": joint
            | {"sentences": sentences[:60], "record": ["scores"], "options": {"beam-size": 4}},
            "split, shortlist, greedy": split
            | split_list
            | {"sentences": sentences[:100], "record": ["ids"], "options": dynamic},
            "split, greedy": split | {"sentences": sentences[100:200], "record": ["ids"], "options": dynamic},
            "joint in float32, shortlist, greedy": joint
            | joint_list
            | {
                "model": str(floats),
                "sentences": sentences[:60],
                "record": ["scores"],
                "options": {"gemm-precision": "float32"},
            },
        }
        answers = ask(package, [{"options": {}} | case for case in cases.values()])
    result = {}
    for (name, case), answer in zip(cases.items(), answers):
        result[name] = [
            {"source": source} | rounded(one) for source, one in zip(case["sentences"], answer, strict=True)
        ]
    (OUT / "expected.json").write_text(json.dumps(result, ensure_ascii=False, indent=0) + "\n", "utf-8")


def tensors():
    """Shape, sum and first values of each tensor of both students, vectors without their leading 1."""
    split = make_students.weights(make_students.SHAPES["small"], [400, 480], 3, 3.0)
    result = {}
    for name, (items, alphas) in {"joint": make_students.joint(), "split": split}.items():
        values = {key: item if isinstance(item, np.ndarray) else item.floats() for key, item in items.items()}
        if name == "joint":
            values |= {f"{key}_QuantMultA": np.array([alpha], "<f4") for key, alpha in alphas.items()}
        result[name] = {
            key: [list(value.shape), float(value.astype(np.float64).sum()), value.reshape(-1)[:70:23].tolist()]
            for key, value in values.items()
        }
    body = json.dumps(result).replace(', "', ',\n"')
    (OUT / "tensors.json").write_text(body + "\n", "utf-8")


def positions(count, width):
    """Marian's sinusoids: sines, then cosines."""
    half = width // 2
    angles = np.arange(count)[:, None] * 1e-4 ** (np.arange(half) / (half - 1))
    return np.concatenate([np.sin(angles), np.cos(angles)], 1)


def own_ids(table, squares, inputs):
    """The engine's source ids: the rows of the table that its encoder began with."""
    width = table.shape[1]
    rows = np.frombuffer(base64.b64decode(inputs), "<f4").reshape(-1, width)
    wanted = (rows - positions(len(rows), width)) / width**0.5
    return (squares - 2 * wanted @ table.T).argmin(1).tolist()


def real_files(package, vocabulary, lex):
    folder = OUT / "en-de"
    folder.mkdir(parents=True, exist_ok=True)
    for path in (vocabulary, lex):
        (folder / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
    sentences = SENTENCES + UNUSUAL
    spm = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
    size = spm.get_piece_size()
    with tempfile.TemporaryDirectory() as temporary:
        make_students.full(Path(temporary), "small", vocabulary, lex)
        job = {
            "model": f"{temporary}/model.ende.intgemm.alphas.bin",
            "vocabularies": [str(vocabulary)],
            "shortlist": str(lex),
            "sentences": sentences,
            "record": ["columns", "inputs"],
            "options": {"max-length-factor": 0.05, "skip-cost": True},
        }
        (answers,) = ask(package, [job])
    items, _ = make_students.weights(make_students.SHAPES["small"], [size], 5)
    table = items["Wemb"].floats().astype(np.float64)
    squares = (table**2).sum(1)
    rows = []
    for source, answer in zip(sentences, answers, strict=True):
        ids = own_ids(table, squares, answer["inputs"])
        library = spm.encode(source) + [spm.eos_id()]
        if ids != library:
            print(f"the engine and SentencePiece {sentencepiece.__version__} differ: {source!r}\n{ids}\n{library}")
        columns = np.array(answer["columns"], "<u4")
        rows.append([source, ids, len(columns), zlib.crc32(columns.tobytes())])
    body = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (OUT / "en-de.json").write_text(f"[\n{body}\n]\n", "utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    package, vocabulary, lex = map(Path, sys.argv[1:])
    translations(package)
    tensors()
    real_files(package, vocabulary, lex)
