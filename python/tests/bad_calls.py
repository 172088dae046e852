"""Bad calls, each with the exception that it must raise. A program: `bad_calls.py FIRST COUNT` makes some of them.

Exit code 0: all raised what they must, with a message. A crash of the interpreter gives another one.
"""

import sys
import tempfile
from pathlib import Path

import wordloom
import wordloom.ctranslate2
from wordloom import (
    ArrowError,
    EvaluateError,
    ForwardError,
    GenerateError,
    GpuError,
    HubError,
    ModelError,
    ScoreError,
    TextError,
    TrainError,
    TranslateError,
    Translator,
)

NAN = float("nan")
MODELS = Path(__file__).parents[2] / "tests" / "data" / "models"
SURROGATE = "a \ud800 b"


class Liar:
    """Not an iterable, an array or a string, though it says so."""

    def __iter__(self):
        raise RuntimeError("no")

    def __arrow_c_array__(self, requested_schema=None):
        return (1, 2)

    def tolist(self):
        return None


class WrongCapsules:
    def __arrow_c_stream__(self, requested_schema=None):
        import datetime

        return datetime.datetime_CAPI


PAIRS = [("a b c", "c b a"), ("d e f", "f e d"), ("g h i", "i h g")]
OUT = tempfile.mkdtemp()


def train(pairs=PAIRS, out=OUT, **options):
    wordloom.train(pairs, out, **{"device": "cpu", "max_steps": 1, **options})


def closed():
    translator = Translator(device="cpu")
    translator.close()
    return translator


