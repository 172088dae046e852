"""The check of a GPU, with the software adapter that the tests need anyway."""

import pytest

import wordloom


def test_every_kernel_is_compared_and_reported():
    found = wordloom.check("gpu")
    assert found.right and found.usable, found.markdown
    assert str(found) in found.markdown and "## Kernels" in found.markdown
    kernels = {line["kernel"]: line for line in found.report["kernels"]}
    assert {"attention", "layer_norm", "matmul_registers_f32"} <= kernels.keys()
    assert all(line["cases"] > 0 and line["wrong"] == 0 for line in kernels.values())
    assert {run["outcome"] for run in found.report["runs"]} == {"right"}


def test_the_cpu_cannot_be_compared_with_itself():
    with pytest.raises(ValueError, match="takes software adapters"):
        wordloom.check("cpu")
    with pytest.raises(wordloom.GpuError):
        wordloom.check("no such adapter")
