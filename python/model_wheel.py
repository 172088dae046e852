"""Writes a model of Wordloom's as a wheel of its own: a package whose PATH is the folder for `wordloom.Translator`.

    python python/model_wheel.py models/tatoeba-de-en-q8 [--out dist]
"""

import argparse
import base64
import hashlib
import re
import zipfile
from pathlib import Path

INIT = '''"""{about}. Its card is beside its files.

    import wordloom, {package}
    wordloom.Translator({package}.PATH)
"""

from pathlib import Path

#: The folder of the model.
PATH = str(Path(__file__).parent)
'''

METADATA = """Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: {about}
License: CC-BY-2.0-FR
Requires-Python: >=3.10
Description-Content-Type: text/markdown

{card}"""

WHEEL = """Wheel-Version: 1.0
Generator: wordloom
Root-Is-Purelib: true
Tag: py3-none-any
"""


def write_wheel(folder: Path, out: Path) -> Path:
    """Writes the wheel of a model's folder. Equal files give equal bytes."""

    def field(file: Path, name: str) -> str:
        found = re.search(rf'^{name} = "(.*)"', file.read_text(encoding="utf-8"), re.MULTILINE)
        if found is None:
            raise SystemExit(f"{file} has no {name}")
        return found[1]

    crate = folder / "Cargo.toml"
    name, about = field(crate, "name"), field(crate, "description").removesuffix(", as bytes")
    version = field(folder.parents[1] / "Cargo.toml", "version")
    package = name.replace("-", "_")
    info = f"{package}-{version}.dist-info"
    own = re.compile(r"\.(json|md|safetensors|spm)$")
    names = sorted(path.name for path in folder.iterdir() if own.search(path.name) and path.name != "expected.json")
    content = {f"{package}/{name}": (folder / name).read_bytes() for name in names}
    card = (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    texts = {
        f"{package}/__init__.py": INIT.format(about=about, package=package),
        f"{info}/METADATA": METADATA.format(name=name, version=version, about=about, card=card),
        f"{info}/WHEEL": WHEEL,
    }
    content |= {path: text.encode() for path, text in texts.items()}
    record = "".join(f"{path},sha256={digest(data)},{len(data)}\n" for path, data in content.items())
    content[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"{package}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in content.items():
            archive.writestr(zipfile.ZipInfo(path), data, zipfile.ZIP_DEFLATED)
    return wheel


def digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--out", type=Path, default=Path("dist"))
    given = parser.parse_args()
    print(write_wheel(given.model.resolve(), given.out))
