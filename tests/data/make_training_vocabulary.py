#!/usr/bin/env python3
"""What SentencePiece and transformers make of the folder of a new model: training/vocabulary.json, for tests/train/vocabulary.rs.

    cargo run --release --example new_model -- tests/data/tatoeba-test.tsv 1000 FOLDER
    python make_training_vocabulary.py FOLDER        # sentencepiece 0.2.3, transformers 5.23.0, protobuf
"""
import json
import os
import struct
import sys
import zlib

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from transformers import MarianMTModel, MarianTokenizer

here = os.path.dirname(os.path.abspath(__file__))
folder = sys.argv[1]
UNUSUAL = ["", " ", "Tom's  naïve café — 日本 🙂 costs 5€!", "ﬁnance ＡＢＣ ½ №", "a\tb\u00a0c\u200bd", "</s> in <unk> a <pad> text",
           "<0x41> and ▁ and >>fra<< x", "Äpfel und Öl, Übung: ß", "x" * 300, "हिन्दी العربية ไทย", "e\u0301t\u00e9 A\u030a", "1,234.56 + 2²"]


def crc(ids):
    return zlib.crc32(struct.pack(f"<{len(ids)}I", *ids))


with open(f"{here}/tatoeba-test.tsv", encoding="utf-8") as lines:
    pairs = [line.rstrip("\n").split("\t") for line in lines]
with open(f"{folder}/source.spm", "rb") as file:
    spm = file.read()
model = sentencepiece_model_pb2.ModelProto()
model.ParseFromString(spm)
spec = model.trainer_spec
assert (spec.model_type, spec.vocab_size, spec.byte_fallback) == (1, len(model.pieces), True)
assert (spec.unk_id, spec.bos_id, spec.eos_id, spec.pad_id) == (1, -1, 0, -1)
assert model.normalizer_spec.name == "nmt_nfkc"
kinds = model.SentencePiece.Type
assert [piece.type for piece in model.pieces[:3]] == [kinds.CONTROL, kinds.UNKNOWN, kinds.BYTE]
learned = [[piece.piece, piece.score] for piece in model.pieces if piece.type == kinds.NORMAL]

processor = sentencepiece.SentencePieceProcessor(model_proto=spm)
tokenizer = MarianTokenizer.from_pretrained(folder)
network, info = MarianMTModel.from_pretrained(folder, output_loading_info=True)
assert not any(info.values()), info
assert network.config.pad_token_id == tokenizer.pad_token_id == len(tokenizer) - 1 == len(model.pieces)
texts = [side for pair in pairs for side in pair]
expected = {
    "spm_crc": zlib.crc32(spm),
    "pieces": learned,
    "sentencepiece_crcs": [crc(processor.encode(text)) for text in texts],
    "marian_crcs": [crc(tokenizer(source).input_ids) for source, _ in pairs],
    "marian_target_crcs": [crc(tokenizer(text_target=target).input_ids) for _, target in pairs],
    "unusual": [{"text": text, "sentencepiece": processor.encode(text), "marian": tokenizer(text).input_ids,
                 "decoded": tokenizer.decode(tokenizer(text).input_ids, skip_special_tokens=True)} for text in UNUSUAL],
}
with open(f"{here}/training/vocabulary.json", "w", encoding="utf-8") as file:
    json.dump(expected, file, ensure_ascii=False, separators=(",", ":"))
print(len(learned), "pieces;", sum(len(processor.encode(text)) for text in texts), "tokens in", len(texts), "sentences")
