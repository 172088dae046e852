"""Lines of text to Parquet, with a key for each line, and back.

    python lines.py pack TEXT SOURCE                # parts with the columns id and text
    python lines.py unpack SOURCE TRANSLATED TEXT   # the column translation, in the order of the keys

`unpack` fails if a key of SOURCE is missing in TRANSLATED, or is there twice.
"""

import argparse
import itertools
from pathlib import Path

import pyarrow
import pyarrow.compute
import pyarrow.dataset
import pyarrow.parquet


def pack(text, source, rows):
    Path(source).mkdir(parents=True)
    with open(text, encoding="utf-8", newline="\n") as lines:
        numbered = enumerate(line.removesuffix("\n") for line in lines)
        for part in itertools.count():
            taken = list(itertools.islice(numbered, rows))
            if not taken:
                break
            ids, texts = zip(*taken)
            table = pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "text": texts})
            pyarrow.parquet.write_table(table, Path(source) / f"part-{part:05}.parquet")


def unpack(source, translated, text):
    wanted = column(source, "id").sort_by("id")["id"]
    found = column(translated, "id", "translation").sort_by("id")
    if found["id"] != wanted:
        twice = found.num_rows - len(found["id"].unique())
        lost = len(wanted) - pyarrow.compute.sum(pyarrow.compute.is_in(wanted, found["id"].combine_chunks())).as_py()
        raise SystemExit(f"{translated}: {lost} keys of {source} are missing, {twice} rows are there twice")
    with open(text, "w", encoding="utf-8", newline="\n") as lines:
        lines.writelines(f"{line}\n" for line in found["translation"].to_pylist())


def column(folder, *names):
    return pyarrow.dataset.dataset(folder, format="parquet").to_table(columns=list(names))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tasks = parser.add_subparsers(dest="task", required=True)
    packing = tasks.add_parser("pack")
    packing.add_argument("text")
    packing.add_argument("source")
    packing.add_argument("--rows", type=int, default=100_000, help="rows of a part (default: 100000)")
    unpacking = tasks.add_parser("unpack")
    for name in ("source", "translated", "text"):
        unpacking.add_argument(name)
    arguments = parser.parse_args()
    if arguments.task == "pack":
        pack(arguments.text, arguments.source, arguments.rows)
    else:
        unpack(arguments.source, arguments.translated, arguments.text)


if __name__ == "__main__":
    main()
