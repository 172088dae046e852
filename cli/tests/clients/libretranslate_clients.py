"""Translates through a running `wordloom serve` with clients of LibreTranslate that others wrote, unmodified.

    pip install -r cli/tests/clients/requirements.txt
    python cli/tests/clients/libretranslate_clients.py http://127.0.0.1:8380/

The expected translations are those of the default model in `models/tatoeba-en-de-q8/expected.json`, made with transformers.
"""

import sys
import urllib.error

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
try:
    client.translate(ENGLISH, "en", "xx")
    sys.exit("a language that does not exist was translated")
except urllib.error.HTTPError as error:
    equal(error.code, 400)

other = LibreTranslator(source="en", target="de", api_key="any", custom_url=URL)
equal(other.translate(ENGLISH), GERMAN)
equal(other.translate_batch([ENGLISH, ENGLISH]), [GERMAN, GERMAN])
print("all answers are right")
