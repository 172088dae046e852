#!/usr/bin/env python3
"""Write the pairs of a file that have a name of the lists of `wordloom train --substitute`, or the same numbers, on both sides.

    python pairs_with_names.py en-fr/tatoeba.tsv.gz ../../configs/substitutions/en-fr.json names.tsv.gz

A training that sees them more often than other pairs learns to copy names. Python's standard library is enough.
"""
import gzip
import json
import re
import sys


def both(one):
    """The forms of an entry on the two sides."""
    forms = [one, one] if isinstance(one, str) else one[:2]
    return [[form] if isinstance(form, str) else form for form in forms]


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    pairs, lists, out = sys.argv[1:]
    with open(lists, encoding="utf-8") as file:
        groups = [group for group in json.load(file)["groups"] if "words" not in group["name"]]  # numbers in words
    known = {}
    for group in groups:
        for entry in group["find"]:
            sources, targets = both(entry)
            known.update((source, targets) for source in sources)
    kept = 0
    with gzip.open(pairs, "rt", encoding="utf-8") as lines, gzip.open(out, "wt", encoding="utf-8") as file:
        for line in lines:
            source, target = line.rstrip("\n").split("\t")[:2]
            words = re.findall(r"[A-Z]\w+", source)
            named = any(form in target for word in words for form in known.get(word, []))
            if named or re.search(r"\d", source) and re.findall(r"\d+", source) == re.findall(r"\d+", target):
                file.write(f"{source}\t{target}\n")
                kept += 1
    print(f"{kept:,} pairs")


main()
