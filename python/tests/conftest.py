"""What the tests share: the repository's models and reference results."""

import json
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import wordloom

DATA = Path(__file__).parents[2] / "tests" / "data"
DEFAULT_MODEL = Path(__file__).parents[2] / "models" / "tatoeba-en-de-q8"


# a shell ignores Ctrl-C for what it starts in the background, and so would the tests of Ctrl-C
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def translator():
    with wordloom.Translator(device="cpu") as made:
        yield made


@pytest.fixture(scope="session")
def cases():
    """The 40 translations of the default model by transformers."""
    return json.loads((DEFAULT_MODEL / "expected.json").read_text(encoding="utf-8"))["cases"]


@pytest.fixture(scope="session")
def lines():
    """English sentences."""
    text = (DATA / "tatoeba-test.tsv").read_text(encoding="utf-8")
    return [line.split("\t")[0] for line in text.splitlines()]


def safetensors(path):
    """Shape and values of each tensor of a file, as flat lists."""
    data = Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    codes = {"F32": "f", "I64": "q", "I32": "i"}

    def tensor(entry):
        begin, end = entry["data_offsets"]
        values = memoryview(data)[8 + length + begin : 8 + length + end].cast(codes[entry["dtype"]])
        return entry["shape"], list(values)

    return {name: tensor(entry) for name, entry in header.items()}


def run_python(code, *arguments, timeout=120, **environment):
    """Runs a program in another interpreter. Returns the finished process."""
    folder = str(Path(wordloom.__file__).parents[1])
    paths = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
    )
