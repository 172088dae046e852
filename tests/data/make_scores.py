#!/usr/bin/env python3
"""Make score.json: what Hugging Face's models say of given labels, token by token.

    python make_scores.py

Reads the models beside it. Python: torch (CPU), transformers.
"""
import json
import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

DATA = Path(__file__).parent
torch.set_num_threads(1)


def log_probabilities(logits, labels):
    return torch.log_softmax(logits.double(), -1).gather(-1, labels[:, None])[:, 0].tolist()


def seq2seq(name, random):
    model = AutoModelForSeq2SeqLM.from_pretrained(DATA / "models" / name, dtype=torch.float32).eval()
    config = model.config
    vocabulary = getattr(config, "decoder_vocab_size", None) or config.vocab_size
    cases = []
    for source_length, target_length in [(5, 7), (9, 1), (1, 4), (12, 12)]:
        def ids(length, end):
            return torch.randint(5, end, (1, length - 1), generator=random).tolist()[0] + [config.eos_token_id]

        source, labels = ids(source_length, config.vocab_size), ids(target_length, vocabulary)
        # mBART's own shift takes the language from the labels' end; with this one it comes from the configuration
        inputs = [model.generation_config.decoder_start_token_id] + labels[:-1]
        tensor = lambda ids: torch.tensor([ids])
        with torch.no_grad():
            out = model(input_ids=tensor(source), decoder_input_ids=tensor(inputs), labels=tensor(labels))
        values = log_probabilities(out.logits[0], torch.tensor(labels))
        assert abs(out.loss.item() + sum(values) / len(values)) < 1e-5
        cases.append({"input_ids": source, "labels": labels, "loss": out.loss.item(), "token_log_probabilities": values})
    return {"model": name, "cases": cases}


def causal(name, random, stride=24):
    model = AutoModelForCausalLM.from_pretrained(DATA / "models" / name, dtype=torch.float32).eval()
    size, cases = model.config.n_positions, []
    for length in [2, 9, size, size + 1, 200]:
        ids = torch.randint(5, model.config.vocab_size, (1, length), generator=random)
        values, scored = [], 1
        while scored < length:
            end = min(size, length) if scored == 1 else min(scored + stride, length)
            window = ids[:, max(end - size, 0):end]
            count = end - scored
            labels = window.clone()
            labels[:, :-count] = -100
            with torch.no_grad():
                out = model(input_ids=window, labels=labels)
            new = log_probabilities(out.logits[0, -count - 1:-1], window[0, -count:])
            assert abs(out.loss.item() + sum(new) / count) < 1e-5
            values += new
            scored = end
        cases.append({"input_ids": ids[0].tolist(), "stride": stride, "token_log_probabilities": values})
    return {"model": name, "cases": cases}


random = torch.Generator().manual_seed(2017)
names = ["marian_tied", "marian_untied_swish", "marian_separate_head", "marian_f16", "bart", "mbart", "m2m_100", "pegasus",
         "t5_relu_tied", "t5_gated_untied_bf16"]
models = [seq2seq(name, random) for name in names] + [causal("gpt2", random)]
(DATA / "score.json").write_text(json.dumps(models, indent=0) + "\n")
