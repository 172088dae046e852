#!/usr/bin/env python3
"""Make models/mt5 and models/umt5: the same files as of the other models, for T5's relatives.

    python make_mt5.py

mT5 never scales its logits and has its own head; UMT5 has a bias by distance in each layer. Weights are random, nothing is
downloaded. Python: torch, transformers 5.24.0.
"""
from pathlib import Path

import make_fixtures as fixtures

MODELS = [
    dict(name="mt5", class_name="MT5", srcmax=70,
         config=dict(vocab_size=400, d_model=64, d_kv=12, d_ff=96, num_layers=2, num_decoder_layers=3, num_heads=6,
                     relative_attention_num_buckets=32, relative_attention_max_distance=128,
                     feed_forward_proj="gated-gelu", tie_word_embeddings=False, pad_token_id=0, eos_token_id=1,
                     decoder_start_token_id=0),
         gen=dict(max_length=24)),
    dict(name="umt5", class_name="UMT5", srcmax=80,
         config=dict(vocab_size=448, d_model=48, d_kv=16, d_ff=80, num_layers=3, num_decoder_layers=2, num_heads=3,
                     relative_attention_num_buckets=16, relative_attention_max_distance=40,
                     feed_forward_proj="gated-gelu", tie_word_embeddings=True, pad_token_id=0, eos_token_id=1,
                     decoder_start_token_id=0),
         gen=dict(max_length=24)),
]


def main():
    for spec in MODELS:
        name = spec.pop("class_name")
        fixtures.MODEL_CLASS["t5"] = f"{name}ForConditionalGeneration"
        fixtures.CONFIG_CLASS["t5"] = f"{name}Config"
        # the family decides how random weights are drawn
        fixtures.make_model(spec | {"family": "t5"}, fixtures.PUBLIC_SEED, Path(__file__).parent, None)


main()
