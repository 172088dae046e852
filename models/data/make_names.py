#!/usr/bin/env python3
"""Make en-de/names.json: configs/substitutions/en-de.json for a last run, with names that no vocabulary knows.

    python make_names.py

A vocabulary that has seen the lists has a token for each of their names, and a model that only copies single tokens cannot copy a new
name. Here most names are blends: the beginning of one and the end of another. Names, places and numbers are exchanged more often.
Python's standard library is enough. The same script makes the same file.
"""
import json
import random
import re
from pathlib import Path

BLENDS = 5000
SHARES = {"men": 0.85, "women": 0.85, "surnames": 0.9, "cities": 0.9, "countries": 0.7, "months": 0.8, "days": 0.7}
HERE = Path(__file__).parent


def parts(name):
    """Beginning and end, cut after a vowel, or between two consonants."""
    places = [match.end() for match in re.finditer(r"[aeiouyäöüáéíóúāēīō](?=\w)|[^\W\daeiouy](?=[^\W\daeiouy])", name.lower()) if 2 <= match.end() <= len(name) - 2]
    return [(name[:at], name[at:]) for at in places]


def blends(names, draw):
    names = [name for name in names if isinstance(name, str) and name.isalpha() and len(name) > 4]
    cut = [pair for name in names for pair in parts(name)]
    found = set()
    while len(found) < BLENDS:
        name = draw.choice(cut)[0] + draw.choice(cut)[1]
        if 4 <= len(name) <= 12 and name not in names:
            found.add(name)
    return sorted(found)


def main():
    config = json.loads((HERE / "../../configs/substitutions/en-de.json").read_text())
    held_out = (HERE / "../../tests/data/names/en-de.tsv").read_text()
    draw = random.Random(1)
    for name in ("men", "women", "surnames"):
        names = config["lists"][name]
        config["lists"][name] = names + [blend for blend in blends(names, draw) if blend not in held_out]
    for group in config["groups"]:
        group["share"] = SHARES.get(group["name"], group["share"])
        if "surnames" in group:
            group["surnames"]["share"] = 0.3
        if "invented" in group:
            group["invented"]["share"] = 0.08
    config["numbers"] = 0.8
    (HERE / "en-de/names.json").write_text(json.dumps(config, ensure_ascii=False, separators=(",", ":")) + "\n")


main()
