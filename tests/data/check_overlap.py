#!/usr/bin/env python3
"""Say which sentences of a test table are in training data, too.

    python check_overlap.py everyday/sentences.tsv news/sentences.tsv names/*.tsv -- train.tsv.gz dev.tsv.gz ...

Every cell of a table (but not its first line, if that has the names of columns) is looked for in the first two columns of all
training files: in lower case and without punctuation. Exits with 1 if one is found. Python's standard library is enough.
"""
import gzip
import re
import sys


def key(text):
    return " ".join(re.findall(r"\w+", text.lower()))


def rows(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t") for line in lines]


def main():
    arguments = sys.argv[1:]
    if "--" not in arguments:
        sys.exit(__doc__)
    at = arguments.index("--")
    trained = {}
    for path in arguments[at + 1:]:
        for row in rows(path):
            for cell in row[:2]:
                trained.setdefault(key(cell), path)
    found = checked = 0
    for path in arguments[:at]:
        for number, row in enumerate(rows(path), 1):
            for cell in row:
                checked += 1
                if key(cell) in trained:
                    found += 1
                    print(f"{path}, line {number}: {cell!r} is in {trained[key(cell)]}")
    print(f"{checked} cells, {found} of them in the training data ({len(trained)} different sentences)")
    sys.exit(found > 0)


main()