def calls(t, ct2):
    """Name of the exception, and the call."""
    ids = [[7, 146, 821, 2, 0]]
    bart = Translator(MODELS / "bart", "cpu")  # it has no tokenizer here
    bert = Translator(MODELS / "bert", "cpu")
    gpt2 = Translator(MODELS / "gpt2", "cpu")
    pieces = [["▁Hello", "</s>"]]
    yield from (
        # texts
        *((TypeError, lambda bad=bad: t.translate(bad)) for bad in (None, NAN, 1, b"Hello", object(), True)),
        *((TypeError, lambda bad=bad: t.translate(["Hello!", bad])) for bad in (None, NAN, 1, b"Hello", ["x"], object())),
        *((ValueError, lambda bad=bad: t.translate(bad)) for bad in (SURROGATE, [SURROGATE], ["Hello!", "\udfff"])),
        (RuntimeError, lambda: t.translate(Liar())),
        *((TypeError, lambda bad=bad: t.translate_iter(bad)) for bad in (None, "text", b"text", 3, NAN)),
        (TypeError, lambda: next(t.translate_iter([None]))),
        (ValueError, lambda: next(t.translate_iter([SURROGATE]))),
        (RuntimeError, lambda: next(t.translate_iter(Liar()))),
        # options
        *((GenerateError, lambda bad=bad: t.translate("Hello!", beams=bad)) for bad in (0, 17, 10**9)),
        *((ValueError, lambda bad=bad: t.translate("Hello!", beams=bad)) for bad in (-1, 1.5, "4", NAN, 10**30, [1])),
        (TypeError, lambda: t.translate("Hello!", beams=object())),
        (TypeError, lambda: t.translate("Hello!", beams=b"4")),
        (GenerateError, lambda: t.translate("Hello!", beams=2, n_best=3)),
        (GenerateError, lambda: t.translate("Hello!", n_best=0)),
        *((GenerateError, lambda bad=bad: t.translate("Hello!", max_length=bad)) for bad in (0, 10**9)),
        *((ValueError, lambda bad=bad: t.translate("Hello!", length_penalty=bad)) for bad in (NAN, float("inf"), "1")),
        (ValueError, lambda: t.translate("Hello!", bad_words_ids=[[NAN]])),
        (ValueError, lambda: t.translate("Hello!", beams=2, num_beams=3)),
        *((ValueError, lambda bad=bad: t.translate("Hello!", no_such_option=bad)) for bad in (1, None)),
        (ValueError, lambda: t.generate(ids, no_such_option=None)),
        (ValueError, lambda: t.translate_iter([], beam=2)),
        (GenerateError, lambda: t.translate_iter([], beams=0)),
        (ValueError, lambda: t.translate("Hello!", early_stopping="\ud800")),
        (TypeError, lambda: t.translate("Hello!", glossary={"station": 5})),
        (ValueError, lambda: t.translate("Hello!", early_stopping="sometimes")),
        (GenerateError, lambda: t.translate("Hello!", do_sample=True, temperature=0.0)),
        (TextError, lambda: t.translate("Hello!", target_lang="fr")),
        (TypeError, lambda: t.translate("Hello!", target_lang=3)),
        (TextError, lambda: t.translate("Hello!", task="summarization")),
        (TypeError, lambda: t.translate("Hello!", task=b"x")),
        *((ValueError, lambda bad=bad: t.translate("Hello!", document=bad)) for bad in ("whole", 2, [])),
        (TextError, lambda: bert.summarize("Hello!")),
        # models and devices
        *((ModelError, lambda bad=bad: Translator(bad)) for bad in ("/no/such/folder", "", "./x", "a/b/c/d")),
        (ModelError, lambda: Translator(Path(__file__))),
        (ModelError, lambda: Translator(Path(__file__).parent)),
        (HubError, lambda: Translator("Helsinki-NLP/opus-mt-xx-yy")),
        (HubError, lambda: Translator("firefox:nothing")),
        *((TypeError, lambda bad=bad: Translator(bad)) for bad in (1, NAN, [], object())),
        (ModelError, lambda: Translator("a\0b/c")),
        (GpuError, lambda: Translator(device="no such adapter")),
        (ValueError, lambda: Translator(device="")),
        *((TypeError, lambda bad=bad: Translator(device=bad)) for bad in (None, 0, b"cpu", NAN)),
        *((ValueError, lambda bad=bad: Translator(weights=bad)) for bad in ("int8", "", "F32 ")),
        (TypeError, lambda: Translator(weights=None)),
        (ValueError, lambda: Translator(device="cpu", beams="many", max_length=NAN)),
        # options of a translator are refused at once, and not by its first call
        *((ValueError, lambda bad=bad: Translator(device="cpu", **bad)) for bad in (
            {"beam": 2}, {"beams": "many"}, {"max_length": -1}, {"glossary": {"cup": "Tasse"}, "glossary_mode": "firm"}, {"glossary_mode": "firm"},
        )),
        *((GenerateError, lambda bad=bad: Translator(device="cpu", **bad)) for bad in ({"beams": 0}, {"beams": 1000}, {"do_sample": True, "temperature": 0.0})),
        (TextError, lambda: Translator(device="cpu", target_lang="fr")),
        *((ValueError, call) for call in (
            lambda: closed().translate("Hello!"), lambda: closed().device, lambda: closed().generate(ids),
            lambda: closed().attention("Hello!"), lambda: next(closed().translate_iter(["Hello!"])),
        )),
        (TextError, lambda: bart.translate("Hello!")),
        (TextError, lambda: bert.translate("Hello!")),
        (TextError, lambda: bert.translate_iter(["Hello!"])),
        (TextError, lambda: gpt2.attention("Hello!")),
        (GenerateError, lambda: bert.generate([[1, 2]])),
        # token ids
        *((TypeError, lambda bad=bad: t.generate(bad)) for bad in (None, "ids", 3, NAN, b"ids", Liar())),
        *((ValueError, lambda bad=bad: t.generate([[1, bad, 0]])) for bad in (-1, 2**32, 1.5, NAN, None, "1", b"1")),
        (GenerateError, lambda: t.generate([[10**6]])),
        (GenerateError, lambda: t.generate([[]])),
        (GenerateError, lambda: t.generate([[5] * 10_000])),
        (TypeError, lambda: t.generate([[1], 2])),
        *((ValueError, lambda bad=bad: t.generate(ids, decoder_input_ids=bad)) for bad in ([[-1]], [[1], [2]], [[1.5]])),
        *((GenerateError, lambda bad=bad: t.generate(ids, decoder_input_ids=bad)) for bad in ([[10**6]], [[5] * 1000])),
        (TypeError, lambda: t.generate(ids, decoder_input_ids="x")),
        (ValueError, lambda: gpt2.generate(ids, decoder_input_ids=[[1]])),
        (ValueError, lambda: t.generate(ids, [[1]])),
        (ValueError, lambda: t.generate(ids, [[1, 0, 1, 1, 1]])),
        (ValueError, lambda: t.generate(ids, [[1, 1, 1, 1, 7]])),
        (ValueError, lambda: t.generate(ids, temperature=NAN)),
        (ForwardError, lambda: t.forward([[10**6]], decoder_input_ids=[[1]])),
        (ForwardError, lambda: t.forward([[5]])),
        (ForwardError, lambda: t.forward([], decoder_input_ids=[])),
        (ForwardError, lambda: t.forward([[5]], [[2]], [[1]])),
        (ForwardError, lambda: t.forward([[5]], [[1, 1]], [[1]])),
        (ValueError, lambda: t.forward([[1, 2], [1]], decoder_input_ids=[[1], [1]])),
        (ValueError, lambda: t.forward([[1, NAN]], decoder_input_ids=[[1]])),
        (ValueError, lambda: t.forward([[5], [5]], decoder_input_ids=[[1]])),
        *((ForwardError, lambda bad=bad: t.forward([[5, 6], [5, 6], [5, 6]], decoder_input_ids=[[1], [1], [1]], **bad)) for bad in (
            {"attention_mask": [[1, 1, 1], [1, 1, 0]]}, {"attention_mask": [1] * 6}, {"token_type_ids": [[0] * 3] * 2}, {"global_attention_mask": [[0] * 3] * 2},
        )),
        # scores
        (ValueError, lambda: t.score(["a", "b"], ["c"])),
        (TypeError, lambda: t.score("a", None)),
        (TypeError, lambda: t.score("a", ["b"])),
        (TypeError, lambda: t.score(["a"], [NAN])),
        (ScoreError, lambda: t.score("a", "word " * 5000)),
        (TypeError, lambda: t.score(b"a", b"b")),
        (TypeError, lambda: t.score("a", "b", target_lang=3)),
        # attention
        (TypeError, lambda: t.attention(None)),
        (TypeError, lambda: t.attention("Hello!", 3)),
        (ValueError, lambda: t.attention(SURROGATE)),
        (ValueError, lambda: t.attention("Hello!", memory=-1)),
        *((TypeError, lambda bad=bad: t.attention("Hello!", memory=bad)) for bad in (None, 1e9, "1")),
        (ValueError, lambda: t.attention("Hello!").save("x.gif")),
        # Arrow
        *((TypeError, lambda bad=bad: t.translate_arrow(bad)) for bad in (None, ["x"], "x", Liar())),
        ((TypeError, ValueError), lambda: t.translate_arrow(WrongCapsules())),
        (TypeError, lambda: t.translate_arrow([], output=None)),
        # evaluation
        (TypeError, lambda: wordloom.evaluate(["a"], [None])),
        (TypeError, lambda: wordloom.check(None)),
        (EvaluateError, lambda: wordloom.evaluate([], [])),
        (EvaluateError, lambda: wordloom.evaluate(["a"], ["a", "b"])),
        (TypeError, lambda: wordloom.evaluate([None], ["a"])),
        (TypeError, lambda: wordloom.evaluate("a", "b")),
        (ValueError, lambda: wordloom.evaluate(["a"], ["a"], "comet")),
        (TypeError, lambda: wordloom.evaluate(["a"], ["a"], None)),
        # trainings
        *((TypeError, lambda bad=bad: train(bad)) for bad in (None, 1, NAN, b"x.tsv", ["a", 1], [b"ab"], [("a",)], [("a", None)], [("a", b"b")])),
        *((TypeError, lambda bad=bad: train(bad)) for bad in ([("a", "b"), "x.tsv"], [{"en": "a", "de": "b"}], [("a", "b", "c")], object())),
        *((ValueError, lambda bad=bad: train(bad)) for bad in ([], [("a", "")], [(SURROGATE, "b")], [("a\0b", "b")])),
        (RuntimeError, lambda: train(Liar())),
        *((TrainError, lambda bad=bad: train(bad)) for bad in ("no/such.tsv", PAIRS[:1], __file__)),
        (TypeError, lambda: train({"a": "b"})),
        (TypeError, lambda: train(dev=3)),
        (TypeError, lambda: train(out=None)),
        (TrainError, lambda: train(out=__file__)),
        *((ValueError, lambda bad=bad: train(**bad)) for bad in (
            {"max_steps": 0}, {"max_steps": -1}, {"max_steps": 1.5}, {"max_minutes": NAN}, {"learning_rate": -1}, {"warmup": 0}, {"dropout": 1},
            {"joined": 2}, {"precision": "f16"}, {"goal": "best"}, {"config": "huge"}, {"config": {"d_model": NAN}}, {"accumulate": 0}, {"seed": 2**64},
            {"device": ""}, {"save_minutes": -1}, {"test_steps": 0}, {"attention": "encoder.*=linformer:0"},
        )),
        *((TypeError, lambda bad=bad: train(**bad)) for bad in (
            {"max_steps": "10"}, {"freeze": "encoder"}, {"train_only": [1]}, {"source_lang": 3}, {"resume": None}, {"device": None}, {"config": 3},
            {"config": {"d_model": object()}}, {"on_step": 3}, {"steps": 3}, {"learning_rate": "fast"}, {"keep": None}, {"substitute": 1}, {"attention": 3},
        )),
        *((TrainError, lambda bad=bad: train(**bad)) for bad in (
            {"config": {"model_type": "t5"}}, {"config": {"d_model": "x"}}, {"vocabulary": 5}, {"vocabulary": 10**6}, {"tags": ["x"]}, {"substitute": "none.json"},
        )),
        (ModelError, lambda: train(model="/no/such/folder")),
        (HubError, lambda: train(model="Helsinki-NLP/opus-mt-xx-yy")),
        (GpuError, lambda: train(device="no such adapter", config="tiny", vocabulary=280)),
        # stand-ins
        (ValueError, lambda: wordloom.pipeline("summarization")),
        (ValueError, lambda: wordloom.pipeline("translation", device="cpu")("Hello!", return_tensors=True)),
        (ValueError, lambda: wordloom.ctranslate2.Translator(compute_type="int4")),
        (ValueError, lambda: wordloom.ctranslate2.Translator(device_index=1)),
        (ValueError, lambda: ct2.translate_batch(pieces, return_attention=True)),
        (TypeError, lambda: ct2.translate_batch(pieces, beam=2)),
        (TypeError, lambda: ct2.translate_batch(["▁Hello"])),
        (TypeError, lambda: ct2.translate_batch([[None]])),
        (ValueError, lambda: ct2.translate_batch(pieces, num_hypotheses=5)),
        *((ValueError, lambda bad=bad: list(ct2.translate_iterable(pieces, bad))) for bad in ([], [None, None])),
        (ValueError, lambda: ct2.translate_batch(pieces, [["a"], ["b"]])),
        (ValueError, lambda: ct2.score_batch(pieces, [])),
        (ValueError, lambda: ct2.score_batch(pieces, pieces, offset=1)),
        *((ValueError, lambda bad=bad: ct2.translate_batch(pieces, **bad)) for bad in (
            {"beam_size": 0}, {"beam_size": 17}, {"num_hypotheses": 0}, {"max_decoding_length": 0}, {"batch_type": "x"},
            {"min_decoding_length": 10, "max_decoding_length": 3},
        )),
        (TypeError, lambda: ct2.translate_batch(pieces, beam_size="2")),
        (ValueError, lambda: ct2.translate_iterable(pieces, max_batch_size=0)),
        (TypeError, lambda: ct2.translate_iterable(pieces, beam=3)),
        (ValueError, lambda: wordloom.ctranslate2.Translator(compute_type={"cpu": "int4"})),
        *((ValueError, lambda bad=bad: wordloom.pipeline("translation", device="cpu", **bad)) for bad in (
            {"num_beamz": 3}, {"tokenizer": "x"}, {"torch_dtype": "int3"}, {"device_map": {"": 0}}, {"model_kwargs": {"a": 1}}, {"revision": "main"},
        )),
        (GenerateError, lambda: wordloom.pipeline("translation", device="cpu", num_beams=0)),
        *((TextError, lambda bad=bad: wordloom.pipeline(bad, device="cpu")) for bad in ("translation_en_to_fr", "translation_fr_to_de")),
    )  # fmt: skip


def main(first, count):
    translator = Translator(device="cpu")
    all_calls = list(calls(translator, wordloom.ctranslate2.Translator()))
    failed = 0
    for index, (expected, call) in enumerate(all_calls[first : first + count], first):
        line = call.__code__.co_firstlineno
        try:
            call()
        except expected as error:
            if not str(error).strip():
                print(f"call {index}, line {line}: an exception without a message: {error!r}")
                failed += 1
        except BaseException as error:
            print(f"call {index}, line {line}: raised {error!r}, not {expected}")
            failed += 1
        else:
            print(f"call {index}, line {line}: raised nothing")
            failed += 1
    # after all of it, the interpreter and the translator work
    assert translator.translate("Where is the train station?").text == "Wo ist der Bahnhof?"
    assert issubclass(TextError, TranslateError) and issubclass(ArrowError, wordloom.WordloomError)
    print(f"{len(all_calls)} calls in all")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
