"""Summaries of whole documents, with the ids of transformers' tokenizers and of its ``generate``."""

import json
import shutil

import pytest

import wordloom
from conftest import DATA

CASES = json.loads((DATA / "summaries.json").read_text(encoding="utf-8"))["cases"]


def make_folder(folder, case):
    """The case's model, whose task has the case's options, with the first tokens of a stored tokenizer."""
    stored = DATA / "models" / case["model"]
    for name in ("model.safetensors", "generation_config.json"):
        shutil.copy(stored / name, folder / name)
    config = json.loads((stored / "config.json").read_text(encoding="utf-8"))
    config["task_specific_params"] = {"summarization": {**case["options"], "prefix": case["prefix"]}}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tokenizer = json.loads((DATA / "tokenizers" / f"{case['tokenizer']}.tokenizer.json").read_text(encoding="utf-8"))
    model, count = tokenizer["model"], case["vocabulary"]
    if isinstance(model["vocab"], list):
        model["vocab"] = model["vocab"][:count]
    else:
        model["vocab"] = known = {piece: index for piece, index in model["vocab"].items() if index < count}
        pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in model["merges"]]
        model["merges"] = [pair for pair in pairs if all(part in known for part in (*pair, "".join(pair)))]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    return folder


@pytest.fixture(params=CASES, ids=lambda case: case["model"])
def summarizing(request, tmp_path):
    return make_folder(tmp_path, request.param), request.param["documents"]


def test_summaries_have_transformers_ids(summarizing):
    folder, documents = summarizing
    translator = wordloom.Translator(folder, "cpu")
    found = translator.summarize([document["text"] for document in documents], truncate=True)
    for summary, document in zip(found, documents, strict=True):
        (only,) = summary.sentences
        assert only.source_ids == document["ids"]
        assert only.hypotheses[0].tokens == document["summary"]
        assert only.left_out_tokens == document["tokens"] - len(document["ids"])


def test_a_document_is_only_cut_if_asked(summarizing):
    folder, documents = summarizing
    summarize = wordloom.pipeline("summarization", folder, device=-1)
    for document in documents:
        text, excess = document["text"], document["tokens"] - len(document["ids"])
        answer = summarize(text, truncation=True)
        assert answer == [{"summary_text": summarize.translator.summarize(text, truncate=True).text}]
        if excess:
            with pytest.raises(wordloom.TranslateError, match=f"has {document['tokens']} tokens.*truncate=True of summarize"):
                summarize(text)
        else:
            assert summarize(text) == answer
