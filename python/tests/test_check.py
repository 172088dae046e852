"""The check of a GPU, with the software adapter that the tests need anyway."""

import pytest

import wordloom


def test_every_kernel_is_compared_and_reported():
    found = wordloom.check("gpu")
    assert found.right and found.usable, found.markdown
    assert str(found) in found.markdown and "## Kernels" in found.markdown
    assert len(found.report["kernels"]) > 50
    assert {run["outcome"] for run in found.report["runs"]} == {"right"}


def test_the_cpu_cannot_be_compared_with_itself():
    with pytest.raises(ValueError, match="takes software adapters"):
        wordloom.check("cpu")
    with pytest.raises(wordloom.GpuError):
        wordloom.check("no such adapter")
