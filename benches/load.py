#!/usr/bin/env python3
"""Loads `wordloom serve` with many clients at once, and checks it.

    python3 benches/load.py target/release/wordloom SENTENCES [--clients 64] [--seconds 300] [--peer URL] [-- OPTIONS]

SENTENCES has a sentence a line, each once (a server remembers sentences), and enough for the whole time. Each client sends one sentence,
waits for its translation, and sends the next one. Then `wordloom translate --input` translates the sentences that were answered. Checked are:

* every request was answered, with 200
* every answer equals the command's
* 99 of 100 answers came within 3 times the mean time of an answer
* memory grew by no more than the server's cache of sentences after the first fifth of the time
* sentences per second are at least 0.9 times the command's

OPTIONS are passed to both commands. --peer is another server with LibreTranslate's interface, which then gets the same load: its sentences per second are printed beside.
Only Python's library is needed. Measurements are in docs/performance.md.
"""
import argparse
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlparse

CACHE = 64 << 20  # bytes of the server's cache of sentences
COMMAND_SHARE = 0.9
LATENCY_SHARE = 3.0


class Load:
    """Clients that take sentences in turn until the time is over."""

    def __init__(self, host, port, sentences, clients, seconds, languages):
        self.host, self.port, self.sentences, self.languages = host, port, sentences, languages
        self.lock, self.next = threading.Lock(), 0
        self.end = time.monotonic() + seconds
        self.answers, self.times, self.failures = {}, [], []
        self.threads = [threading.Thread(target=self.client) for _ in range(clients)]

    def run(self):
        began = time.monotonic()
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join()
        self.seconds = time.monotonic() - began
        return self

    def take(self):
        with self.lock:
            if self.next == len(self.sentences) or time.monotonic() > self.end:
                return None
            self.next += 1
            return self.next - 1

    def client(self):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=300)
        source, target = self.languages
        while (index := self.take()) is not None:
            body = json.dumps({"q": self.sentences[index], "source": source, "target": target})
            began = time.monotonic()
            try:
                connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
                response = connection.getresponse()
                answer = json.loads(response.read())
            except (OSError, http.client.HTTPException, ValueError) as error:
                connection.close()
                with self.lock:
                    self.failures.append(f"sentence {index + 1}: {error!r}")
                continue
            took = time.monotonic() - began
            with self.lock:
                if response.status == 200:
                    self.answers[index] = answer["translatedText"]
                    self.times.append(took)
                else:
                    self.failures.append(f"sentence {index + 1}: {response.status} {answer}")

    def rate(self):
        return len(self.answers) / self.seconds


def resident(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def watch(pid, seconds, samples, stop):
    while not stop.wait(seconds):
        samples.append(resident(pid))


def start(binary, options):
    server = subprocess.Popen(
        [binary, "serve", "--port", "0", "--no-page", *options], stdout=subprocess.PIPE, text=True
    )
    return server, urlparse(server.stdout.readline().strip())


def command(binary, sentences, options):
    """Translates with the command. Returns the lines and the sentences per second, without the start."""

    def run(lines):
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "source.txt"), Path(folder, "target.txt")
            source.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
            began = time.monotonic()
            call = [binary, "translate", "--input", source, "--output", target, *options]
            subprocess.run(call, check=True, stderr=subprocess.DEVNULL)
            return target.read_text(encoding="utf-8").splitlines(), time.monotonic() - began

    _, start_up = run(sentences[:1])
    lines, seconds = run(sentences)
    return lines, len(sentences) / (seconds - start_up)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--from", dest="source", default="en")
    parser.add_argument("--to", dest="target", default="de")
    parser.add_argument("--peer", help="URL of another server")
    arguments, options = sys.argv[1:], []
    if "--" in arguments:  # options of both commands
        place = arguments.index("--")
        arguments, options = arguments[:place], arguments[place + 1 :]
    given = parser.parse_args(arguments)
    sentences = list(dict.fromkeys(given.sentences.read_text(encoding="utf-8").splitlines()))
    sentences = [sentence for sentence in sentences if sentence.strip()]
    languages = (given.source, given.target)

    server, url = start(given.binary, options)
    samples, stop = [], threading.Event()
    try:
        warm = Load(url.hostname, url.port, sentences[:given.clients], given.clients, 60, languages).run()
        rest = sentences[given.clients:]
        watcher = threading.Thread(target=watch, args=(server.pid, max(given.seconds / 100, 0.2), samples, stop))
        watcher.start()
        load = Load(url.hostname, url.port, rest, given.clients, given.seconds, languages).run()
    finally:
        stop.set()
        server.terminate()
    ended = server.wait(timeout=90)
    if load.next == len(rest):
        sys.exit(f"{given.sentences} has only {len(rest)} sentences, which were answered in {load.seconds:.0f} s")

    answered = sorted(load.answers)
    lines, command_rate = command(given.binary, [rest[index] for index in answered], options)
    different = [index for index, line in zip(answered, lines, strict=True) if load.answers[index] != line]
    mean = statistics.mean(load.times)
    centiles = statistics.quantiles(load.times, n=100)
    fifth = samples[len(samples) // 5:]
    growth = max(fifth) - fifth[0]
    print(f"{given.clients} clients, {load.seconds:.0f} s: {len(answered)} answers, {load.rate():.1f} sentences/s")
    print(f"time of an answer: median {centiles[49]:.2f} s, mean {mean:.2f} s, 99 of 100 within {centiles[98]:.2f} s")
    print(f"memory: {fifth[0] / 2**20:.0f} MiB after a fifth of the time, {samples[-1] / 2**20:.0f} MiB at the end")
    print(f"command: {command_rate:.1f} sentences/s")
    for index in different[:5]:
        print(f"  {rest[index]!r}: {load.answers[index]!r}, by the command {lines[answered.index(index)]!r}")
    failures = warm.failures + load.failures
    for failure in failures[:5]:
        print(f"  {failure}")
    checks = {
        f"nothing lost: {len(failures)} requests failed": not failures and ended == 0,
        f"equal to the command's: {len(different)} differ": not different,
        f"99 of 100 within {LATENCY_SHARE} x mean: {centiles[98] / mean:.2f}": centiles[98] <= LATENCY_SHARE * mean,
        f"memory flat: {growth / 2**20:+.0f} MiB": growth <= CACHE,
        f"throughput of the command: {load.rate() / command_rate:.2f} of it": load.rate() >= COMMAND_SHARE * command_rate,
    }
    if given.peer:
        peer = urlparse(given.peer)
        other = Load(peer.hostname, peer.port, rest, given.clients, given.seconds, languages).run()
        print(f"peer: {other.rate():.1f} sentences/s, {len(other.failures)} requests failed")
        checks[f"throughput of the peer: {load.rate() / other.rate():.2f} of it"] = load.rate() > other.rate()
    for check, holds in checks.items():
        print(f"{'ok  ' if holds else 'FAIL'} {check}")
    sys.exit(0 if all(checks.values()) else 1)


if __name__ == "__main__":
    main()
