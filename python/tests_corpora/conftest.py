"""Runs the examples on engines that are started here, and compares their texts with the command's, byte for byte.

The examples run as they are. `faults/sitecustomize.py` is in their workers: it counts, and it kills.
"""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import wordloom

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "corpora"
FAULTS = Path(__file__).parent / "faults"
SPECIAL = ["", "12:30", "One. Two! Three?", "\tHello!", "  ", "Hello!\u2028Goodbye!", "😀", "I am tired. " * 20, "Hello!", "Hello!"]


def run(*command, env=None, timeout=200):
    """Runs a program to its end, and returns it."""
    return subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=timeout,
    )


def succeed(*command, **options):
    done = run(*command, **options)
    assert done.returncode == 0, done.stdout[-8000:]


class Job:
    """A job in a folder of its own: its source, and what its workers logged."""

    def __init__(self, folder, text, expected, rows=25):
        self.folder, self.expected, self.number = folder, expected, expected.count(b"\n")
        self.source, self.translated, self.kill = folder / "source", folder / "translated", folder / "killed"
        self.log = folder / "log"
        self.log.touch()
        self.env = {
            "PYTHONPATH": os.pathsep.join([str(FAULTS), str(Path(wordloom.__file__).parents[1])]),
            "WORDLOOM_TEST_LOG": str(self.log),
        }
        succeed(sys.executable, EXAMPLES / "lines.py", "pack", text, self.source, "--rows", rows)

    def killing(self, victim="worker"):
        self.env |= {"WORDLOOM_TEST_KILL": str(self.kill), "WORDLOOM_TEST_VICTIM": victim}
        return self

    def example(self, name, *options, env=None):
        """Runs an example of this folder."""
        command = [sys.executable, EXAMPLES / name, self.source, self.translated, "--beams", 1, *options]
        succeed(*command, env=self.env | (env or {}))

    def logged(self, word):
        """Process and rows of each line of the log about `word`."""
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return [(process, int(rest[0]) if rest else 0) for process, kind, *rest in lines if kind == word]

    def check(self, workers, killed=False):
        """The text is the command's. At least `workers` processes worked, each with one model. A killed one's rows were done again."""
        text = self.folder / "text"
        succeed(sys.executable, EXAMPLES / "lines.py", "unpack", self.source, self.translated, text)
        assert text.read_bytes() == self.expected
        loads, rows = self.logged("loads"), self.logged("rows")
        assert len({process for process, _ in loads}) == len(loads), "a worker has loaded its model twice"
        assert len({process for process, _ in rows}) >= workers
        done = sum(number for _, number in rows)
        assert self.kill.exists() == killed
        assert done > self.number if killed else done == self.number


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    """A file of 400 lines: everyday sentences, Tatoeba's, and unusual ones."""

    def column(name, skipped):
        lines = (ROOT / "tests" / "data" / name).read_text(encoding="utf-8").splitlines()[skipped:]
        return [line.split("\t")[0] for line in lines]

    lines = [*column("everyday/sentences.tsv", 1), *SPECIAL, *column("tatoeba-test.tsv", 0)][:400]
    path = tmp_path_factory.mktemp("text") / "lines.txt"
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


@pytest.fixture(scope="session")
def expected(text):
    """The translation by the command."""
    program = os.environ.get("WORDLOOM", str(ROOT / "target" / "debug" / "wordloom"))
    output = text.with_name("expected.txt")
    succeed(program, "translate", "--device", "cpu", "--beams", 1, "--input", text, "--output", output)
    return output.read_bytes()


@pytest.fixture
def job(tmp_path, text, expected):
    return Job(tmp_path, text, expected)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
