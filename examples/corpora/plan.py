"""How long a corpus takes on many machines, and its price, from rates that were measured.

    python plan.py                                            # the table of docs/corpora.md
    python plan.py --cores 64 --failures 0.05 --price 0.02    # machines that are taken away once in 20 hours
    python plan.py --check                                    # the same model beside measured jobs with 1, 2 and 4 workers

The rates come from measured.json, which measure.py writes. A worker is a process with one model and one core.
"""

import argparse
import heapq
import json
import math
import random
from pathlib import Path

MEASURED = Path(__file__).with_name("measured.json")
#: Largest share by which a prediction may miss a measured job.
TOLERANCE = 0.2


def job_seconds(lines, rates, start, rows, failures=0.0, restart=0.0, seed=1):
    """Seconds of a job: a worker takes the next part when it has done its last one, and a part that fails begins anew.

    `rates` has the lines/s of each worker, `rows` the lines of a part; `failures` come per worker and second.
    """
    chance = random.Random(seed)
    free = [(start, worker) for worker in range(len(rates))]
    for part in range(math.ceil(lines / rows)):
        now, worker = heapq.heappop(free)
        seconds = min(rows, lines - part * rows) / rates[worker]
        while failures and (until := chance.expovariate(failures)) < seconds:
            now += until + restart
        heapq.heappush(free, (now + seconds, worker))
    return max(now for now, _ in free)


def worker_rates(rate, workers, slow_share, slow_factor):
    """The last share of the workers is slower than the others."""
    slow = round(workers * slow_share)
    return [rate] * (workers - slow) + [rate / slow_factor] * slow


def part_rows(lines, workers, rate, part_seconds=600, parts_of_a_worker=4, least=256):
    """Parts of ten minutes; smaller ones if there were fewer than four for each worker."""
    return max(least, min(round(rate * part_seconds), math.ceil(lines / workers / parts_of_a_worker)))


def check(measured):
    """Compares jobs of the engines with the model. Returns whether all are within the tolerance."""
    good = True
    print(f"{'engine':<8} {'workers':>7} {'measured':>9} {'model':>9} {'differs':>8}")
    for engine, jobs in measured["engines"].items():
        for workers, job in jobs.items():
            workers = int(workers)
            busy = measured["rates"]["greedy"]["busy"] * measured["cores"] / max(workers, measured["cores"])
            rate = busy if workers > 1 else measured["rates"]["greedy"]["alone"]
            model = job_seconds(measured["lines"], [rate] * workers, job["start"], measured["rows"])
            differs = model / job["seconds"] - 1
            good = good and abs(differs) <= TOLERANCE
            print(f"{engine:<8} {workers:>7} {job['seconds']:>7.1f} s {model:>7.1f} s {differs:>8.0%}")
    return good


def duration(seconds):
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def table(measured, search, plan):
    rate = measured["rates"][search]["busy"]
    print(f"\n{search}: {rate:.0f} lines/s on a core with all cores busy\n")
    print("| million lines | machines | time | work alone | price |\n|---|---|---|---|---|")
    for millions in (1, 100, 10_000):
        for machines in (1, 100):
            workers, lines = machines * plan.cores, millions * 1_000_000
            rates = worker_rates(rate, workers, plan.slow_share, plan.slow_factor)
            rows = part_rows(lines, workers, rate)
            seconds = job_seconds(lines, rates, plan.start, rows, plan.failures / 3600, plan.restart)
            price = seconds / 3600 * workers * plan.price
            ideal = duration(lines / rate / workers)
            print(f"| {millions:,} | {machines} | {duration(seconds)} | {ideal} | {price:,.2f} |")


def costs(measured, price):
    print(f"\n| a million lines, {price} for the hour of a core | lines/s of a core | price |\n|---|---|---|")
    of_all = {"Wordloom, f32": measured["rates"], "Wordloom, w8a8": measured.get("rates_w8a8", {})}
    of_all |= {f"CTranslate2, {kind}": rates for kind, rates in measured.get("ctranslate2", {}).items()}
    for name, rates in of_all.items():
        for search, rate in rates.items():
            print(f"| {name}, {search} | {rate['busy']:.0f} | {1e6 / rate['busy'] / 3600 * price:.3f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measured", type=Path, default=MEASURED)
    parser.add_argument("--check", action="store_true", help="compare with the measured jobs, and do nothing else")
    parser.add_argument("--cores", type=int, default=32, help="cores of a machine (default: 32)")
    parser.add_argument("--start", type=float, default=60, help="seconds until workers have their model (default: 60)")
    parser.add_argument("--slow-share", type=float, default=0.02, help="share of slow workers (default: 0.02)")
    parser.add_argument("--slow-factor", type=float, default=2, help="how many times slower they are (default: 2)")
    parser.add_argument("--failures", type=float, default=0.001, help="failures of a worker in an hour (default: 0.001)")
    parser.add_argument("--restart", type=float, default=120, help="seconds from a failure to the next worker (default: 120)")
    parser.add_argument("--price", type=float, default=0.04, help="price of a core for an hour (default: 0.04)")
    plan = parser.parse_args()
    measured = json.loads(plan.measured.read_text(encoding="utf-8"))
    if plan.check:
        raise SystemExit(0 if check(measured) else 1)
    for search in measured["rates"]:
        table(measured, search, plan)
    costs(measured, plan.price)


if __name__ == "__main__":
    main()
