"""Watches and kills the workers of an engine. Every Python imports it at its start, because the tests put its folder on PYTHONPATH.

* ``WORDLOOM_TEST_LOG``: a file. It gets a line for each model that is loaded, and for each batch: the process, and the rows
* ``WORDLOOM_TEST_KILL``: a file. The first worker that has translated its second batch makes it, and dies before it hands the batch over
* ``WORDLOOM_TEST_VICTIM``: ``worker`` (default), or ``executor``: Spark's process of Java, the grandparent of its workers of Python
"""

import os
import signal
from pathlib import Path


def log(*words):
    with open(os.environ["WORDLOOM_TEST_LOG"], "a", encoding="utf-8") as lines:  # a short line is written at once
        lines.write(" ".join(map(str, (os.getpid(), *words))) + "\n")


def parent(process):
    return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


def die_once():
    try:
        Path(os.environ["WORDLOOM_TEST_KILL"]).touch(exist_ok=False)
    except FileExistsError:
        return
    is_executor = os.environ.get("WORDLOOM_TEST_VICTIM") == "executor"
    os.kill(parent(os.getppid()) if is_executor else os.getpid(), signal.SIGKILL)
    signal.pause()


def watch(Translator):
    set_up, translate, batches = Translator.__init__, Translator.translate_arrow, {}

    def watched_set_up(self, *arguments, **options):
        log("loads")
        set_up(self, *arguments, **options)

    def watched_translate(self, data, **options):
        result = translate(self, data, **options)
        log("rows", len(data))
        batches[os.getpid()] = batches.get(os.getpid(), 0) + 1
        if batches[os.getpid()] == 2 and "WORDLOOM_TEST_KILL" in os.environ:
            die_once()
        return result

    Translator.__init__, Translator.translate_arrow = watched_set_up, watched_translate


if "WORDLOOM_TEST_LOG" in os.environ:
    import wordloom

    watch(wordloom.Translator)
