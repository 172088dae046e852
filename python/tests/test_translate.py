"""Text in, text out, against transformers' translations of the default model."""

import itertools
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import wordloom
from conftest import DEFAULT_MODEL, run_python


def test_a_text_becomes_a_translation(translator):
    found = translator.translate("Where is the train station?")
    assert found.text == "Wo ist der Bahnhof?"
    assert str(found) == found.text
    assert found.hypotheses[0].text == found.text
    assert wordloom.translate("Where is the train station?") == found


@pytest.mark.parametrize(("beams", "name"), [(1, "greedy"), (4, "beam")])
def test_translations_are_those_of_transformers(translator, cases, beams, name):
    found = translator.translate([case["source"] for case in cases], beams=beams)
    compared = 0
    for translation, case in zip(found, cases, strict=True):
        if len(translation.sentences) > 1:  # transformers read all of them as one
            continue
        (sentence,) = translation.sentences
        assert sentence.source_ids == case["source_ids"]
        assert sentence.hypotheses[0].tokens == case[f"{name}_ids"]
        # the text around a sentence stays, as white space does
        # where the model loses bytes of an emoji, the translation has that of the source
        assert translation.text.strip() == re.sub("\ufffd+", "😀", case[f"{name}_text"])
        if name == "beam":
            assert sentence.hypotheses[0].score == pytest.approx(case["beam_score"], abs=1e-3)
        compared += 1
    assert compared > 30


def test_texts_keep_their_lines(translator):
    found = translator.translate("Good morning! How much does this cost?\n\nI have lost my passport.\n")
    assert found.text == "Guten Morgen! Wie viel kostet das?\n\nIch habe meinen Pass verloren.\n"
    assert len(found.sentences) == 3
    assert translator.translate("").text == ""
    assert translator.translate([]) == []


def test_several_hypotheses_are_sorted(translator):
    found = translator.translate("I would like a cup of coffee, please.", beams=4, n_best=3)
    assert [hypothesis.text for hypothesis in found.hypotheses] == [
        "Ich hätte gern eine Tasse Kaffee.",
        "Ich hätte gerne eine Tasse Kaffee.",
        "Ich möchte bitte eine Tasse Kaffee.",
    ]
    scores = [hypothesis.score for hypothesis in found.hypotheses]
    assert scores == sorted(scores, reverse=True)


def test_options_of_a_translator_hold_for_its_calls(cases):
    translator = wordloom.Translator(device="cpu", beams=1)
    case = next(case for case in cases if case["greedy_ids"] != case["beam_ids"])
    assert translator.translate(case["source"]).text == case["greedy_text"]
    assert translator.translate(case["source"], beams=4).text == case["beam_text"]
    assert translator.translate(case["source"], num_beams=4).text == case["beam_text"]


def test_a_stream_keeps_order_and_reads_in_windows(translator, lines):
    read = itertools.count()
    source = (line for line, _ in zip(itertools.cycle(lines), read))
    stream = translator.translate_iter(source, beams=1)
    first = [next(stream).text for _ in range(150)]
    assert next(read) <= 128 + 256 + 2, "the stream read ahead of its window"
    whole = translator.translate(lines[:150], beams=1)
    assert first == [translation.text for translation in whole]


def test_progress_moves_a_bar_of_tqdm(translator, monkeypatch):
    moved = []

    class Bar:
        n = 0

        def __init__(self, **_):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def update(self, by):
            self.n += by
            moved.append((self.n, self.total))

    monkeypatch.setattr("wordloom._progress._tqdm", lambda: Bar)
    translator.translate(["One.", "Two. Three."], progress=True)
    assert moved[-1] == (3, 3)
    moved.clear()
    list(translator.translate_iter(["One.", "Two."], progress=True))
    assert moved[-1][0] == 2


def test_an_exception_of_the_progress_function_ends_the_call(translator, monkeypatch):
    class Bar:
        n, total = 0, None

        def __init__(self, **_):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def update(self, _):
            raise LookupError("no bar")

    monkeypatch.setattr("wordloom._progress._tqdm", lambda: Bar)
    with pytest.raises(LookupError, match="no bar"):
        translator.translate(["One.", "Two."], progress=True)
    assert translator.translate("Two.").text


def test_alignments_link_words(translator):
    (sentence,) = translator.align("I am tired.").sentences
    assert sentence.alignment == [(0, 0), (1, 1), (2, 2)]
    (sentence,) = translator.translate("I am tired.").sentences
    assert sentence.alignment is None


def test_results_and_translators_can_be_pickled(translator):
    found = translator.translate("Hello!")
    assert pickle.loads(pickle.dumps(found)) == found
    copy = pickle.loads(pickle.dumps(translator))
    assert copy.translate("Hello!").text == found.text


def test_a_folder_is_opened_by_its_path():
    assert wordloom.Translator(DEFAULT_MODEL, "cpu", "w8a8").weights == "w8a8"
    translator = wordloom.Translator(DEFAULT_MODEL, "cpu", "q8")
    assert translator.weights == "q8"
    assert translator.device == "CPU"
    assert "tatoeba-en-de-q8" in repr(translator)
    assert translator.translate("Where is the train station?").text == "Wo ist der Bahnhof?"


def test_built_in_models_have_names():
    assert wordloom.Translator("built-in", "cpu").translate("Hello!").text == "Hallo!"
    with pytest.raises(wordloom.HubError, match="built-in:de-xx is not part of this program; there are built-in:en-de"):
        wordloom.Translator("built-in:de-xx")


