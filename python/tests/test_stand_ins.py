"""Stand-ins for CTranslate2 and for transformers' pipelines."""

import json

import pytest

import ctranslate2_script
import wordloom
from conftest import DATA, DEFAULT_MODEL

F16_MODEL = DATA.parents[1] / "models" / "tatoeba-en-de"


@pytest.fixture(scope="module")
def both():
    """What CTranslate2 gave, and what Wordloom gives for the same script."""
    stored = json.loads(ctranslate2_script.STORED.read_text(encoding="utf-8"))
    return stored, ctranslate2_script.results("wordloom.ctranslate2", F16_MODEL, stored["sources"])


def test_translate_batch_agrees_with_ctranslate2(both):
    # CTranslate2's log-probabilities of this model are up to 0.16 from those of transformers, which Wordloom's equal (see the next
    # test): hypotheses of nearly equal score can change places. So the best ones have nearly equal scores, whichever they are
    stored, found = both
    for theirs, ours in zip([*stored["calls"], stored["prefixed"]], [*found["calls"], found["prefixed"]], strict=True):
        assert [len(one["hypotheses"]) for one in ours] == [len(one["hypotheses"]) for one in theirs]
        same = [a["hypotheses"][0] == b["hypotheses"][0] for a, b in zip(theirs, ours, strict=True)]
        assert sum(same) >= len(theirs) - 3
        for a, b in zip(theirs, ours, strict=True):
            assert b["scores"][0] == pytest.approx(a["scores"][0], abs=0.1)


def test_score_batch_gives_the_tokens_of_ctranslate2_and_the_numbers_of_transformers():
    import wordloom.ctranslate2 as ctranslate2

    stored = json.loads(ctranslate2_script.STORED.read_text(encoding="utf-8"))
    translator = ctranslate2.Translator(F16_MODEL)
    found = translator.score_batch(stored["sources"], stored["targets"])
    for ours, theirs, expected in zip(found, stored["scored"], stored["transformers"], strict=True):
        assert ours.tokens == theirs["tokens"]
        assert ours.log_probs == pytest.approx(expected, abs=1e-3)


def test_streams_are_batches(both):
    _, found = both
    assert found["streamed"] == found["targets"]


def test_empty_sources_and_results_by_index():
    import wordloom.ctranslate2 as ctranslate2

    translator = ctranslate2.Translator(device="cpu")
    empty, full = translator.translate_batch([[], ["▁Yes", ".", "</s>"]], return_scores=True)
    assert empty.hypotheses == [[]] and len(empty) == 1
    assert full[0]["tokens"] == full.hypotheses[0] and full[0]["score"] == full.scores[0]
    assert translator.device == "CPU"
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
    assert list(translate(iter(sources), num_beams=4)) == expected
    (several,) = translate(sources[:1], num_beams=4, num_return_sequences=2)
    assert [type(one) for one in several] == [dict, dict] and several[0] == expected[0]
    english = wordloom.pipeline("translation_en_to_de", device="cpu")
    assert english("Hello!", max_length=40) == [{"translation_text": "Hallo!"}]
