#!/usr/bin/env python3
"""PyTorch's files of weights for tests/model/pickle.rs, made by torch and read again by torch.

    python make_pickles.py            # writes pickles/

`views.safetensors` holds every tensor of `views_*.bin` as `torch.load` gives it. Files of whole models are stored without the bytes
of their storages: `NAME.gaps.json` says where each of them belongs, and from which tensor of `models/marian_tied` it comes, so that
the test can put the file together again, byte for byte. This script checks that torch reads the same tensors from the complete file,
and that transformers generates the ids of `expected.json` with it.
"""
import collections
import io
import json
import pathlib
import shutil
import tempfile
import zipfile

import numpy as np
import torch
from safetensors.torch import load_file, save_file

HERE = pathlib.Path(__file__).parent
OUT = HERE / "pickles"
MODEL = HERE / "models" / "marian_tied"
torch.manual_seed(19)


def saved(value, **options):
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    return buffer.getvalue()


def legacy(value, **options):
    return saved(value, _use_new_zipfile_serialization=False, **options)


def same(a, b):
    a, b = a.detach().contiguous(), b.detach().contiguous()
    return a.dtype == b.dtype and a.shape == b.shape and bytes(a.view(-1).view(torch.uint8)) == bytes(b.view(-1).view(torch.uint8))


def views():
    """Tensors of every kind that a state dict can have."""
    bits16 = torch.tensor([0, 1, 0x3C00, 0x7BFF, 0x7C00, 0xFC00, 0x8000, 0x0400, 0x03FF, 0x7E01, 0x3555, 0xC248], dtype=torch.int32)
    half = bits16.to(torch.int16).view(torch.float16).reshape(3, 4)
    brain = bits16.to(torch.int16).view(torch.bfloat16).reshape(3, 4)
    double = torch.tensor([0.1, -1e300, 1e-320, float("inf"), 2.0**-140, 1 / 3], dtype=torch.float64)
    base = torch.arange(24.0).reshape(4, 6)
    cube = torch.randn(2, 3, 4, 5)
    state = collections.OrderedDict(
        base=base,
        transposed=base.t(),
        middle=base[1:3, 2:5],
        column=base[:, 3],
        row=base[2],
        expanded=torch.tensor([1.5, -2.0, 3.0]).expand(4, 3),
        expanded_column=base[:, :1].expand(4, 5),
        permuted=cube.permute(2, 0, 3, 1),
        slice_of_permuted=cube.permute(2, 0, 3, 1)[1:3, :, ::2],
        sparse=torch.arange(300.0)[7::29],
        windows=torch.arange(10.0).unfold(0, 4, 1),
        shared=base,
        flat=base.view(-1),
        scalar=torch.tensor(2.5),
        scalar_of_base=base[3, 5],
        empty=torch.empty(3, 0),
        no_rows=torch.empty(0, 4),
        half=half,
        half_transposed=half.t(),
        brain=brain,
        brain_columns=brain[:, 1:3],
        double=double,
        double_transposed=double.reshape(2, 3).t(),
        parameter=torch.nn.Parameter(torch.randn(3, 2)),
        frozen=torch.nn.Parameter(torch.randn(2), requires_grad=False),
        int64=torch.tensor([[1, -2]]),
        int32=torch.tensor([3], dtype=torch.int32),
        int16=torch.tensor([4, 5], dtype=torch.int16),
        int8=torch.tensor([-6], dtype=torch.int8),
        uint8=torch.tensor([7], dtype=torch.uint8),
        boolean=torch.tensor([True, False]),
    )
    # as torch.nn.Module.state_dict() does
    state._metadata = collections.OrderedDict([("", {"version": 1}), ("encoder", {"version": 2})])
    return state


def rezipped(content, zip64_limit=zipfile.ZIP64_LIMIT):
    """As another writer would: sizes in the headers. Numbers beyond `zip64_limit` are in 64 bits."""
    buffer = io.BytesIO()
    usual, zipfile.ZIP64_LIMIT = zipfile.ZIP64_LIMIT, zip64_limit
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as new:
        for entry in old.infolist():
            info = zipfile.ZipInfo(entry.filename)
            with new.open(info, "w", force_zip64=True) as out:
                out.write(old.read(entry))
        new.comment = b"a comment"
    zipfile.ZIP64_LIMIT = usual
    return buffer.getvalue()


def make_views():
    state = views()
    files = {
        "views_zip.bin": saved(state),
        "views_zip_protocol_5.bin": saved(state, pickle_protocol=5),
        "views_zip_plain.bin": saved(dict(state), _disable_byteorder_record=True),
        "views_rezipped.bin": rezipped(saved(state)),
        "views_zip64.bin": rezipped(saved(state), zip64_limit=3),
        "views_legacy.bin": legacy(state),
        "views_legacy_protocol_4.bin": legacy(state, pickle_protocol=4),
    }
    loaded = None
    for name, content in files.items():
        (OUT / name).write_bytes(content)
        only_weights = "protocol" not in name  # torch's own safe reader knows protocol 2 only
        tensors = torch.load(OUT / name, weights_only=only_weights, map_location="cpu")
        assert list(tensors) == list(state), name
        for key, tensor in tensors.items():
            assert same(tensor, state[key]), (name, key)
            assert tensor.stride() == state[key].stride(), (name, key)
        loaded = tensors
    save_file({name: tensor.detach().clone().contiguous() for name, tensor in loaded.items()}, OUT / "views.safetensors")


