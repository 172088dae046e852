"""Token ids in; ids, scores, tensors and attention out, against transformers' results in `tests/data`."""

import copy
import json
import math
import pickle

import pytest

import wordloom
from conftest import DATA, run_python, safetensors

numpy = pytest.importorskip("numpy")
MODELS = DATA / "models"


def opened(name):
    return wordloom.Translator(MODELS / name, "cpu")


@pytest.fixture(scope="module")
def marian():
    return opened("marian_tied")


def expected(name):
    tensors = safetensors(MODELS / name / "expected.safetensors")
    return {name: numpy.array(values).reshape(shape) for name, (shape, values) in tensors.items()}


def test_forward_gives_transformers_tensors(marian):
    wanted = expected("marian_tied")
    inputs = {name: wanted[f"main.{name}"] for name in ("input_ids", "attention_mask", "decoder_input_ids")}
    found = marian.forward(**inputs, output_hidden_states=True, output_attentions=True)
    assert found["logits"].dtype == numpy.float32 and found["logits"].flags.writeable
    numpy.testing.assert_allclose(found["logits"], wanted["main.logits"], rtol=1e-4, atol=1e-4)
    real = inputs["attention_mask"][:, :, None] == 1
    for name, layers in found.items():
        if name.startswith("encoder") and name.endswith("hidden_states"):
            for layer, value in enumerate(layers):
                difference = numpy.abs(value - wanted[f"main.{name}.{layer}"]) * real
                assert difference.max() < 1e-4
        if name in ("cross_attentions", "decoder_attentions"):
            for layer, value in enumerate(layers):
                numpy.testing.assert_allclose(value, wanted[f"main.{name}.{layer}"], rtol=1e-4, atol=1e-4)
    # lists and arrays are the same
    lists = {name: value.tolist() for name, value in inputs.items()}
    assert (marian.forward(**lists)["logits"] == found["logits"]).all()


def test_an_encoder_alone_runs():
    wanted = expected("bert")
    inputs = {
        name: wanted[f"main.{name}"]
        for name in ("input_ids", "attention_mask", "token_type_ids")
        if f"main.{name}" in wanted
    }
    found = opened("bert").forward(**inputs)
    difference = numpy.abs(found["logits"] - wanted["main.logits"]) * (inputs["attention_mask"][:, :, None] == 1)
    assert difference.max() < 1e-4


@pytest.mark.parametrize("name", ["marian_tied", "gpt2", "t5_relu_tied"])
def test_generate_gives_transformers_sequences(name):
    translator, tensors = opened(name), expected(name)
    cases = json.loads((MODELS / name / "expected.json").read_text(encoding="utf-8"))["cases"]
    compared = 0
    for case in cases:
        inputs, mask = (tensors.get(f"{case['input']}.{part}") for part in ("input_ids", "attention_mask"))
        if inputs is None:
            continue
        options = case["generate_kwargs"]
        found = translator.generate(inputs, mask, return_dict_in_generate=True, **options)
        wanted = numpy.array(case["sequences"])
        assert found.sequences.dtype == numpy.int64
        padding = translator._engine().pad_token_id
        if padding == 0:  # transformers' beam search takes a 0 for "no padding token", and fills up with the end token
            for row in wanted:
                tail = numpy.flatnonzero(row == 1)
                if len(tail) > 1 and (row[tail[0] :] == 1).all():
                    row[tail[0] + 1 :] = padding
        assert found.sequences.tolist() == wanted[:, : found.sequences.shape[1]].tolist()
        assert (wanted[:, found.sequences.shape[1] :] == padding).all()
        compared += 1
    assert compared > 8


def test_scores_are_transformers():
    models = json.loads((DATA / "score.json").read_text(encoding="utf-8"))
    for model in models[:3]:
        translator = opened(model["model"])
        cases = model["cases"]
        found = translator._engine().score_ids(
            [case["input_ids"] for case in cases], [case["labels"] for case in cases]
        )
        for values, case in zip(found, cases, strict=True):
            assert values == pytest.approx(case["token_log_probabilities"], abs=1e-3)


