#!/usr/bin/env python3
"""Make summaries.json: documents as transformers' tokenizers cut them for small models, and the summaries of its `generate`.

    python make_summaries.py

The models are those of models/ with random weights, so that only ids are compared. Nothing is downloaded. Python: torch,
transformers 5.23.0.
"""
import json
import shutil
import tempfile
from pathlib import Path

import torch
import transformers
from transformers import AutoModelForSeq2SeqLM, PreTrainedTokenizerFast

DATA = Path(__file__).parent
DOCUMENT = (
    "The ferry to the island leaves at nine. It was late on Monday, because of the wind.\n\n"
    "Passengers waited for two hours; some went home. \"We are sorry\", said the company, \"it won't happen again.\"\n"
    "On Tuesday, 34 people took the first boat. "
)


def folder(out, model, tokenizer, vocabulary):
    """The model with the tokenizer's first tokens: its own has more than the model."""
    for file in (DATA / "models" / model).iterdir():
        if not file.name.startswith("expected"):
            shutil.copy(file, out)
    words = json.loads((DATA / "tokenizers" / f"{tokenizer}.tokenizer.json").read_text())
    if words["model"]["type"] == "BPE":
        known = {token: number for token, number in words["model"]["vocab"].items() if number < vocabulary}
        pairs = [pair if isinstance(pair, list) else pair.split(" ") for pair in words["model"]["merges"]]
        words["model"]["merges"] = [pair for pair in pairs if all(part in known for part in [*pair, "".join(pair)])]
        words["model"]["vocab"] = known
    else:
        words["model"]["vocab"] = words["model"]["vocab"][:vocabulary]
    (out / "tokenizer.json").write_text(json.dumps(words))
    return PreTrainedTokenizerFast(tokenizer_file=str(out / "tokenizer.json"))


def case(model, tokenizer, vocabulary, prefix, limit, **options):
    with tempfile.TemporaryDirectory() as out:
        words = folder(Path(out), model, tokenizer, vocabulary)
        network = AutoModelForSeq2SeqLM.from_pretrained(out, dtype=torch.float32).eval()
        texts = {"short": DOCUMENT[:60].strip(), "long": (DOCUMENT * 3).strip()}
        found = []
        for name, text in texts.items():
            whole = words(prefix + text).input_ids
            ids = words(prefix + text, truncation=limit is not None, max_length=limit).input_ids
            assert max(ids) < network.config.vocab_size
            summary = network.generate(torch.tensor([ids]), **options)[0].tolist()
            found.append({"name": name, "text": text, "tokens": len(whole), "ids": ids, "summary": summary})
        return {"model": model, "tokenizer": tokenizer, "vocabulary": vocabulary, "prefix": prefix, "options": options, "documents": found}


def main():
    t5 = {"num_beams": 2, "max_length": 30, "no_repeat_ngram_size": 3}
    cases = [
        case("bart", "bytelevel_bpe_bart", 500, "", 64, num_beams=4, min_length=12, max_length=24),
        case("t5_relu_tied", "unigram_t5", 512, "summarize: ", None, **t5),
    ]
    value = {"transformers": transformers.__version__, "cases": cases}
    (DATA / "summaries.json").write_text(json.dumps(value, indent=0) + "\n")


main()
