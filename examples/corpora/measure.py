"""Measures what plan.py needs, on a quiet machine: lines/s of a core, and whole jobs of Ray and Spark with 1, 2 and 4 workers.

    python measure.py TEXT --ctranslate2 PYTHON FOLDER     # writes measured.json

TEXT has a sentence a line. PYTHON is an interpreter with ctranslate2 and sentencepiece, FOLDER a model that ct2-transformers-converter
wrote, with the files source.spm and target.spm of its origin.
"""

import argparse
import json
import multiprocessing
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BATCH = 1024
WARM_UP = 64
SEARCHES = {"greedy": 1, "4 beams": 4}


def share(path, number, processes):
    lines = Path(path).read_text(encoding="utf-8").split("\n")[:-1]
    return lines[number::processes]


def wordloom_share(ready, path, number, processes, beams, weights):
    """Seconds of a process for its share of the lines, on one core."""
    import pyarrow
    from wordloom import corpora

    lines = share(path, number, processes)
    translator = corpora.translator(device="cpu", threads=1, beams=beams, weights=weights)
    translator.translate_arrow(pyarrow.array(lines[:WARM_UP]))
    ready.wait()
    begun = time.perf_counter()
    for first in range(0, len(lines), BATCH):
        translator.translate_arrow(pyarrow.array(lines[first : first + BATCH]))
    return time.perf_counter() - begun


def ctranslate2_share(ready, path, number, processes, beams, folder, tokens, kind):
    """The same with CTranslate2, and SentencePiece for the text; `tokens` is the size of its batches."""
    import ctranslate2
    import sentencepiece

    lines = share(path, number, processes)
    translator = ctranslate2.Translator(folder, compute_type=kind, inter_threads=1, intra_threads=1)
    pieces, words = (sentencepiece.SentencePieceProcessor(f"{folder}/{end}.spm") for end in ("source", "target"))

    def translate(texts):
        sources = [text + ["</s>"] for text in pieces.encode(texts, out_type=str)]
        results = translator.translate_batch(sources, beam_size=beams, batch_type="tokens", max_batch_size=tokens)
        return words.decode([result.hypotheses[0] for result in results])

    translate(lines[:WARM_UP])
    ready.wait()
    begun = time.perf_counter()
    for first in range(0, len(lines), BATCH):
        translate(lines[first : first + BATCH])
    return time.perf_counter() - begun


def rate(work, path, processes, *arguments):
    """Lines/s of each of so many processes that run side by side."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(processes) as pool:
        ready = manager.Barrier(processes)
        running = [pool.apply_async(work, (ready, path, one, processes, *arguments)) for one in range(processes)]
        seconds = max(one.get() for one in running)
    lines = Path(path).read_text(encoding="utf-8").count("\n")
    return round(lines / seconds / processes, 1)


def rates(work, path, *arguments):
    cores = os.cpu_count()
    found = {}
    for search, beams in SEARCHES.items():
        found[search] = {"alone": rate(work, path, 1, beams, *arguments), "busy": rate(work, path, cores, beams, *arguments)}
        print(search, found[search], flush=True)
    return found


def best_of_ctranslate2(path, folder):
    """The fastest of its settings for each precision and search, with all cores busy."""
    best = {}
    for kind in ("int8", "int8_float32", "float32"):
        for tokens in (512, 2048, 8192):
            for search, beams in SEARCHES.items():
                found = rate(ctranslate2_share, path, os.cpu_count(), beams, folder, tokens, kind)
                print("CTranslate2", kind, tokens, search, found, flush=True)
                searches = best.setdefault(kind, {})
                if found > searches.get(search, {"busy": 0})["busy"]:
                    searches[search] = {"busy": found, "batch_tokens": tokens}
    return best


def jobs(text, rows, folder):
    """Seconds of whole jobs, and of jobs with 16 lines for each worker, which are nearly all start."""
    first = text.read_text(encoding="utf-8").split("\n")
    found = {}
    for engine in ("ray", "spark"):
        for workers in (1, 2, 4):
            small = folder / f"small-{workers}.txt"
            small.write_text("".join(f"{line}\n" for line in first[: 16 * workers]), encoding="utf-8")
            start = job(engine, small, 16, workers, folder / f"{engine}-{workers}-small")
            seconds = job(engine, text, rows, workers, folder / f"{engine}-{workers}")
            found.setdefault(engine, {})[str(workers)] = {"start": start, "seconds": seconds}
            print(engine, workers, found[engine][str(workers)], flush=True)
    return found


def job(engine, text, rows, workers, folder):
    source, translated, again = folder / "source", folder / "translated", folder / "text"
    lines = [sys.executable, HERE / "lines.py"]
    subprocess.run([*lines, "pack", text, source, "--rows", str(rows)], check=True)
    command = {
        "ray": [sys.executable, HERE / "ray_data.py", "--workers", str(workers), "--rows", str(rows)],
        "spark": [Path(sys.executable).with_name("spark-submit"), "--master", f"local[{workers},4]",
                  "--conf", "spark.sql.files.openCostInBytes=1",
                  "--conf", f"spark.sql.files.maxPartitionBytes={part_bytes(source)}", HERE / "spark.py"],
    }[engine]  # fmt: skip
    environment = dict(os.environ, PYSPARK_PYTHON=sys.executable)
    begun = time.perf_counter()
    subprocess.run([*command, source, translated, "--beams", "1"], check=True, env=environment, capture_output=True)
    seconds = time.perf_counter() - begun
    subprocess.run([*lines, "unpack", source, translated, again], check=True)
    return round(seconds, 1)


def part_bytes(source):
    """Bytes of the largest part: a task of Spark takes one part."""
    return max(part.stat().st_size for part in source.iterdir())


def machine():
    """The processor's name, where the system says it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("--output", type=Path, default=HERE / "measured.json")
    parser.add_argument("--rows", type=int, default=512, help="lines of a part (default: 512)")
    parser.add_argument("--ctranslate2", nargs=2, metavar=("PYTHON", "FOLDER"))
    parser.add_argument("--only-ctranslate2", metavar="FOLDER", help="print its rates as JSON, and do nothing else")
    arguments = parser.parse_args()
    if arguments.only_ctranslate2:
        best = best_of_ctranslate2(arguments.text, arguments.only_ctranslate2)
        arguments.output.write_text(json.dumps(best), encoding="utf-8")
        return
    measured = {"machine": machine(), "date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count()}
    measured |= {"lines": arguments.text.read_text(encoding="utf-8").count("\n"), "rows": arguments.rows}
    measured |= {"rates": rates(wordloom_share, arguments.text, "f32")}
    measured |= {"rates_w8a8": rates(wordloom_share, arguments.text, "w8a8")}
    with tempfile.TemporaryDirectory() as folder:
        measured["engines"] = jobs(arguments.text, arguments.rows, Path(folder))
        if arguments.ctranslate2:
            python, model = arguments.ctranslate2
            output = Path(folder) / "ctranslate2.json"
            subprocess.run([python, __file__, arguments.text, "--only-ctranslate2", model, "--output", output], check=True)
            measured["ctranslate2"] = json.loads(output.read_text(encoding="utf-8"))
    arguments.output.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