def test_texts_are_scored(translator, cases):
    translation = translator.translate("I am tired.", beams=1)
    best = translation.sentences[0].hypotheses[0]
    score = translator.score("I am tired.", translation.text)
    assert score.token_log_probabilities == pytest.approx(best.step_logprobs, abs=1e-4)
    assert score.perplexity == pytest.approx(math.exp(-score.log_probability / len(best.step_logprobs)))
    worse, same = translator.score(["I am tired.", "I am tired."], ["Das Haus ist rot.", translation.text])
    assert worse.log_probability < same.log_probability == score.log_probability


def test_attention_is_that_of_forward(translator):
    attention = translator.attention("I am tired.")
    (sentence,) = attention.sentences
    assert sentence.target == "Ich bin müde."
    assert sentence.source_tokens[-1] == "</s>" and sentence.target_tokens[-1] == "</s>"
    cross = sentence.cross
    assert cross.shape == (3, 8, len(sentence.target_tokens), len(sentence.source_tokens))
    numpy.testing.assert_allclose(cross.sum(-1), 1.0, atol=1e-5)
    found = translator.translate("I am tired.").sentences[0]
    forward = translator.forward(
        [found.source_ids], decoder_input_ids=[found.hypotheses[0].tokens[:-1]], output_attentions=True
    )
    for layer, weights in enumerate(forward["cross_attentions"]):
        numpy.testing.assert_allclose(cross[layer], weights[0], atol=1e-5)
    for layer, weights in enumerate(forward["encoder_attentions"]):
        numpy.testing.assert_allclose(sentence.encoder[layer], weights[0], atol=1e-5)
    assert sentence.decoder.shape[-2:] == (len(sentence.target_tokens),) * 2
    assert sentence.alignment == [(0, 0), (1, 1), (2, 2)]
    assert sentence.layers == {"encoder": [0, 1, 2, 3], "decoder": [0, 1, 2], "cross": [0, 1, 2]}


def test_layers_are_named_if_memory_leaves_some_out(translator):
    (full,) = translator.attention("How are you?").sentences
    (part,) = translator.attention("How are you?", memory=6 * full.cross[0].nbytes).sentences
    assert 0 < sum(map(len, part.layers.values())) < 10
    for kind, layers in part.layers.items():
        weights = getattr(part, kind)
        assert len(weights) == len(layers)
        for mine, layer in zip(weights, layers, strict=True):
            assert (mine == getattr(full, kind)[layer]).all()


def test_attention_is_shown_and_saved(translator, tmp_path):
    attention = translator.attention("Good morning! <script>alert(1)</script>", "Guten Morgen!")
    page = attention.html()
    assert page.startswith("<!") and "<script>alert" not in page
    shown = attention._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and 'sandbox="allow-scripts"' in shown
    # nothing of the page can end the attribute
    assert shown.count('"') == 2 * shown.split("<iframe")[1].split("srcdoc=")[0].count('"') + 8
    for name, begin in [("a.html", b"<!"), ("a.json", b"{"), ("a.safetensors", b"")]:
        attention.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begin)
    attention.save(bytes(tmp_path / "b.html"))
    assert (tmp_path / "b.html").read_bytes().startswith(b"<!")
    with pytest.raises(ValueError, match="no known ending"):
        attention.save(tmp_path / "a.gif")
    assert translator.attention("").sentences == []


def test_arrays_without_numpy_are_memoryviews():
    code = """
import sys
sys.modules["numpy"] = None  # as if it were not installed
import wordloom
translator = wordloom.Translator(sys.argv[1], "cpu")
logits = translator.forward([[5, 6, 0]], decoder_input_ids=[[1, 2]])["logits"]
print(logits.shape, logits.format, logits[0, 1, 3] == logits.tolist()[0][1][3])
print(translator.generate([[5, 6, 0]], max_new_tokens=2).shape[0])
"""
    done = run_python(code, str(MODELS / "marian_tied"))
    assert done.stdout == "(1, 2, 645) f True\n1\n", done.stderr


def test_evaluation_is_sacrebleus(lines):
    wanted = json.loads((DATA / "evaluate" / "tatoeba.json").read_text(encoding="utf-8"))
    references = [
        line.split("\t")[1] for line in (DATA / "tatoeba-test.tsv").read_text(encoding="utf-8").splitlines()
    ]
    hypotheses = wanted["hypotheses"]
    assert wordloom.evaluate(hypotheses, references) == {"bleu": pytest.approx(wanted["bleu"]["score"], abs=1e-6)}
    assert wordloom.evaluate(hypotheses, [references], "chrf") == {
        "chrf": pytest.approx(wanted["chrf"]["score"], abs=1e-6)
    }
    assert wordloom.evaluate(["a b c"], ["a b c"], "rouge")["rougeL"] == pytest.approx(1.0)


