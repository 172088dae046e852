"""Writes constraints.json: constrained beam searches of transformers 4.x, the last major version that had them.

    pip install "transformers==4.51.3" torch sentencepiece
    python make_constraints.py models/marian_tied constraints.json

Each case: the source's ids, the words to force (a list of forms for each, any of which will do), the options, and what
`generate(force_words_ids=...)` returned: PhrasalConstraint for a word of one form, DisjunctiveConstraint for others.
"""

import json
import random
import sys

import torch
import transformers
from transformers import AutoModelForSeq2SeqLM
from transformers.generation import DisjunctiveConstraint, PhrasalConstraint

folder, output = sys.argv[1:]
torch.manual_seed(0)
torch.set_num_threads(1)
model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
config = model.config
draw = random.Random(26)
special = {config.eos_token_id, config.pad_token_id, config.decoder_start_token_id}
ordinary = [token for token in range(config.vocab_size) if token not in special]


def phrase(first, used):
    """Tokens of a form. HF refuses forms of a word that begin with one another."""
    tokens = [first] + [draw.choice(ordinary) for _ in range(draw.choice([0, 0, 1, 2]))]
    used.add(first)
    return tokens


def case(beams, words, disjunctive, max_new_tokens):
    source = [draw.choice(ordinary) for _ in range(draw.randint(3, 10))] + [config.eos_token_id]
    used = set()
    forced = []
    for _ in range(words):
        count = draw.choice([2, 3]) if disjunctive else 1
        firsts = draw.sample([token for token in ordinary if token not in used], count)
        forced.append([phrase(first, used) for first in firsts])
    constraints = [
        PhrasalConstraint(forms[0]) if len(forms) == 1 else DisjunctiveConstraint(forms) for forms in forced
    ]
    options = dict(num_beams=beams, max_new_tokens=max_new_tokens, length_penalty=draw.choice([0.6, 1.0]))
    with torch.no_grad():
        ids = torch.tensor([source])
        found = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            constraints=constraints,
            do_sample=False,
            forced_eos_token_id=None,
            bad_words_ids=None,
            return_dict_in_generate=True,
            output_scores=True,
            num_return_sequences=1,
            **options,
        )
    return {
        "input_ids": source,
        "words": forced,
        **options,
        "sequence": found.sequences[0].tolist(),
        "score": found.sequences_scores[0].item(),
    }


cases = []
for beams in (4, 8, 16):
    for words in (1, 2, 3):
        for disjunctive in (False, True):
            cases += [case(beams, words, disjunctive, 24) for _ in range(3)]
json.dump(
    {"versions": {"transformers": transformers.__version__, "torch": torch.__version__}, "cases": cases},
    open(output, "w"),
    separators=(",", ":"),
)
print(len(cases), "cases")
