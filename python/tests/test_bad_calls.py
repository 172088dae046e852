"""Bad calls raise exceptions that say what to do. They run in processes of their own, so that a crash would be seen."""

from pathlib import Path

import pytest

from conftest import run_python

#: Calls of one process.
SHARE = 100


@pytest.mark.parametrize("first", [0, SHARE, 2 * SHARE])
def test_bad_calls_raise(first):
    program = Path(__file__).with_name("bad_calls.py")
    code = f"import runpy, sys; sys.argv = [{str(program)!r}, '{first}', '{SHARE}']; runpy.run_path(sys.argv[0], run_name='__main__')"
    done = run_python(code, HF_HUB_OFFLINE="1", HF_HOME="no-such-folder", WORDLOOM_MODELS="no-such-folder")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    count = int(done.stdout.splitlines()[-1].split()[0])
    assert 100 <= count <= 3 * SHARE, "change SHARE"
