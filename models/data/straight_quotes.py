#!/usr/bin/env python3
"""Let a SentencePiece model read typographic quotes as straight ones, which is how the English sentences here are written.

    python straight_quotes.py source.spm

Phones and word processors write “don’t”; the training pairs have "don't". The rules go to the model's own (nmt_nfkc), which are
read back from its compiled form. Python: sentencepiece, protobuf.
"""
import io
import struct
import sys
import tempfile
from pathlib import Path

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

QUOTES = {**dict.fromkeys("‘’‛ʼ", "'"), **dict.fromkeys("“”„‟", '"')}
NAME = "nmt_nfkc_straight_quotes"


def rules(charsmap):
    """The rules of a compiled map: a double array of Darts-clone, then the replacements, each with a zero at its end."""
    size, = struct.unpack("<I", charsmap[:4])
    units = struct.unpack(f"<{size // 4}I", charsmap[4:4 + size])
    replacements = charsmap[4 + size:]

    def offset(unit):
        return (unit >> 10) << ((unit & (1 << 9)) >> 6)

    def walk(position, key):
        start = position ^ offset(units[position])
        if key and units[position] >> 8 & 1:
            at = units[start] & 0x7FFFFFFF
            yield key.decode(), replacements[at:replacements.index(0, at)].decode()
        for byte in range(1, 256):
            child = start ^ byte
            if child < len(units) and units[child] & 0x800000FF == byte:
                yield from walk(child, key + bytes([byte]))

    return dict(walk(0, b""))


def compiled(table):
    """The table as SentencePiece compiles it: its trainer does so for any model."""
    code_points = lambda text: " ".join(f"{ord(character):X}" for character in text)
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
        file.writelines(f"{code_points(key)}\t{code_points(value)}\n" for key, value in table.items())
        file.flush()
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["a b c d e f g"] * 10), model_writer=model, vocab_size=12, hard_vocab_limit=False,
            normalization_rule_tsv=file.name, minloglevel=2)
    return parsed(model.getvalue()).normalizer_spec.precompiled_charsmap


def parsed(content):
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(content)
    return model


def main():
    path = Path(sys.argv[1])
    model = parsed(path.read_bytes())
    old = rules(model.normalizer_spec.precompiled_charsmap)
    new = {**old, **QUOTES}
    model.normalizer_spec.precompiled_charsmap = compiled(new)
    model.normalizer_spec.name = NAME
    assert rules(model.normalizer_spec.precompiled_charsmap) == new
    path.write_bytes(model.SerializeToString())
    print(f"{path}: {len(old)} rules, {len(new)} now")


main()
