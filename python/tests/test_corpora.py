"""One translator for each process: `wordloom.corpora`. The tests with engines are in `python/tests_corpora`."""

import textwrap

import pytest

from conftest import run_python
from wordloom import corpora


def test_the_same_arguments_give_the_same_translator():
    one = corpora.translator(device="cpu", beams=1)
    assert corpora.translator(device="cpu", beams=1) is one
    assert corpora.translator(device="cpu", beams=2) is not one
    assert one.translate("Where is the train station?").text == "Wo ist der Bahnhof?"


def test_threads_are_those_of_the_process():
    code = """
    import os
    from wordloom import corpora
    before = set(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else None
    translator = corpora.translator(device="cpu", threads=3)
    translator.translate("Hello!")
    print(3 if before is None else len(set(os.listdir("/proc/self/task")) - before))
    print(corpora.translator(device="cpu", threads=3) is translator, corpora.translator(device="cpu") is translator)
    try:
        corpora.translator(device="cpu", threads=1)
    except ValueError as error:
        print(error)
    """
    done = run_python(textwrap.dedent(code))
    threads, same, refused = done.stdout.splitlines()
    assert (threads, same) == ("3", "True True"), done.stderr
    assert refused == "threads is 1, but this process has 3 already; pass the same number"


@pytest.mark.parametrize("threads", [0, -1, True, 1.5, "2"])
def test_wrong_numbers_of_threads_are_refused(threads):
    with pytest.raises(ValueError, match="pass 1 or more"):
        corpora.translator(device="cpu", threads=threads)


def test_a_closed_translator_is_replaced():
    one = corpora.translator(device="cpu", max_length=40)
    one.close()
    assert corpora.translator(device="cpu", max_length=40).translate("Hello!").text == "Hallo!"
