"""One script for both libraries: `ctranslate2_script.py LIBRARY MODEL [OUTPUT]`.

LIBRARY is `ctranslate2`, with MODEL as `make_ctranslate2_model.py` writes it, or `wordloom.ctranslate2`, with `models/tatoeba-en-de` itself.
`data/ctranslate2.json` was written by ctranslate2 4.8.5. It holds the inputs as well: the sources, which SentencePiece cut, and the targets
that are scored; `make_log_probs.py` adds transformers' numbers.
"""

import importlib
import json
import sys
from pathlib import Path

STORED = Path(__file__).parent / "data" / "ctranslate2.json"
#: Calls of `translate_batch`.
CALLS = [
    {"beam_size": 1},
    {},
    {"beam_size": 4, "num_hypotheses": 3, "length_penalty": 0.6},
    {"beam_size": 2, "max_decoding_length": 5, "return_end_token": True},
    {"beam_size": 4, "no_repeat_ngram_size": 2, "repetition_penalty": 1.2},
    {"min_decoding_length": 14, "suppress_sequences": [["▁Ich"], ["▁ist", "▁nicht"]]},
]


def results(library, model, sources, targets):
    translator = importlib.import_module(library).Translator(model, device="cpu", compute_type="float32")

    def plain(found):
        return [{"hypotheses": one.hypotheses, "scores": [round(score, 4) for score in one.scores]} for one in found]

    calls = [plain(translator.translate_batch(sources, return_scores=True, **options)) for options in CALLS]
    prefix = [["▁Ich"]] * len(sources)
    prefixed = plain(translator.translate_batch(sources, target_prefix=prefix, return_scores=True))
    scored = translator.score_batch(sources, targets)
    streamed = translator.translate_iterable(iter(sources), max_batch_size=8, beam_size=1)
    return {
        "calls": calls,
        "prefixed": prefixed,
        "targets": targets,
        "scored": [{"tokens": one.tokens, "log_probs": [round(value, 4) for value in one.log_probs]} for one in scored],
        "streamed": [one.hypotheses[0] for one in streamed],
    }


if __name__ == "__main__":
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    sources, targets = stored["sources"], stored["targets"]
    found = json.dumps({"sources": sources, **results(sys.argv[1], sys.argv[2], sources, targets)}, ensure_ascii=False)
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_text(found + "\n", encoding="utf-8")
    else:
        print(found)
