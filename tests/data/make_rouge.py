#!/usr/bin/env python3
"""Make evaluate/rouge.json: what rouge-score says, without a stemmer, about texts that are hard to cut and to count.

    python make_rouge.py

Nothing is downloaded. Python: rouge-score 0.1.2.
"""
import json
import random
from importlib.metadata import version
from pathlib import Path

from rouge_score.rouge_scorer import RougeScorer
from rouge_score.scoring import Score

DATA = Path(__file__).parent
KINDS = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
SCORER = RougeScorer(KINDS)
HARD = [
    "", " ", "\n", "\n\n", ".", "a", "A", "a b", "b a", "the the the the", "the cat", "The cat sat.\nThe dog ran.", "The dog ran.\nThe cat sat.",
    "the cat\n\nsat on\nthe mat", "the\ncat\nsat\non\nthe\nmat", "the cat sat on the mat", "police killed the gunman", "police kill the gunman",
    "the gunman kill police", "the gunman police killed", "w1 w2 w3 w4 w5", "w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5", "w1 w3 w5\nw2 w4", "w1\nw1\nw1 w1",
    "It costs 1,234.56 or 1.234,56 euros.", "x1y2z3 1990-1999 well-known", "don't 'tis o'clock’s", "ΟΔΥΣΣΕΥΣ odysseus", "İstanbul and ISTANBUL", "300 K and 300 K",
    "café CAFÉ cafe\u0301", "naïve résumé über Straße", "東京は2020年に、", "emoji 😀 and 👩‍👧", "\u001cx\u001dy\u0085z\u2028w", "tab\tinside\r\nand return", "under_score snake_case", "ﬁne ligature",
    "²³ ½ ١٢ digits", "ＦＵＬＬ ｗｉｄｔｈ", "running runs ran run",
]


def scores(references, hypothesis):
    found = SCORER.score_multi(references, hypothesis)
    return {kind: list(map(float, found[kind])) for kind in KINDS}


def text(rng, words):
    """Sentences from a small vocabulary, so that subsequences are often ambiguous."""
    count = rng.choice([1, 2, 3, 8, 20, 60])
    line = "".join(rng.choice(words) + rng.choice([" ", " ", " ", ", ", ".\n", "\n\n"]) for _ in range(count))
    return line.strip() if rng.random() < 0.8 else line


def main():
    rng = random.Random(2004)
    few, many = list("abcd"), "the of a cat dog sat ran on mat it in 3 to was Is not and for he she".split()
    cases = [([reference], hypothesis) for reference in HARD for hypothesis in rng.sample(HARD, 4)]
    cases += [([line], line) for line in HARD]
    cases += [([text(rng, words) for _ in range(rng.randint(1, 3))], text(rng, words)) for words in [few, many] for _ in range(60)]
    three = [([text(rng, many) for _ in range(3)], text(rng, many)) for _ in range(25)]
    found = [SCORER.score_multi(references, hypothesis) for references, hypothesis in three]
    mean = {kind: [sum(one[kind][at] for one in found) / len(found) for at in range(3)] for kind in KINDS}
    case = lambda references, hypothesis: {"references": references, "hypothesis": hypothesis, "scores": scores(references, hypothesis)}
    value = {
        "rouge-score": version("rouge-score"), "order": list(Score._fields), "cases": [case(*one) for one in cases],
        "file": {"hypotheses": [one[1] for one in three], "references": [[one[0][at] for one in three] for at in range(3)], "scores": mean},
    }
    (DATA / "evaluate" / "rouge.json").write_text(json.dumps(value, separators=(",", ":")).replace('{"references"', '\n{"references"') + "\n")


main()
