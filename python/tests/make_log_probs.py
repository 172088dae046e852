"""Adds transformers' log-probabilities of the scored targets to `data/ctranslate2.json` (transformers 5.24, torch 2.15)."""

import json
from pathlib import Path

import torch
from transformers import MarianMTModel

FILE = Path(__file__).parent / "data" / "ctranslate2.json"
MODEL = Path(__file__).parents[2] / "models" / "tatoeba-en-de"

stored = json.loads(FILE.read_text(encoding="utf-8"))
ids = json.loads((MODEL / "vocab.json").read_text(encoding="utf-8"))
model = MarianMTModel.from_pretrained(MODEL, dtype=torch.float32).eval()
stored["transformers"] = []
for source, scored in zip(stored["sources"], stored["scored"], strict=True):
    labels = [ids[token] for token in scored["tokens"]]
    start = model.config.decoder_start_token_id
    with torch.no_grad():
        logits = model(
            input_ids=torch.tensor([[ids.get(token, ids["<unk>"]) for token in source]]),
            decoder_input_ids=torch.tensor([[start, *labels[:-1]]]),
        ).logits[0]
    found = logits.log_softmax(-1)[range(len(labels)), labels]
    stored["transformers"].append([round(value, 4) for value in found.tolist()])
FILE.write_text(json.dumps(stored, ensure_ascii=False) + "\n", encoding="utf-8")
