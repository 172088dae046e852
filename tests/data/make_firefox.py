"""Writes the expected results of tests/data/firefox with the real engine.

    python make_firefox.py PACKAGE VOCAB.spm LEX.bin
    python make_firefox.py PACKAGE FOLDER


PACKAGE is the unpacked npm package @browsermt/bergamot-translator 0.4.9; Node.js 20 runs it (firefox/witness.mjs).
VOCAB.spm and LEX.bin are Mozilla's files of the English-German tiny student. Needs numpy and sentencepiece.

The first form writes firefox/{joint,split}/* (students of make_students.py), firefox/expected.json (their translations),
firefox/en-de/* (Mozilla's files, compressed) and firefox/en-de.json (token ids and shortlist columns). The second writes FOLDER/expected.json for a
student that `make_students.py full` wrote there; the ignored test of firefox_parity reads it.
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
    for key, digits in (("log_probabilities", 5), ("margins", 3)):
        if key in answer:
            answer[key] = [round(value, digits) for value in answer[key]]
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
        joint_list = {"shortlist": str(OUT / "joint/lex.50.50.ende.s2t.bin")}
        split = {
            "model": f"{folder}/split.bin",
            "vocabularies": [plain(OUT / f"split/{side}vocab.ende.spm.gz") for side in ("src", "trg")],
            "vocabulary": 480,
        }
        split_list = {"shortlist": plain(OUT / "split/lex.40.30.ende.s2t.bin.gz")}
        # Marian's beam becomes narrower when a hypothesis ends, transformers' does not: compared without ends
        endless = make_students.joint()
        endless[0]["decoder_ff_logit_out_b"][0] = -100.0
        # files without static scales: the engine's own ones depend on the batch, so they are compared in f32
        shape = make_students.SHAPES["small"]
        for name, student, sizes in (
            ("joint", make_students.joint(), [504]),
            ("split", make_students.split(), [400, 480]),
            ("endless", endless, [504]),
        ):
            content = make_students.binary(*student, make_students.options(shape, sizes), "float32")
            Path(folder, f"{name}.bin").write_bytes(content)
        floats = {"record": ["scores"], "options": {"gemm-precision": "float32"}}
        joint_floats = joint | floats | {"model": f"{folder}/joint.bin"}
        endless_floats = joint | floats | {"model": f"{folder}/endless.bin"}
        fbeams = {"options": {"beam-size": 4, "gemm-precision": "float32"}}
        cases = {
            "joint, shortlist, greedy": joint | joint_list | {"sentences": sentences, "record": ["ids"]},
            "joint, greedy": joint | {"sentences": sentences[:100], "record": ["ids"]},
            "endless in f32, shortlist, 4 beams": endless_floats | joint_list | fbeams | {"sentences": sentences[:60]},
            "endless in f32, 4 beams": endless_floats | fbeams | {"sentences": sentences[60:100]},
            "joint in f32, shortlist, greedy": joint_floats | joint_list | {"sentences": sentences[:60]},
            "joint in f32, greedy": joint_floats | {"sentences": sentences[60:120]},
            "split in f32, shortlist, greedy": split | floats | split_list | {"sentences": sentences[:100]},
            "split in f32, greedy": split | floats | {"sentences": sentences[100:]},
        }
        answers = ask(package, [{"options": {}} | case for case in cases.values()])
    result = {}
    for (name, case), answer in zip(cases.items(), answers):
        result[name] = [
            {"source": source} | rounded(one) for source, one in zip(case["sentences"], answer, strict=True)
        ]
    lines = [
        f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(one, ensure_ascii=False) for one in ones) + "\n]"
        for name, ones in result.items()
    ]
    (OUT / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def tensors():
    """Shape, sum and first values of each tensor of both students, vectors without their leading 1."""
    result = {}
    for name, (items, alphas) in {"joint": make_students.joint(), "split": make_students.split()}.items():
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


def full_size(package, folder):
    job = {
        "model": str(folder / "model.ende.intgemm.alphas.bin"),
        "vocabularies": [str(folder / "vocab.deen.spm")],
        "shortlist": str(folder / "lex.50.50.ende.s2t.bin"),
        "sentences": SENTENCES[:40],
        "record": ["ids"],
        "options": {},
    }
    (answers,) = ask(package, [job])
    expected = [{"source": source} | rounded(one) for source, one in zip(job["sentences"], answers, strict=True)]
    (folder / "expected.json").write_text(json.dumps({"full size": expected}, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    match [Path(argument) for argument in sys.argv[1:]]:
        case [package, vocabulary, lex]:
            translations(package)
            tensors()
            real_files(package, vocabulary, lex)
        case [package, folder]:
            full_size(package, folder.resolve())
        case _:
            sys.exit(__doc__)
