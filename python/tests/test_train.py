"""Trainings of tiny models, also beside the command's."""

import _thread
import json
import logging
import os
import random
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

import wordloom
from conftest import DATA, run_python

SHAPE = {
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 128,
}
OPTIONS = {
    "vocabulary": 400,
    "batch_tokens": 256,
    "warmup": 10,
    "cooldown": 0,
    "bleu_pairs": 4,
    "patience": 0,
    "device": "cpu",
    "source_lang": "en",
    "target_lang": "de",
}
#: cargo puts it here; the package that is tested lies in target/python.
COMMAND = Path(wordloom.__file__).parents[2] / "debug" / ("wordloom.exe" if sys.platform == "win32" else "wordloom")


@pytest.fixture(scope="module")
def pairs():
    """160 pairs of Tatoeba."""
    lines = (DATA / "tatoeba-test.tsv").read_text(encoding="utf-8").splitlines()[:160]
    return [tuple(line.split("\t")) for line in lines]


def trained(pairs, out, **options):
    return wordloom.train(pairs, out, **{"config": SHAPE, **OPTIONS, **options})


def model_of(folder):
    """The bytes of a model's folder, and the moments of a checkpoint."""
    files = ["model.safetensors", "training.safetensors", "config.json", "generation_config.json", "tokenizer_config.json", "source.spm", "vocab.json"]
    return {name: (Path(folder) / name).read_bytes() for name in files if (Path(folder) / name).exists()}


def checkpoints(folder):
    return sorted(path.name for path in (Path(folder) / "checkpoints").iterdir())


def log(folder, kind):
    lines = (Path(folder) / "train.jsonl").read_text(encoding="utf-8").splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == kind]


