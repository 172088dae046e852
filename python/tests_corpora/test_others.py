"""Dask and Daft, and the keys of `lines.py`."""

import re
import sys

import pyarrow
import pyarrow.parquet
import pytest

from conftest import EXAMPLES, run


@pytest.mark.parametrize("workers", [2, 4])
def test_dask(job, workers):
    job.example("dask_frames.py", "--workers", workers)
    job.check(workers)


def test_dask_repeats_the_tasks_of_a_killed_worker(job):
    job.killing().example("dask_frames.py", "--workers", 2)
    job.check(2, killed=True)


def test_daft(job):
    job.example("daft_frames.py", "--workers", 2)
    job.check(1)


@pytest.mark.parametrize(
    ("ids", "message"),
    [([0, 1], "1 keys of .* are missing, 0 rows"), ([0, 1, 1, 2], "0 keys of .* are missing, 1 rows are there twice")],
)
def test_lost_and_doubled_keys_are_errors(tmp_path, ids, message):
    for name, keys in (("source", [0, 1, 2]), ("translated", ids)):
        (tmp_path / name).mkdir()
        table = pyarrow.table({"id": pyarrow.array(keys, pyarrow.int64()), "translation": [str(key) for key in keys]})
        pyarrow.parquet.write_table(table, tmp_path / name / "part.parquet")
    done = run(sys.executable, EXAMPLES / "lines.py", "unpack", tmp_path / "source", tmp_path / "translated", tmp_path / "text")
    assert done.returncode == 1
    assert re.search(message, done.stdout), done.stdout
