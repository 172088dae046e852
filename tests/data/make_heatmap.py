"""Pictures of attention by numpy and matplotlib, for the renderer to agree with.

    python make_heatmap.py

reads the cross-attention of `models/marian_tied/expected.safetensors` (first sentence) and writes `heatmap/*.png`. Colours are
matplotlib's own; where the maps lie, what a colour is a share of, and that a pixel shows the largest weight it covers, is
written out here once more.
"""

import math
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image
from safetensors.numpy import load_file

HERE = Path(__file__).parent


def covered(pixel, cell, cells):
    """The cells of a map that a pixel shows, and nothing in the gap behind it."""
    middle = (pixel + 0.5) / cell
    if middle >= cells:
        return None
    if cell >= 1:
        return range(int(middle), int(middle) + 1)
    first, end = max(middle - 0.5 / cell, 0), min(middle + 0.5 / cell, cells)
    return range(int(first), math.ceil(end))


def scaled(weights, scale):
    if scale == "linear":
        return weights / weights.max()
    if scale == "rows":
        return weights / weights.max(axis=-1, keepdims=True)
    return np.where(weights > 1e-4, 1 + np.log(np.maximum(weights, 1e-4)) / math.log(1e4), 0)


def paint(layers, cell, gap, scale, colours):
    """`layers`: [layers, heads, queries, keys]; `cell` and `gap` in pixels."""
    count, heads, queries, keys = layers.shape
    side = lambda maps, cells: math.ceil(maps * (cells * cell + gap) - gap)
    picture = np.zeros((side(count, queries), side(heads, keys), 4), np.uint8)
    table = matplotlib.colormaps[colours]
    for layer in range(count):
        for head in range(heads):
            values = scaled(layers[layer, head], scale)
            top, left = layer * (queries * cell + gap), head * (keys * cell + gap)
            for y in range(picture.shape[0]):
                rows = covered(y - top, cell, queries) if y + 0.5 >= top else None
                for x in range(picture.shape[1]):
                    columns = covered(x - left, cell, keys) if x + 0.5 >= left else None
                    if rows and columns:
                        value = values[rows.start : rows.stop, columns.start : columns.stop].max()
                        picture[y, x] = table(int(value * 255 + 0.5), bytes=True)
    return picture


def main():
    tensors = load_file(HERE / "models/marian_tied/expected.safetensors")
    layers = np.stack([tensors[f"main.cross_attentions.{layer}"][0] for layer in (0, 1)])
    for name, cell, gap, scale, colours in [
        ("grid", 5, 3, "linear", "viridis"),
        ("rows", 4, 2, "rows", "magma"),
        ("far", 0.5, 1, "logarithmic", "cividis"),
    ]:
        Image.fromarray(paint(layers, cell, gap, scale, colours)).save(HERE / f"heatmap/{name}.png", optimize=True)


main()