def cut(name, content, storages):
    """Writes a file without the bytes of `storages`: pairs of a source and its bytes."""
    gaps = []
    for source, data in storages:
        at = content.find(data)
        assert at >= 0, source
        while at >= 0:  # equal tensors need not share a storage
            gaps.append((at, len(data), source))
            at = content.find(data, at + len(data))
    gaps.sort()
    rest, end = [], 0
    for at, length, _ in gaps:
        assert at >= end
        rest.append(content[end:at])
        end = at + length
    (OUT / f"{name}.cut").write_bytes(b"".join([*rest, content[end:]]))
    listed = [{"at": at, "bytes": length, "from": source} for at, length, source in gaps]
    (OUT / f"{name}.gaps.json").write_text(json.dumps({"length": len(content), "gaps": listed}) + "\n")


def raw(tensor):
    return tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes()


def check(folder, tensors):
    """Whether torch and transformers read the complete files of a folder as the original."""
    from transformers import MarianMTModel

    found = {}
    for file in sorted(folder.glob("pytorch_model*.bin")):
        found.update(torch.load(file, weights_only=True))
    assert found.keys() == tensors.keys()
    assert all(same(found[name], tensors[name]) for name in tensors)
    for name in ["config.json", "generation_config.json"]:
        shutil.copy(MODEL / name, folder)
    with torch.no_grad():
        got = MarianMTModel.from_pretrained(folder, use_safetensors=False).eval()
        want = MarianMTModel.from_pretrained(MODEL).eval()
        ids = torch.tensor([[5, 17, 30, 8, 0]])
        options = {"num_beams": 1, "max_length": 20, "do_sample": False}
        assert got.generate(ids, **options).tolist() == want.generate(ids, **options).tolist()


def make_models():
    tensors = load_file(MODEL / "model.safetensors")
    old = load_file(MODEL / "model_legacy_keys.safetensors")
    # older uploads have each name of the tied table, all of one storage
    aliases = [name for name in old if name not in tensors and same(old[name], old["model.shared.weight"])] if "model.shared.weight" in old else []
    older = collections.OrderedDict((name, old["model.shared.weight"] if name in aliases else old[name]) for name in sorted(old))
    names = sorted(tensors)
    half = len(names) // 2
    shards = [
        ("pytorch_model-00001-of-00002.bin", {name: tensors[name] for name in names[:half]}),
        ("pytorch_model-00002-of-00002.bin", {name: tensors[name] for name in names[half:]}),
    ]
    for form, save in [("zip", saved), ("legacy", legacy)]:
        single = save(collections.OrderedDict((name, tensors[name]) for name in names))
        cut(f"marian_{form}", single, [(name, raw(tensors[name])) for name in distinct(tensors)])
        keys = save(older)
        cut(f"marian_{form}_older_names", keys, [(name, raw(older[name])) for name in distinct(older)])
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "pytorch_model.bin").write_bytes(single)
            check(folder, tensors)
            (folder / "pytorch_model.bin").write_bytes(keys)
            check(folder, older)
        for name, part in shards:
            cut(f"marian_{form}_{name[14:19]}", save(part), [(name, raw(part[name])) for name in distinct(part)])
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name, part in shards:
                (folder / name).write_bytes(save(part))
            write_index(folder / "pytorch_model.bin.index.json", shards)
            check(folder, tensors)
    write_index(OUT / "pytorch_model.bin.index.json", shards)


def write_index(path, shards):
    places = {name: file for file, part in shards for name in part}
    path.write_text(json.dumps({"metadata": {"total_size": 0}, "weight_map": places}, indent=0) + "\n")


def distinct(tensors):
    """Names of tensors that are long enough to be found in a file, and unlike the others."""
    seen, names = set(), []
    for name, tensor in tensors.items():
        data = raw(tensor)
        if len(data) >= 512 and data not in seen and len(set(data)) > 8:
            seen.add(data)
            names.append(name)
    return names


def make_large():
    """A transposed matrix and a slice, larger than what is read at once."""
    base = torch.arange(411 * 703.0).reshape(411, 703)
    state = {"transposed": base.t(), "slice": base[3:400, 5:690], "every_third": base[:, ::3]}
    for form, save in [("zip", saved), ("legacy", legacy)]:
        cut(f"large_{form}", save(state), [("arange", raw(base))])


def make_refused():
    """Files that torch.load(weights_only=True) or transformers refuse, or that hold no state dict."""

    class Hostile:
        def __reduce__(self):
            import os
            return os.system, ("echo this must not run",)

    tensor = torch.ones(3)
    bucket = {
        "hostile": {"weight": tensor, "more": Hostile()},
        "module": torch.nn.Linear(2, 2),
        "nested": {"state_dict": collections.OrderedDict(weight=tensor), "epoch": 3},
        "number": {"weight": tensor, "epoch": 3},
        "one_tensor": tensor,
        "list": [tensor],
        "array": {"weight": np.ones(3)},
        "numbered": {0: tensor},
        "negated": {"weight": torch.view_as_complex(torch.ones(2, 2)).conj().imag},
        "sparse": {"weight": tensor.to_sparse()},
        "complex": {"weight": torch.ones(2, dtype=torch.complex64)},
    }
    for name, value in bucket.items():
        (OUT / f"refused_{name}_zip.bin").write_bytes(saved(value))
    (OUT / "refused_hostile_legacy.bin").write_bytes(legacy(bucket["hostile"]))
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), buffer)
    (OUT / "refused_program.bin").write_bytes(buffer.getvalue())
    content = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved({"weight": tensor}))) as old, zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, old.read(entry))
    (OUT / "refused_compressed.bin").write_bytes(content.getvalue())


OUT.mkdir(exist_ok=True)
for file in OUT.iterdir():
    file.unlink()
make_views()
make_models()
make_large()
make_refused()
