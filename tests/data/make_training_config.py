#!/usr/bin/env python3
"""The configuration that transformers 5.23.0 writes for a model of the default shape: training/marian_*config.json, for tests/train/folder.rs.

    python make_training_config.py
"""
import json
import os
import tempfile

from transformers import GenerationConfig, MarianConfig, MarianMTModel

size, pad = 8000, 7999
config = MarianConfig(
    vocab_size=size, decoder_vocab_size=size, d_model=256, encoder_layers=4, decoder_layers=3, encoder_attention_heads=8,
    decoder_attention_heads=8, encoder_ffn_dim=1024, decoder_ffn_dim=1024, activation_function="relu",
    static_position_embeddings=True, scale_embedding=True, share_encoder_decoder_embeddings=True, tie_word_embeddings=True,
    max_position_embeddings=256, dropout=0.15, attention_dropout=0.0, activation_dropout=0.0, pad_token_id=pad, eos_token_id=0,
    bos_token_id=None, decoder_start_token_id=pad, forced_eos_token_id=0, use_cache=True, is_encoder_decoder=True)
model = MarianMTModel(config).half()
model.generation_config = GenerationConfig(
    decoder_start_token_id=pad, pad_token_id=pad, eos_token_id=0, forced_eos_token_id=0, bad_words_ids=[[pad]], max_length=128,
    num_beams=4, length_penalty=1.0, early_stopping=True)
here = os.path.dirname(os.path.abspath(__file__))
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    for name in ("config.json", "generation_config.json"):
        with open(f"{folder}/{name}") as file:
            written = json.load(file)
        written.pop("transformers_version")
        with open(f"{here}/training/marian_{name}", "w") as file:
            json.dump(written, file, indent=2)
            file.write("\n")
