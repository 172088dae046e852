"""Arrays in and out. NumPy is used if it is there; nothing here needs it."""

from __future__ import annotations

from typing import Any


def array(data: bytearray, shape: list[int], kind: Any = "f") -> Any:
    """A NumPy array over the bytes; a ``memoryview`` of that shape if NumPy is not installed.

    * ``kind``: ``f`` for float32, ``q`` for int64
    """
    try:
        import numpy
    except ImportError:
        view = memoryview(data).cast("B").cast(kind)
        # a view cannot have a side without elements
        return view if 0 in shape else view.cast("B").cast(kind, tuple(shape))
    return numpy.frombuffer(data, dtype={"f": numpy.float32, "q": numpy.int64}[kind]).reshape(shape)


def rows(values: Any, name: str) -> list[list[int]]:
    """Lists of integers of one row or many: lists, NumPy arrays, torch's tensors."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise TypeError(f"{name} is {type(values).__name__}; pass token ids: a list, or a list of lists")
    values = [value.tolist() if hasattr(value, "tolist") else value for value in values]
    if values and not hasattr(values[0], "__iter__"):
        values = [values]
    for row in values:
        if isinstance(row, (str, bytes)) or not hasattr(row, "__iter__"):
            raise TypeError(f"{name} mixes lists and {type(row).__name__}; pass a list, or a list of lists")
    return [list(row) for row in values]


def padded(sequences: list[list[int]], padding: int) -> Any:
    """An int64 array of rows of different lengths."""
    import array as arrays

    length = max((len(row) for row in sequences), default=0)
    flat = arrays.array("q")
    for row in sequences:
        flat.extend(row)
        flat.extend([padding] * (length - len(row)))
    return array(bytearray(flat.tobytes()), [len(sequences), length], "q")


def floats(values: list[float]) -> Any:
    """A float32 array."""
    import array as arrays

    return array(bytearray(arrays.array("f", values).tobytes()), [len(values)])
