"""Runs tests on the extension that cargo has built: `python run.py LIBRARY FOLDER TESTS [OPTION…]`.

The package is put together in FOLDER, from its Python files and LIBRARY. TESTS is a folder; options go to pytest.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(library, folder, tests, *options):
    package = Path(folder).resolve() / "wordloom"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(HERE.parent / "wordloom", package, ignore=shutil.ignore_patterns("_native.*so", "_native.pyd", "__pycache__"))
    shutil.copyfile(library, package / ("_native.pyd" if sys.platform == "win32" else "_native.abi3.so"))
    paths = os.pathsep.join([str(package.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", tests, *options]
    return subprocess.call(command, env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"})


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