def test_masks_have_the_shape_of_the_ids(marian):
    ids, targets = numpy.full((3, 2), 5), [[1]] * 3
    expected = marian.forward(ids, numpy.ones((3, 2), numpy.float32), targets)["logits"]
    assert (expected == marian.forward(ids, None, targets)["logits"]).all()
    for name in ("attention_mask", "token_type_ids", "global_attention_mask"):
        with pytest.raises(wordloom.ForwardError, match=rf"{name} is \[2, 3\], but input_ids are \[3, 2\]"):
            marian.forward(ids, decoder_input_ids=targets, **{name: numpy.ones((2, 3), int)})


def test_generate_takes_float_masks_and_the_options_of_its_translator(translator):
    ids = [[633, 277, 267, 927, 1338, 262, 0]]
    whole = translator.generate(ids, num_beams=1)
    assert (translator.generate(ids, numpy.ones((1, 7), numpy.float32), num_beams=1) == whole).all()
    short = wordloom.Translator(device="cpu", beams=1, max_length=4, source_lang="en")
    assert (short.generate(ids) == whole[:, :4])[:, :3].all() and short.generate(ids).shape == (1, 4)
    assert (short.generate(ids, max_length=40, beams=1) == whole).all()


def test_messages_name_arguments(translator):
    with pytest.raises(TypeError, match="source is str, but target is list; pass two strings"):
        translator.score("a", ["b"])
    with pytest.raises(TypeError, match='metric is NoneType; pass "bleu"'):
        wordloom.evaluate(["a"], ["a"], None)
    with pytest.raises(ValueError, match="memory is -1; pass a number of bytes from 0"):
        translator.attention("Hello!", memory=-1)


def test_global_tokens_are_those_of_the_mask():
    led, tensors = opened("led"), expected("led")
    cases = json.loads((MODELS / "led" / "expected.json").read_text())["cases"]
    for case in cases:
        if not case["name"].startswith("greedy"):
            continue
        masks = {
            name: tensors[f"{case['input']}.{name}"]
            for name in ("attention_mask", "global_attention_mask")
            if f"{case['input']}.{name}" in tensors
        }
        found = led.generate(tensors[f"{case['input']}.input_ids"], **masks, **case["generate_kwargs"])
        assert found.tolist() == case["sequences"], case["name"]
    with pytest.raises(ValueError, match="global_attention_mask has another shape than input_ids"):
        led.generate([[5, 6]], global_attention_mask=[[1]])
    with pytest.raises(ValueError, match="global_attention_mask holds other values"):
        led.generate([[5, 6]], global_attention_mask=[[2, 0]])


def test_outputs_begin_with_decoder_input_ids(translator):
    ids, start = [[633, 277, 267, 927, 1338, 262, 0]], 11999
    (whole,) = translator.generate(ids, num_beams=1).tolist()
    for beginning in ([whole[:3]], [whole[1:3]], numpy.array([whole[:3]]), [[]], [[start]], None):
        assert translator.generate(ids, decoder_input_ids=beginning, num_beams=1).tolist() == [whole]
    (other,) = translator.generate(ids, decoder_input_ids=[[2281]]).tolist()
    assert other[:2] == [start, 2281] and other[-1] == 0
    # as in transformers, new tokens do not count it, and lengths do
    options = {"decoder_input_ids": [whole[:3]], "num_beams": 1}
    assert translator.generate(ids, max_new_tokens=2, **options).shape == (1, 5)
    assert translator.generate(ids, max_length=5, **options).shape == (1, 5)
    assert translator.generate(ids, min_new_tokens=9, **options).shape[1] >= 12
    two = translator.generate(ids * 2, decoder_input_ids=[[2281], [536]], num_beams=3, num_return_sequences=2)
    assert two[:, 1].tolist() == [2281, 2281, 536, 536]


def test_attention_can_be_pickled(translator):
    attention = translator.attention("Hello! How are you?")
    copied = pickle.loads(pickle.dumps(attention))
    assert copied.html() == attention.html()
    assert (copied.sentences[1].cross == attention.sentences[1].cross).all()
    assert copy.deepcopy(attention.sentences[0]).alignment == attention.sentences[0].alignment
