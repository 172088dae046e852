#!/usr/bin/env python3
"""Fits and checks the weights of `src/translate/quality.rs`: the expected chrF of a sentence, from numbers of its search.

    python3 benches/quality.py target/release/wordloom FIT.tsv CHECK.tsv

Both files have lines SOURCE TAB REFERENCE; the model was trained with neither. The model is logistic: chrF / 100 of a sentence
(sacreBLEU's, chrF2) is sigmoid(bias + weights · features), fitted by Newton's method on the log-loss with fractional targets. Sentences with
an alarm are left out of the fit. Prints the weights, and of CHECK the correlations with their 95 % intervals (bootstrap, 2,000 draws), and the
mean chrF by trust. Needs numpy and sacrebleu.
"""
import json
import subprocess
import sys
import tempfile

import numpy as np
from sacrebleu.metrics import CHRF

FEATURES = ["log_probability", "coverage"]


def run(binary, path):
    pairs = [line.rstrip("\n").split("\t")[:2] for line in open(path, encoding="utf-8")]
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as sources:
        sources.write("".join(source + "\n" for source, _ in pairs))
        sources.flush()
        call = [binary, "translate", "--device", "cpu", "--json", "--quality", "--input", sources.name]
        lines = subprocess.run(call, check=True, capture_output=True, text=True).stdout.splitlines()
    chrf, rows = CHRF(), []
    for (_, reference), line in zip(pairs, lines, strict=True):
        found = json.loads(line)
        if len(found["sentences"]) == 1:
            rows.append((found["sentences"][0]["quality"], chrf.sentence_score(found["text"], [reference]).score / 100))
    return rows


def matrix(rows, usual):
    columns = [[row[name] if row[name] is not None else usual for row, _ in rows] for name in FEATURES]
    return np.column_stack([np.ones(len(rows)), *columns])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def fit(x, y):
    weights = np.zeros(x.shape[1])
    for _ in range(50):
        p = sigmoid(x @ weights)
        hessian = (x * (p * (1 - p))[:, None]).T @ x + 1e-6 * np.eye(x.shape[1])
        weights += np.linalg.solve(hessian, x.T @ (y - p))
    return weights


def ranks(values):
    order = np.argsort(values, kind="stable")
    places = np.empty(len(values))
    places[order] = np.arange(len(values))
    _, group = np.unique(values, return_inverse=True)
    return (np.bincount(group, places) / np.bincount(group))[group]


def interval(a, b):
    random = np.random.default_rng(1)
    draws = [random.integers(len(a), size=len(a)) for _ in range(2000)]
    low, high = np.percentile([np.corrcoef(a[draw], b[draw])[0, 1] for draw in draws], [2.5, 97.5])
    return f"{np.corrcoef(a, b)[0, 1]:.3f} [{low:.3f}, {high:.3f}]"


def main():
    binary, fit_path, check_path = sys.argv[1:]
    alarm = lambda row: row["copies"] or row["repeats"] or row["cut"]
    fitted = run(binary, fit_path)
    sound = [pair for pair in fitted if not alarm(pair[0])]
    usual = float(np.mean([row["coverage"] for row, _ in sound if row["coverage"] is not None]))
    weights = fit(matrix(sound, usual), np.array([y for _, y in sound]))
    print(f"fitted on {len(sound)} sentences; {len(fitted) - len(sound)} with an alarm left out")
    print("WEIGHTS", [round(float(weight), 4) for weight in weights], "USUAL_COVERAGE", round(usual, 4))

    rows = run(binary, check_path)
    x, y = matrix(rows, usual), np.array([y for _, y in rows])
    trust = sigmoid(x @ weights)
    alarms = np.array([alarm(row) for row, _ in rows])
    trust[alarms] = np.minimum(trust[alarms], 0.25)
    print(f"checked on n = {len(rows)}, {alarms.sum()} with an alarm, of mean chrF {y[alarms].mean() if alarms.any() else 0:.3f}")
    print(f"correlation with chrF: {interval(trust, y)}; of ranks {interval(ranks(trust), ranks(y))}")
    print(f"of the mean log-probability alone: {interval(x[:, 1], y)}; of ranks {interval(ranks(x[:, 1]), ranks(y))}")
    for part in np.array_split(np.argsort(trust), 5):
        print(f"  trust {trust[part].mean():.3f}: chrF {y[part].mean():.3f} (n = {len(part)})")
    low = trust < 0.4
    print(f"below 0.4: {low.sum()} sentences, chrF {y[low].mean() if low.any() else 0:.3f}; the others {y[~low].mean():.3f}")


if __name__ == "__main__":
    main()
