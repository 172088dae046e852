"""Translates through a running `wordloom serve` with DeepL's own client, unmodified.

    pip install -r cli/tests/clients/requirements.txt
    python cli/tests/clients/deepl_client.py http://127.0.0.1:8380/

The expected translation is that of the default model in `models/tatoeba-en-de-q8/expected.json`, made with transformers.
"""

import io
import sys

import deepl

ENGLISH, GERMAN = "Where is the train station?", "Wo ist der Bahnhof?"


def equal(found, wanted):
    if found != wanted:
        sys.exit(f"{found!r} is not {wanted!r}")


client = deepl.DeepLClient("any key", server_url=sys.argv[1].rstrip("/"))
result = client.translate_text(ENGLISH, target_lang="DE")
equal([result.text, result.detected_source_lang, result.billed_characters], [GERMAN, "EN", len(ENGLISH)])
results = client.translate_text([ENGLISH, ENGLISH], source_lang="EN", target_lang="DE")
equal([result.text for result in results], [GERMAN, GERMAN])
marked = {"source_lang": "EN", "target_lang": "DE"}
equal(client.translate_text(f"<p>{ENGLISH}</p>", tag_handling="html", **marked).text, f"<p>{GERMAN}</p>")
xml = f"<x:note id='1'>{ENGLISH}</x:note>"
equal(client.translate_text(xml, tag_handling="xml", **marked).text, xml.replace(ENGLISH, GERMAN))
kept = f"<d><t>{ENGLISH}</t><code>{ENGLISH}</code></d>"
found = client.translate_text(kept, tag_handling="xml", ignore_tags=["code"], **marked).text
equal(found, f"<d><t>{GERMAN}</t><code>{ENGLISH}</code></d>")
equal([language.code for language in client.get_source_languages()], ["DE", "EN", "FR"])
german = client.get_target_languages()[0]
equal([german.code, german.name], ["DE", "German"])
pairs = [(pair.source_lang, pair.target_lang) for pair in client.get_glossary_languages()]
equal(pairs, [("de", "en"), ("en", "de"), ("en", "fr"), ("fr", "en")])
results = client.translate_text(["Où se trouve la gare la plus proche ?", ENGLISH], target_lang="DE")
equal([result.detected_source_lang for result in results] + [results[1].text], ["FR", "EN", GERMAN])
equal(client.get_usage().any_limit_reached, False)
translated = io.BytesIO()
page = f"<p>{ENGLISH}</p><pre>{ENGLISH}</pre>"
status = client.translate_document(page.encode(), translated, filename="page.html", target_lang="DE")
equal([status.done, status.billed_characters], [True, len(ENGLISH)])
equal(translated.getvalue().decode(), page.replace(ENGLISH, GERMAN, 1))
for options in [{"target_lang": "XX"}, {"target_lang": "DE", "splitting_tags": ["t"], "tag_handling": "xml"}]:
    try:
        client.translate_text(ENGLISH, source_lang="EN", **options)
        sys.exit(f"{options} was translated")
    except deepl.DeepLException as error:
        equal("not supported" in str(error), True)
print("all answers are right")