def test_a_model_in_a_wheel_of_its_own(tmp_path):
    root = DEFAULT_MODEL.parents[1]
    make = [root / "python" / "model_wheel.py", root / "models" / "tatoeba-de-en-q8", "--out", tmp_path]
    wheel = subprocess.run([sys.executable, *make], check=True, capture_output=True, text=True).stdout.strip()
    assert Path(wheel).stat().st_size < 10_000_000
    install = ["-m", "pip", "install", "--quiet", "--no-index", "--target", tmp_path / "site", wheel]
    subprocess.run([sys.executable, *install], check=True)
    code = """
import sys
sys.path.append(sys.argv[1])
import wordloom, wordloom_model_de_en as german
print(wordloom.Translator(german.PATH, "cpu").translate("Wo ist der Bahnhof?").text)
"""
    run = run_python(code, str(tmp_path / "site"))
    assert run.stdout == "Where is the railway station?\n", run.stderr


def test_the_package_brings_its_licences():
    text = wordloom.licences()
    assert "pyo3 " in text
    assert "Permission is hereby granted" in text


def test_a_glossary_prescribes_terms(translator, tmp_path):
    text = "Where can I buy a ticket?"
    terms = {"ticket": ["Billett", "Billetts"], "Wordloom": None}
    found = translator.translate([text, "Wordloom is here."], glossary=terms)
    assert "Billett" in found[0].text and "Wordloom" in found[1].text
    file = tmp_path / "terms.tsv"
    file.write_text("ticket\tBillett\tBilletts\nWordloom\t=\n", encoding="utf-8")
    assert translator.translate([text, "Wordloom is here."], glossary=file) == found
    assert list(translator.translate_iter([text], glossary=terms)) == found[:1]
    # a sentence without terms is searched as without a glossary
    assert translator.translate("Good morning!", glossary=terms) == translator.translate("Good morning!")
    with pytest.raises(ValueError, match="hard, soft, or soft:WEIGHT"):
        translator.translate(text, glossary=terms, glossary_mode="firm")
    with pytest.raises(ValueError, match="tab or a line break"):
        translator.translate(text, glossary={"a\tb": "c"})
    with pytest.raises(TypeError, match="pass a dict of terms"):
        translator.translate(text, glossary=3)
    with pytest.raises(ValueError, match="no terms"):
        translator.translate(text, glossary={})


def test_a_stream_refuses_options_at_once_and_faults_in_their_place(translator, lines):
    with pytest.raises(ValueError, match="no option 'beam'; similar ones are beams"):
        translator.translate_iter([], beam=2)
    with pytest.raises(wordloom.GenerateError, match="num_beams"):
        translator.translate_iter([], beams=0)

    def results(source):
        found = []
        with pytest.raises((TypeError, LookupError)) as raised:
            for translation in translator.translate_iter(source, beams=1):
                found.append(translation.text)
        return found, str(raised.value)

    def broken():
        yield from lines[:3]
        raise LookupError("no more")

    expected = [translation.text for translation in translator.translate(lines[:150], beams=1)]
    found, message = results([*lines[:150], None, *lines[150:]])
    assert found == expected and message.startswith("text 150 is NoneType")
    assert results(broken()) == (expected[:3], "no more")


def test_unknown_options_name_similar_ones(translator):
    with pytest.raises(ValueError, match="no option 'target_language'; similar ones are target_lang"):
        translator.translate("Hello!", target_language=None)
    with pytest.raises(ValueError, match="device is an argument of Translator"):
        wordloom.translate("Hello!", device="cpu")
    with pytest.raises(ValueError, match="no option 'devise'; similar ones are device"):
        wordloom.Translator(devise="cpu")
    with pytest.raises(ValueError, match="early_stopping is .*, which has a lone surrogate"):
        translator.translate("Hello!", early_stopping="\ud800")
    with pytest.raises(TypeError, match="glossary holds int; a term is a str"):
        translator.translate("Hello!", glossary={"station": 5})


def test_translations_can_be_keys(translator):
    one, same = translator.align("Hello!"), translator.align("Hello!")
    assert len({one, same}) == 1 and len({translator.score("a", "b"), translator.score("a", "b")}) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have text as names")
def test_a_folder_whose_name_is_no_text_is_opened(tmp_path):
    folder = os.fsencode(tmp_path) + b"/m\xff"
    shutil.copytree(os.fsencode(DEFAULT_MODEL), folder)
    for name in (folder, os.fsdecode(folder)):
        translator = wordloom.Translator(name, "cpu")
        assert translator.translate("Hello!").text == "Hallo!"
    assert pickle.loads(pickle.dumps(translator)).translate("Hello!").text == "Hallo!"


def test_options_of_transformers_that_wordloom_lacks_may_be_none(translator):
    assert translator.translate("Hello!", streamer=None, logits_processor=None).text == "Hallo!"
    with pytest.raises(ValueError, match="generation_config is not supported; pass its options themselves"):
        translator.translate("Hello!", generation_config={"num_beams": 2})
    with pytest.raises(ValueError, match="target_lang is an option of translate"):
        translator.generate([[5, 0]], target_lang="de")


def test_names_are_not_taken_for_texts(translator):
    class Frame:
        columns = ("text",)

        def __iter__(self):
            return iter(self.columns)

    for call in (translator.translate, translator.translate_iter):
        with pytest.raises(TypeError, match="is dict, which would give its keys; pass its values"):
            call({"Hello!": 1})
        with pytest.raises(TypeError, match="is Frame; pass one of its columns"):
            call(Frame())
    with pytest.raises(TypeError, match="texts is NoneType; pass an iterable of strings"):
        translator.translate_iter(None)
