"""The start token of models whose config.json lacks it: what transformers 5.23.0 generates first.

    python make_start_tokens.py > start_tokens.json

Each case has a model of `models/`, changes of its config.json (`null` removes a key), generation_config.json if there is
one, and the first token; `null` if transformers refuses.
"""

import json
import os
import shutil
import tempfile

import torch
from transformers import AutoModelForSeq2SeqLM

MODELS = f"{os.path.dirname(os.path.abspath(__file__))}/models"
NO_START = {"decoder_start_token_id": None}
CASES = [
    (NO_START, None),
    ({**NO_START, "bos_token_id": None}, None),
    ({"decoder_start_token_id": 9, "bos_token_id": None}, None),
    (NO_START, {"bos_token_id": 3}),
    ({"decoder_start_token_id": 9}, {"bos_token_id": 3}),
    ({}, {"decoder_start_token_id": 7, "bos_token_id": 3}),
]

result = []
for name in ["marian_tied", "bart", "mbart", "m2m_100", "pegasus", "t5_relu_tied"]:
    for changes, generation in CASES:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(f"{MODELS}/{name}/model.safetensors", folder)
            with open(f"{MODELS}/{name}/config.json") as file:
                config = json.load(file)
            for key, value in changes.items():
                config.pop(key, None)
                config.update({key: value} if value is not None else {})
            for file, content in [("config.json", config), ("generation_config.json", generation)]:
                if content is not None:
                    with open(f"{folder}/{file}", "w") as opened:
                        json.dump(content, opened)
            model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
            try:
                start = model.generate(torch.tensor([[5, 6, 7, 2]]), max_new_tokens=2)[0, 0].item()
            except ValueError:
                start = None
        result.append({"model": name, "changes": changes, "generation_config": generation, "start": start})
print("[\n" + ",\n".join(json.dumps(case) for case in result) + "\n]")
