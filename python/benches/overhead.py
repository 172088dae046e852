"""What Python costs: the same lines by the command, by `Translator`, and through Arrow, in turn.

    python python/benches/overhead.py LINES --command target/release/wordloom [--weights f32] [--beams 1] [--rounds 5]

LINES has a text a line. All run on the CPU. `command` and `list` are the whole process: start, model, translation, writing the file. `loaded` and
`arrow` are `translate` and `translate_arrow` of a translator that is there. Needs the package `wordloom` of the same sources, and pyarrow.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPT = """
import sys, wordloom
source, target, weights, beams = sys.argv[1:]
lines = open(source, encoding="utf-8").read().split("\\n")[:-1]
found = wordloom.Translator(device="cpu", weights=weights, beams=int(beams)).translate(lines)
open(target, "w", encoding="utf-8").writelines(f"{one.text}\\n" for one in found)
"""


def seconds(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lines", type=Path)
    parser.add_argument("--command", type=Path, required=True)
    parser.add_argument("--weights", default="f32")
    parser.add_argument("--beams", default="1")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    import pyarrow
    import wordloom

    lines = arguments.lines.read_text(encoding="utf-8").split("\n")[:-1]
    column = pyarrow.array(lines)

    def loaded():
        # a new one for each run: a translator remembers sentences
        translator = wordloom.Translator(device="cpu", weights=arguments.weights, beams=int(arguments.beams))
        translator.translate(lines[:8])
        return translator

    with tempfile.TemporaryDirectory() as folder:
        outputs = {name: Path(folder) / name for name in ("command", "list")}
        options = ["--device", "cpu", "--weights", arguments.weights, "--beams", arguments.beams]
        command = [arguments.command.resolve(), "translate", *options, "--input", arguments.lines, "--output", outputs["command"]]
        script = [sys.executable, "-c", SCRIPT, arguments.lines, outputs["list"], arguments.weights, arguments.beams]
        works = {
            "command": lambda _: subprocess.run(command, check=True, capture_output=True),
            "list": lambda _: subprocess.run(script, check=True, capture_output=True),
            "loaded": lambda translator: translator.translate(lines),
            "arrow": lambda translator: pyarrow.array(translator.translate_arrow(column)),
        }
        taken = {name: [] for name in works}
        for _ in range(arguments.rounds):
            for name, work in works.items():
                if name == "command":
                    outputs[name].unlink(missing_ok=True)
                translator = loaded() if name in ("loaded", "arrow") else None
                taken[name].append(seconds(lambda: work(translator)))
        assert outputs["command"].read_bytes() == outputs["list"].read_bytes(), "the texts differ"
    medians = {name: statistics.median(times) for name, times in taken.items()}
    for name, times in taken.items():
        print(f"{name:<8} {medians[name]:7.3f} s   {len(lines) / medians[name]:7.0f} lines/s   " + " ".join(f"{one:.3f}" for one in sorted(times)))
    print(f"list over command: {medians['list'] / medians['command'] - 1:+.1%}")
    print(f"arrow over loaded: {medians['arrow'] / medians['loaded'] - 1:+.1%}")


if __name__ == "__main__":
    main()
