#!/usr/bin/env python3
"""The first values of a random tensor, from ChaCha8 (D. J. Bernstein 2008) written out: tests/transformer/random_models.rs.

    python make_random_tensor.py NAME ROWS_PLUS_COLUMNS_VARIANCE SEED     # e.g. embed.weight 0.015625 42
"""
import struct
import sys

import numpy as np


def block(key, stream, counter, rounds=8):
    def quarter(x, a, b, c, d):
        for p, q, r, s in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[p] = (x[p] + x[q]) & 0xFFFFFFFF
            y = x[r] ^ x[p]
            x[r] = (y << s | y >> (32 - s)) & 0xFFFFFFFF

    state = [*struct.unpack("<4I", b"expand 32-byte k"), *struct.unpack("<8I", key),
             counter & 0xFFFFFFFF, counter >> 32, stream & 0xFFFFFFFF, stream >> 32]
    x = list(state)
    for _ in range(rounds // 2):
        for i in range(4):
            quarter(x, i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return [(a + b) & 0xFFFFFFFF for a, b in zip(x, state)]


name, variance, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
stream = 0xCBF29CE484222325
for byte in name.encode():
    stream = (stream ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
bound = np.float32((3 * variance) ** 0.5)
words = block(struct.pack("<Q24x", seed), stream, 0)
values = [bound * (np.float32(word >> 8) / np.float32(1 << 23) - np.float32(1)) for word in words[:4]]
print([int(value.view(np.uint32)) for value in values])
