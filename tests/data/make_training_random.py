#!/usr/bin/env python3
"""Orders of an epoch and first weights, from ChaCha8 (D. J. Bernstein 2008) written out: tests/train/batches.rs, tests/train/folder.rs.

    python make_training_random.py
"""
import math
import struct


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


def numbers(seed, stream):
    """64-bit numbers: the low half comes first."""
    counter = 0
    while True:
        words = block(struct.pack("<Q24x", seed), stream, counter)
        counter += 1
        for low, high in zip(words[::2], words[1::2]):
            yield low | high << 32


def shuffled(count, seed, epoch):
    order, random = list(range(count)), numbers(seed, epoch)
    for last in range(count - 1, 0, -1):
        other = next(random) * (last + 1) >> 64
        order[last], order[other] = order[other], order[last]
    return order


def units(seed, name):
    stream = 0xCBF29CE484222325
    for byte in name.encode():
        stream = (stream ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return ((number >> 11) / 2 ** 53 for number in numbers(seed, stream))


def glorot(name, rows, columns, seed):
    bound, random = math.sqrt(6 / (rows + columns)), units(seed, name)
    return [bound * (2 * next(random) - 1) for _ in range(4)]


def embeddings(name, width, seed):
    values, random = [], units(seed, name)
    for _ in range(2):
        radius, angle = math.sqrt(-2 * math.log(1 - next(random))), 2 * math.pi * next(random)
        values += [width ** -0.5 * radius * math.cos(angle), width ** -0.5 * radius * math.sin(angle)]
    return values


print("shuffled, seed 42, epoch 0:", shuffled(10, 42, 0))
print("shuffled, seed 42, epoch 3:", shuffled(10, 42, 3))
print("fc1 64 x 16, seed 42:", glorot("model.encoder.layers.0.fc1.weight", 64, 16, 42))
print("embeddings, width 16, seed 42:", embeddings("model.shared.weight", 16, 42))
