"""Translates through a running `wordloom serve` with clients of LibreTranslate that others wrote, unmodified.

    pip install -r cli/tests/clients/requirements.txt
    python cli/tests/clients/libretranslate_clients.py http://127.0.0.1:8380/

The expected translations are those of the default model in `models/tatoeba-en-de-q8/expected.json`, made with transformers.
"""

import pathlib
import sys
import tempfile
import urllib.error
import urllib.request

from deep_translator import LibreTranslator
from libretranslatepy import LibreTranslateAPI

URL = sys.argv[1]
ENGLISH, GERMAN = "Where is the train station?", "Wo ist der Bahnhof?"


def equal(found, wanted):
    if found != wanted:
        sys.exit(f"{found!r} is not {wanted!r}")


client = LibreTranslateAPI(URL)
equal(client.translate(ENGLISH, "en", "de"), GERMAN)
equal(client.translate(ENGLISH, "auto", "de"), GERMAN)
equal(client.detect(ENGLISH)[0]["language"], "en")
equal({language["code"] for language in client.languages()} >= {"en", "de"}, True)
with tempfile.TemporaryDirectory() as folder:
    page = pathlib.Path(folder) / "page.html"
    page.write_text(f"<p>{ENGLISH}</p>", encoding="utf-8")
    address = client.translate_file(str(page), "en", "de")
    with urllib.request.urlopen(address) as answer:
        equal(answer.read().decode(), f"<p>{GERMAN}</p>")
try:
    client.translate(ENGLISH, "en", "xx")
    sys.exit("a language that does not exist was translated")
except urllib.error.HTTPError as error:
    equal(error.code, 400)

other = LibreTranslator(source="en", target="de", api_key="any", custom_url=URL)
equal(other.translate(ENGLISH), GERMAN)
equal(other.translate_batch([ENGLISH, ENGLISH]), [GERMAN, GERMAN])
print("all answers are right")
