"""Stand-ins for CTranslate2 and for transformers' pipelines."""

import json

import pytest

import ctranslate2_script
import wordloom
from conftest import DATA, DEFAULT_MODEL, run_python

F16_MODEL = DATA.parents[1] / "models" / "tatoeba-en-de"


@pytest.fixture(scope="module")
def both():
    """What CTranslate2 gave, and what Wordloom gives for the same script."""
    stored = json.loads(ctranslate2_script.STORED.read_text(encoding="utf-8"))
    return stored, ctranslate2_script.results("wordloom.ctranslate2", F16_MODEL, stored["sources"], stored["targets"])


def test_translate_batch_agrees_with_ctranslate2(both):
    stored, found = both
    for theirs, ours in zip([*stored["calls"], stored["prefixed"]], [*found["calls"], found["prefixed"]], strict=True):
        for a, b in zip(theirs, ours, strict=True):
            assert b["hypotheses"] == a["hypotheses"]
            # CTranslate2 takes the penalty of repeated tokens from logits, Wordloom from log-probabilities
            assert b["scores"] == pytest.approx(a["scores"], abs=5e-4)


def test_score_batch_gives_the_numbers_of_ctranslate2_and_of_transformers():
    import wordloom.ctranslate2 as ctranslate2

    stored = json.loads(ctranslate2_script.STORED.read_text(encoding="utf-8"))
    translator = ctranslate2.Translator(F16_MODEL)
    found = translator.score_batch(stored["sources"], stored["targets"])
    for ours, theirs, expected in zip(found, stored["scored"], stored["transformers"], strict=True):
        assert ours.tokens == theirs["tokens"]
        assert ours.log_probs == pytest.approx(expected, abs=1e-3) == theirs["log_probs"]


def test_streams_are_batches(both):
    _, found = both
    assert found["streamed"] == [one["hypotheses"][0] for one in found["calls"][0]]


def test_empty_sources_and_results_by_index():
    import wordloom.ctranslate2 as ctranslate2

    translator = ctranslate2.Translator(device="cpu")
    empty, full = translator.translate_batch([[], ["▁Yes", ".", "</s>"]], return_scores=True)
    assert empty.hypotheses == [[]] and len(empty) == 1
    assert full[0]["tokens"] == full.hypotheses[0] and full[0]["score"] == full.scores[0]
    assert translator.device == "cpu"
    assert translator.translate_batch([]) == []
    assert ctranslate2.Translator(device="cpu", compute_type="int8").compute_type == "int8"
    translator.unload_model()
    with pytest.raises(ValueError, match="closed"):
        translator.translate_batch([["▁Yes"]])


def test_a_pipeline_answers_as_transformers(cases):
    translate = wordloom.pipeline("translation", DEFAULT_MODEL, device=-1)
    single = [case for case in cases if case["source"].count(".") + case["source"].count("!") <= 1][:12]
    sources = [case["source"] for case in single]
    expected = [{"translation_text": case["beam_text"]} for case in single]
    assert translate(sources, num_beams=4, batch_size=8) == expected
    assert translate(sources[0], num_beams=4) == expected[:1]
    assert list(translate(iter(sources), num_beams=4)) == [[one] for one in expected]  # a list for each, as transformers
    (several,) = translate(sources[:1], num_beams=4, num_return_sequences=2)
    assert [type(one) for one in several] == [dict, dict] and several[0] == expected[0]
    english = wordloom.pipeline("translation_en_to_de", device="cpu")
    assert english("Hello!", max_length=40) == [{"translation_text": "Hallo!"}]


def test_sources_that_are_empty_and_prefixes_are_ctranslate2s():
    import wordloom.ctranslate2 as ctranslate2

    translator = ctranslate2.Translator(device="cpu", compute_type={"cpu": "float32"})
    hello, options = ["▁Hello", "!", "</s>"], {"return_scores": True}

    def found(source, prefix=None, **more):
        (result,) = translator.translate_batch([source], prefix and [prefix], **options, **more)
        return result.hypotheses, result.scores

    # these are the results of ctranslate2 4.8.5
    assert found([], num_hypotheses=2) == ([[], []], [0.0, 0.0])
    assert found(["</s>"]) == ([[]], [0.0])
    assert found([], ["▁Wo"]) == ([["▁Wo"]], [0.0])
    assert found(hello, ["▁Wo", "▁ist", "▁der"], max_decoding_length=2) == ([["▁Wo", "▁ist"]], [0.0])
    assert translator.translate_batch([hello], []) == translator.translate_batch([hello], suppress_sequences=[[]])
    assert [one.log_probs for one in translator.score_batch([[], []], [["▁Ja"], []])] == [[0.0, 0.0], [0.0]]
    assert len(list(translator.translate_iterable([hello], None, 32, "tokens"))) == 1
    # a score counts the prefix: the sum of log-probabilities of its tokens is not in it, but its length is
    ((alone,), (score,)) = found(hello, ["▁Hallo"], beam_size=1)
    (steps,) = translator.score_batch([hello], [alone])
    assert score == pytest.approx(sum(steps.log_probs[1:]) / len(steps.log_probs), abs=1e-4)


def test_messages_have_ctranslate2s_names():
    import wordloom.ctranslate2 as ctranslate2

    translator = ctranslate2.Translator(device="cpu")
    for options, message in [
        ({"beam_size": 32}, "beam_size is 32; it must be 1 to 16"),
        ({"num_hypotheses": 0}, "num_hypotheses is 0"),
        ({"min_decoding_length": 10, "max_decoding_length": 3}, "at most max_decoding_length, which is 3"),
        ({"batch_type": "x"}, 'it must be "examples" or "tokens"'),
    ]:
        with pytest.raises(ValueError, match=message):
            translator.translate_batch([["▁Yes"]], **options)
    with pytest.raises(ValueError, match="max_batch_size must be >= 1"):
        translator.translate_iterable([["▁Yes"]], max_batch_size=0)


def test_the_languages_of_a_task_are_those_of_the_model():
    with pytest.raises(wordloom.TextError, match='target language is "deu", not "fr"'):
        wordloom.pipeline("translation_en_to_fr", device="cpu")
    with pytest.raises(wordloom.TextError, match='source language is "eng", not "fr"'):
        wordloom.pipeline("translation_fr_to_de", device="cpu")


def test_a_pipeline_takes_arguments_of_transformers_and_refuses_others_at_once():
    taken = {"framework": "pt", "torch_dtype": "float32", "num_workers": 0, "batch_size": 4, "device_map": "auto", "tokenizer": None}
    translate = wordloom.pipeline("translation", DEFAULT_MODEL, device=-1, revision="main", model_kwargs={}, **taken)
    assert translate.translator.weights == "f32"
    assert translate("Hello!", return_text=True, num_workers=0, generate_kwargs={"num_beams": 1}) == [{"translation_text": "Hallo!"}]
    with pytest.raises(ValueError, match="no option 'num_beamz'; similar ones are .*num_beams"):
        wordloom.pipeline("translation", device="cpu", num_beamz=3)
    with pytest.raises(ValueError, match="tokenizer is not supported: the model's own is read"):
        wordloom.pipeline("translation", device="cpu", tokenizer="x")


def test_the_module_is_an_attribute_of_the_package():
    done = run_python("import wordloom; print(wordloom.ctranslate2.Translator.__name__, 'corpora' in dir(wordloom))")
    assert done.stdout == "Translator True\n", done.stderr
