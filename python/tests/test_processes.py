"""Threads, processes, event loops and Ctrl-C."""

import asyncio
import concurrent.futures
import multiprocessing
import os
import sys
import textwrap

import pytest

import wordloom
from conftest import run_python

QUESTION, ANSWER = "Where is the train station?", "Wo ist der Bahnhof?"


def test_threads_share_a_translator(translator, lines):
    alone = [translator.translate(line, beams=1).text for line in lines[:40]]
    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        together = list(threads.map(lambda line: translator.translate(line, beams=1).text, lines[:40]))
    assert together == alone


def test_the_lock_of_the_interpreter_is_released():
    code = """
    import threading, time, wordloom
    translator = wordloom.Translator(device="cpu")
    texts = [f"There are {number} old books on the table." for number in range(40)]
    running = threading.Thread(target=lambda: translator.translate(texts))
    running.start()
    steps = 0
    while running.is_alive():
        time.sleep(0.001)
        steps += 1
    print(steps > 20)
    """
    done = run_python(textwrap.dedent(code))
    assert done.stdout == "True\n", done.stderr


FORKED = """
import os, sys, threading, wordloom
device = sys.argv[1]
translator = wordloom.Translator(device=device)
text, answer = "Where is the train station?", "Wo ist der Bahnhof?"
assert translator.translate(text).text == answer
busy = threading.Thread(target=lambda: [translator.translate(f"I have {n} cats.") for n in range(200)], daemon=True)
busy.start() # a fork in the middle of a translation
for _ in range(3):
    child = os.fork()
    if child == 0:
        good = translator.translate(text).text == answer and wordloom.translate(text).text == answer
        grandchild = os.fork()
        if grandchild == 0:
            os._exit(0 if translator.translate(text).text == answer else 1)
        good = good and os.waitpid(grandchild, 0)[1] == 0
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
assert translator.translate(text).text == answer
print("forked")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_translates():
    done = run_python(FORKED, "cpu")
    assert done.stdout == "forked\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_translates_on_a_gpu():
    code = """
    import os, signal, wordloom
    translator = wordloom.Translator(device="gpu") # a software adapter, too
    answer = translator.translate("Hello!").text
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if translator.translate("Hello!").text == answer else 1)
    print(os.waitpid(child, 0)[1], translator.translate("Hello!"))
    """
    done = run_python(textwrap.dedent(code))
    assert done.stdout == "0 Hallo!\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_closes_a_translator_whose_lock_a_thread_held():
    code = """
    import os, signal, wordloom
    translator = wordloom.Translator(device="cpu")
    translator._lock.acquire() # as another thread does that loads the model
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        translator.close()
        os._exit(0)
    print(os.waitpid(child, 0)[1])
    """
    done = run_python(textwrap.dedent(code))
    assert done.stdout == "0\n", done.stderr


def _translated(translator, text):
    return translator.translate(text).text


def test_spawned_workers_translate(translator):
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as workers:
        assert workers.submit(_translated, translator, QUESTION).result() == ANSWER


def test_a_pool_of_forked_workers_translates(translator):
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("the system has no fork")
    code = """
    import multiprocessing, wordloom
    translator = wordloom.Translator(device="cpu")
    translator.translate("Hello!")
    def work(text):
        return translator.translate(text).text
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(work, ["Hello!", "Yes."]))
    """
    done = run_python(textwrap.dedent(code))
    assert done.stdout == "['Hallo!', 'Ja.']\n", done.stderr


def test_forked_workers_search_on_cores_of_their_own():
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("the system has no fork")
    code = """
    import multiprocessing, wordloom
    translator = wordloom.Translator(device="cpu", beams=1)
    def work(name):
        return [one.text for one in translator.translate([f"{name} has {count} books." for count in range(64)])]
    work("Mary")  # the searches' threads stay, and a child does not have them
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map(work, ["Tom", "Anna"])
    print(found == [work("Tom"), work("Anna")])
    """
    done = run_python(textwrap.dedent(code))
    assert done.stdout == "True\n", done.stderr


def test_an_event_loop_goes_on(translator):
    async def both():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        ticking = asyncio.create_task(tick())
        found = await asyncio.gather(*(translator.translate_async(text) for text in [QUESTION, ["Hello!", "Yes."]]))
        ticking.cancel()
        return found, ticks

    (one, many), ticks = asyncio.run(both())
    assert one.text == ANSWER
    assert [translation.text for translation in many] == ["Hallo!", "Ja."]
    assert ticks > 1


def test_cancelling_a_task_stops_its_translation(translator, lines):
    async def cancelled():
        task = asyncio.create_task(translator.translate_async(lines, beams=16))
        await asyncio.sleep(0.3)
        assert not task.done(), "the translation was too quick to be cancelled"
        task.cancel()
        begun = asyncio.get_running_loop().time()
        with pytest.raises(asyncio.CancelledError):
            await task
        return asyncio.get_running_loop().time() - begun

    # all of it takes minutes
    assert asyncio.run(cancelled()) < 30
    assert translator.translate(QUESTION).text == ANSWER


def test_a_task_that_is_cancelled_twice_prints_nothing():
    code = """
    import asyncio, gc, wordloom
    translator = wordloom.Translator(device="cpu")
    texts = [f"There are {number} old books on the table." for number in range(3000)]
    async def cancelled():
        task = asyncio.create_task(translator.translate_async(texts, beams=8))
        await asyncio.sleep(0.2)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            print("cancelled")
        print(await translator.translate_async("Hello!", progress=True))
        await asyncio.sleep(0.5)
    asyncio.run(cancelled())
    gc.collect()
    """
    done = run_python(textwrap.dedent(code))
    assert done.stdout == "cancelled\nHallo!\n", done.stderr
    assert "never retrieved" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise")
def test_ctrl_c_stops_an_evaluation():
    code = """
    import os, signal, threading, time, wordloom
    lines = [" ".join(f"word{number % 1000}" for number in range(50_000))] * 100  # all of it takes minutes
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        wordloom.evaluate(lines, lines, "rouge")
    except KeyboardInterrupt:
        print("stopped", wordloom.evaluate(["a b c d"], ["a b c d"]), flush=True)
    """
    done = run_python(textwrap.dedent(code), timeout=60)
    assert done.stdout.startswith("stopped {'bleu': 100"), done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise")
def test_ctrl_c_stops_a_translation():
    code = """
    import os, signal, threading, wordloom
    translator = wordloom.Translator(device="cpu")
    texts = [f"There are {number} old books and {number + 7} new ones on the table." for number in range(3000)]
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        translator.translate(texts, beams=16)
    except KeyboardInterrupt:
        print("stopped", translator.translate("Hello!"))
    """
    done = run_python(textwrap.dedent(code), timeout=60)
    assert done.stdout == "stopped Hallo!\n", done.stderr


def test_cancelled_is_an_error_with_a_name():
    from wordloom import _native

    cancel = _native.Cancel()
    cancel.cancel()
    translator = wordloom.Translator(device="cpu")
    with pytest.raises(wordloom.Cancelled):
        translator._translate(["Hello!"], {}, False, cancel)
