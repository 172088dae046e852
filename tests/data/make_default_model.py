#!/usr/bin/env python3
"""Make expected.json of a model in models/: what Hugging Face's MarianMTModel translates with its weights.

    python make_default_model.py ../../models/tatoeba-en-de-q8 [--check] [--bleu [FILE]]
    python make_default_model.py ../../models/tatoeba-de-en-q8 --swap [--check] [--bleu [FILE]]
    python make_default_model.py ../../models/tatoeba-en-fr-q8 --test tatoeba-test-fr.tsv [--check] [--bleu [FILE]]
    python make_default_model.py ../../models/tatoeba-fr-en-q8 --of tatoeba-en-fr-q8 --swap --test tatoeba-test-fr.tsv [--check] [--bleu [FILE]]

Writes FOLDER/expected.json, with the sentences of models/tatoeba-en-de/expected.json (of another folder: --of) or, with --swap, their translations.
--check compares instead. --bleu translates tatoeba-test.tsv (another table: --test) as well and prints the scores of the model's card; FILE gets the
translations with 4 beams, for make_evaluate.py. Weights in 8 bits (docs/weights.md) are multiplied by their scales first.
Arithmetic is float32.
Python: torch (CPU), transformers 5.23.0, sentencepiece, safetensors; sacrebleu 2.6.0 for --bleu.
"""
import argparse
import json
import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
import transformers
from safetensors.torch import load_file
from transformers import GenerationConfig, MarianConfig, MarianMTModel, MarianTokenizer

DATA = Path(__file__).parent
MODELS = DATA / "../../models"
SETTINGS = ["max_length", "length_penalty", "early_stopping", "bad_words_ids", "forced_eos_token_id",
            "decoder_start_token_id", "eos_token_id", "pad_token_id"]
BEAMS = 4
torch.set_num_threads(1)
torch.set_grad_enabled(False)


def weights(folder):
    """The file's tensors as float32: docs/weights.md."""
    tensors = load_file(folder / "model.safetensors")
    scales = {name: tensors.pop(name) for name in list(tensors) if name.endswith(".scale")}
    return {name: tensor.float() * scales.get(f"{name}.scale", 1.0) for name, tensor in tensors.items()}


def load(folder, dtype):
    model = MarianMTModel(MarianConfig.from_pretrained(folder)).float()
    missing, unexpected = model.load_state_dict(weights(folder), strict=False)
    made = ("embed_positions.weight", "embed_tokens.weight", "lm_head.weight")
    assert not unexpected and all(name.endswith(made) for name in missing), (missing, unexpected)
    model.tie_weights()
    model.generation_config = GenerationConfig.from_pretrained(folder)
    return model.to(dtype).eval()


def case(text, tokenizer, model, double):
    inputs = tokenizer([text], return_tensors="pt")
    options = dict(do_sample=False, return_dict_in_generate=True, output_scores=True)
    greedy, beam = (model.generate(**inputs, num_beams=beams, **options) for beams in (1, BEAMS))
    top = torch.cat(greedy.scores).topk(2, dim=-1).values
    margin = (top[:, 0] - top[:, 1])[torch.isfinite(top[:, 1])].min().item()
    greedy_ids, beam_ids = (result.sequences[0].tolist() for result in (greedy, beam))
    in_double = [double.generate(**inputs, num_beams=beams, do_sample=False)[0].tolist() for beams in (1, BEAMS)]
    return {
        "source": text, "source_ids": inputs["input_ids"][0].tolist(),
        "greedy_ids": greedy_ids, "greedy_text": tokenizer.decode(greedy_ids, skip_special_tokens=True),
        "greedy_min_margin": round(margin, 5),
        "beam_ids": beam_ids, "beam_text": tokenizer.decode(beam_ids, skip_special_tokens=True),
        "beam_score": round(beam.sequences_scores[0].item(), 6),
        "same_in_float64": [greedy_ids, beam_ids] == in_double,
    }


def translate(texts, tokenizer, model, beams):
    out, order = {}, sorted(range(len(texts)), key=lambda i: len(texts[i]))
    for start in range(0, len(order), 64):
        batch = order[start:start + 64]
        inputs = tokenizer([texts[i] for i in batch], return_tensors="pt", padding=True, truncation=True)
        ids = model.generate(**inputs, num_beams=beams, do_sample=False)
        out.update(zip(batch, tokenizer.batch_decode(ids, skip_special_tokens=True)))
    return [out[i] for i in range(len(texts))]


def print_scores(tokenizer, model, file, swap, table):
    import sacrebleu

    pairs = [line.split("\t") for line in (DATA / table).read_text().splitlines()]
    sources, references = ([pair[side] for pair in pairs] for side in ((1, 0) if swap else (0, 1)))
    for beams in (1, BEAMS):
        translations = translate(sources, tokenizer, model, beams)
        bleu = sacrebleu.corpus_bleu(translations, [references])
        chrf = sacrebleu.corpus_chrf(translations, [references])
        print(f"{beams} beams: BLEU {bleu.score:.2f}, chrF {chrf.score:.2f}")
    if file:
        file.write_text("".join(f"{line}\n" for line in translations))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--of", default="tatoeba-en-de")
    parser.add_argument("--swap", action="store_true")
    parser.add_argument("--test", default="tatoeba-test.tsv")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--bleu", nargs="?", type=Path, const=False, metavar="FILE")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()

    stored = json.loads((MODELS / arguments.of / "expected.json").read_text())
    tokenizer = MarianTokenizer.from_pretrained(folder)
    model, double = load(folder, torch.float32), load(folder, torch.float64)
    side = "beam_text" if arguments.swap else "source"
    cases = [case(old[side], tokenizer, model, double) for old in stored["cases"]]
    if arguments.check:
        cases_stored = json.loads((folder / "expected.json").read_text())["cases"]
        for new, old in zip(cases, cases_stored, strict=True):
            assert abs(new.pop("beam_score") - old.pop("beam_score")) < 1e-4, new
            assert abs(new.pop("greedy_min_margin") - old.pop("greedy_min_margin")) < 1e-3, new
            assert new == old, (new, old)
        print(f"{len(cases)} cases agree")
    else:
        settings = model.generation_config.to_dict()
        arithmetic = "float32 from the stored 8-bit weights, each multiplied by the scale of its row"
        header = {
            "model": folder.name,
            "settings": {"num_beams": BEAMS, "arithmetic": arithmetic, **{n: settings.get(n) for n in SETTINGS}},
            "notes": stored["notes"],
            "versions": {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]},
            "cases": cases,
        }
        (folder / "expected.json").write_text(json.dumps(header, ensure_ascii=False, indent=1))
        print(f"{len(cases)} cases")
    if arguments.bleu is not None:
        print_scores(tokenizer, model, arguments.bleu, arguments.swap, arguments.test)


main()