def test_a_model_learns_to_reverse(tmp_path):
    draws = random.Random(1)
    texts = [[draws.choice("abcdefgh") for _ in range(draws.randint(2, 5))] for _ in range(2000)]
    pairs = ((" ".join(text), " ".join(reversed(text))) for text in texts)
    steps, tests = [], []
    result = wordloom.train(
        pairs,
        tmp_path / "reverse",
        config={**SHAPE, "d_model": 64, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128},
        max_steps=300,
        batch_tokens=512,
        learning_rate=4e-3,
        warmup=50,
        dropout=0,
        patience=0,
        bleu_pairs=20,
        device="cpu",
        on_step=steps.append,
        on_test=tests.append,
    )
    assert result.folder == tmp_path / "reverse"
    assert (result.steps, result.stopped) == (300, "max_steps")
    assert result.dev_loss < 0.5 * tests[0].loss
    assert result.dev_loss == min(test.loss for test in tests)
    assert result.best_step == next(test.step for test in tests if test.loss == result.dev_loss)
    assert result.bleu > 50 and result.chrf > 50
    assert [step.step for step in steps] == list(range(10, 301, 10))
    assert steps[0].loss > steps[-1].loss > 0 and steps[-1].progress == 1
    with wordloom.Translator(result.folder, "cpu") as translator:
        assert translator.translate("a b c").text == "c b a"
    card = (result.folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "```python\nwordloom.train(pairs, " in card and "max_steps=300" in card and "pairs: 2000 pairs" in card


def test_the_command_trains_the_same_model(pairs, tmp_path):
    if not COMMAND.exists():
        pytest.skip(f"{COMMAND} is not there: cargo build --package wordloom-cli")
    (tmp_path / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    (tmp_path / "shape.json").write_text(json.dumps(SHAPE), encoding="utf-8")
    names = {"source_lang": "from", "target_lang": "to"}

    def run_command(out, **options):
        options = {"pairs": "pairs.tsv", "config": "shape.json", "out": out, **OPTIONS, **options}
        words = [(f"--{names.get(name, name).replace('_', '-')}", str(value)) for name, value in options.items()]
        arguments = [word for pair in words for word in pair if word != "True"]
        done = subprocess.run([COMMAND, "train", *arguments], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=120)
        assert done.returncode == 0, done.stderr

    numbers = {"learning_rate": 1.6e-3, "dropout": 0.15, "lower_cased": 0.2, "test_steps": 10, "seed": 7}
    run_command("command", max_steps=20, **numbers)
    trained(pairs, tmp_path / "python", max_steps=20, **numbers)
    wanted = model_of(tmp_path / "command")
    assert len(wanted) == 6
    assert model_of(tmp_path / "python") == wanted
    last = "checkpoints/step-00000020"
    assert model_of(tmp_path / "python" / last) == model_of(tmp_path / "command" / last)
    # each goes on from the other's checkpoint, if all options are the same
    run_command("both", max_steps=10, **numbers)
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        trained("pairs.tsv", "both", config="shape.json", max_steps=20, resume=True, **numbers)
    finally:
        os.chdir(here)
    assert model_of(tmp_path / "both" / last) == model_of(tmp_path / "command" / last)


def test_an_exception_of_the_callback_writes_a_checkpoint_to_go_on_from(pairs, tmp_path, caplog):
    def stop(step):
        if step.step == 10:
            raise LookupError("enough")

    once = trained(pairs, tmp_path / "once", max_steps=20, test_steps=10, accumulate=2)
    with pytest.raises(LookupError, match="enough"):
        trained(pairs, tmp_path / "twice", max_steps=20, test_steps=10, accumulate=2, on_step=stop)
    assert checkpoints(tmp_path / "twice") == ["step-00000010"]
    caplog.set_level(logging.INFO, "wordloom")
    twice = trained(pairs, tmp_path / "twice", max_steps=20, test_steps=10, accumulate=2, resume=True)
    assert any("going on from" in record.message and "step 10" in record.message for record in caplog.records)
    assert model_of(tmp_path / "twice") == model_of(tmp_path / "once")
    last = "checkpoints/step-00000020"
    assert model_of(tmp_path / "twice" / last) == model_of(tmp_path / "once" / last)
    assert (twice.steps, twice.dev_loss, twice.bleu) == (once.steps, once.dev_loss, once.bleu)


def test_ctrl_c_writes_a_checkpoint(pairs, tmp_path):
    begun = threading.Event()

    def press():
        begun.wait(60)
        _thread.interrupt_main()

    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        trained(pairs, tmp_path / "out", max_minutes=2, test_steps=10**8, on_step=lambda _: begun.set())
    presser.join()
    (name,) = checkpoints(tmp_path / "out")
    step = int(name.removeprefix("step-"))
    assert log(tmp_path / "out", "end")[-1] == {"event": "end", "step": step, "reason": "interrupted"}
    assert trained(pairs, tmp_path / "out", max_steps=step + 5, test_steps=10**8, resume=True).steps == step + 5


def test_pairs_come_in_several_forms(pairs, tmp_path):
    table, one, other = (tmp_path / name for name in ("pairs.tsv", "one.txt", "other.txt"))
    table.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    one.write_text("".join(f" {source}\n" for source, _ in pairs), encoding="utf-8")
    other.write_text("".join(f"{target} \n" for _, target in pairs), encoding="utf-8")
    forms = [
        pairs,
        [list(pair) for pair in pairs],
        (pair for pair in pairs),
        zip(one.open(encoding="utf-8"), other.open(encoding="utf-8")),
        table,
        str(table),
        [table],
        (one, other),
        [(one, other)],
    ]
    models = []
    for number, form in enumerate(forms):
        trained(form, tmp_path / f"{number}", max_steps=1, bleu_pairs=0)
        models.append(model_of(tmp_path / f"{number}"))
    assert all(model == models[0] for model in models)
    result = trained([table, (one, other)], tmp_path / "more", dev=iter(pairs[:9]), max_steps=1, bleu_pairs=0)
    assert (result.bleu, result.chrf) == (None, None)
    (start,) = log(tmp_path / "more", "start")
    assert (start["pairs"], start["dev_pairs"]) == (302, 9)


def test_the_lock_is_released_and_a_bar_moves(pairs, tmp_path, monkeypatch):
    counted, moved, ended = [], [], threading.Event()

    class Bar:
        n = total = 0

        def __init__(self, **_):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def set_postfix(self, numbers, refresh):
            moved.append((self.total, *numbers))

        def update(self, by):
            self.n += by

    def count():
        while not ended.wait(0.001):
            counted.append(1)

    monkeypatch.setattr("wordloom._progress._tqdm", lambda: Bar)
    counter = threading.Thread(target=count)
    counter.start()
    trained(pairs, tmp_path / "out", max_steps=40, test_steps=20)
    ended.set()
    counter.join()
    assert len(counted) > 5
    assert moved[0] == (40, "loss") and moved[-1] == (40, "loss", "dev_loss")


def test_a_model_learns_further(pairs, tmp_path):
    """With frozen parts, and until patience ends it."""
    base = trained(pairs, tmp_path / "base", max_steps=4)
    result = trained(
        pairs, tmp_path / "on", model=base.folder, config=None, vocabulary=None, freeze=["encoder.", "shared"], learning_rate=1e-9,
        max_steps=200, test_steps=10, goal="bleu", patience=2,
    )  # fmt: skip
    assert result.stopped == "patience" and result.steps < 200
    assert "Training went on from" in (tmp_path / "on" / "MODEL_CARD.md").read_text(encoding="utf-8")


def test_errors_have_pythons_names(pairs, tmp_path):
    trained(pairs, tmp_path / "out", max_steps=2)
    with pytest.raises(wordloom.TrainError, match="already; resume=True goes on"):
        trained(pairs, tmp_path / "out", max_steps=2)
    with pytest.raises(wordloom.TrainError, match="learning_rate was .*, and is 0.1; give it as it was"):
        trained(pairs, tmp_path / "out", max_steps=4, learning_rate=0.1, resume=True)
    with pytest.raises(wordloom.TrainError, match="dev set was 8 pairs.*, and is 7 pairs"):
        trained(pairs[:-1], tmp_path / "out", max_steps=4, resume=True)
    with pytest.raises(wordloom.TrainError, match="training has diverged"):
        trained(pairs, tmp_path / "bad", max_steps=60, learning_rate=1e30, warmup=1, max_norm=0)
    with pytest.raises(ValueError, match=r"pairs\[1\], target is empty; leave the pair out"):
        trained([("a", "b"), ("c", " ")], tmp_path / "none")
    with pytest.raises(ValueError, match="max_steps is 0"):
        trained(pairs, tmp_path / "none", max_steps=0)
    assert not (tmp_path / "none").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_trains(tmp_path):
    """Every epoch has other examples, which threads of their own make. One thread is enough for a callback that translates."""
    code = f"""
    import os, random, sys, wordloom
    draw = random.Random(1).choice
    pairs = [(" ".join(draw("abcdefgh") for _ in range(6)), "x y z") for _ in range(60)]
    def train(out):
        return wordloom.train(
            pairs, out, config={SHAPE!r}, batch_tokens=64, max_steps=30, lower_cased=0.5, bleu_pairs=0, device="cpu",
            on_test=lambda _: wordloom.translate("Hello!"),
        ).steps
    assert train(sys.argv[1] + "/parent") == 30
    child = os.fork()
    if child == 0:
        os._exit(0 if train(sys.argv[1] + "/child") == 30 else 1)
    assert os.waitpid(child, 0)[1] == 0
    """
    done = run_python(textwrap.dedent(code), str(tmp_path), RAYON_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    assert model_of(tmp_path / "parent") == model_of(tmp_path / "child")
