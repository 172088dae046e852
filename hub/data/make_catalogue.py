"""Writes catalogue.json: models that can be had, with size, licence and published score.

    python make_catalogue.py FIREFOX_TRANSLATIONS_MODELS OPUS_MT_TRAIN > catalogue.json

Both arguments are clones (bare or not) of github.com/mozilla/firefox-translations-models and
github.com/Helsinki-NLP/OPUS-MT-train. Every number is read from them, but for those in OTHERS and OPUS_BYTES, which are
from the file lists of the hub's pages.
"""

import json
import re
import subprocess
import sys

# Pairs that are on the hub as Helsinki-NLP/opus-mt-FROM-TO; transformers.js converts and tests these.
OPUS = """
    en-es es-en en-fr fr-en en-hi hi-en en-de de-en en-ru ru-en en-it it-en en-ar ar-en en-zh zh-en en-sv sv-en en-nl
    nl-en en-fi fi-en en-cs cs-en en-vi vi-en en-hu hu-en en-da da-en en-id id-en en-uk uk-en en-af af-en de-es es-de
    fr-es es-fr fr-de de-fr es-it it-es es-ru ru-es fr-ru ru-fr fr-ro ro-fr uk-ru ru-uk it-fr en-ro pl-en tr-en ko-en
    et-en fi-de da-de ja-en nl-fr no-de th-en
"""
# opus-mt-en-de and opus-mt-de-en: pytorch_model.bin 298 MB, tokenizer files 3 MB. The others have the same shape, and
# vocabularies of about the same size.
OPUS_BYTES = 300_000_000

M2M = """
    af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu hy id
    ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si
    sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu
"""
OTHERS = [
    {
        "name": "facebook/m2m100_418M", "from": M2M.split(), "to": M2M.split(), "bytes": 1_950_000_000,
        "licence": "MIT", "source": "https://huggingface.co/facebook/m2m100_418M",
    },
]


def git(repository, *arguments):
    for folder in (repository, repository + "/.git"):
        found = subprocess.run(["git", "--git-dir", folder, *arguments], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout
    raise SystemExit(found.stderr)


def firefox(repository):
    commit = git(repository, "rev-parse", "HEAD").strip()
    best = {}
    for path in git(repository, "ls-tree", "-r", "--name-only", "HEAD", "models/").split():
        if not path.endswith("/metadata.json"):
            continue
        folder = path.removesuffix("/metadata.json")
        metadata = json.loads(git(repository, "show", f"HEAD:{path}"))
        files = git(repository, "ls-tree", "--name-only", "HEAD", folder + "/").split()
        # what is stored is a pointer to each packed file, with its size
        pointers = [git(repository, "show", f"HEAD:{file}") for file in files if file.endswith(".gz")]
        packed = sum(int(re.search(r"^size (\d+)$", pointer, re.M)[1]) for pointer in pointers)
        pair = (metadata["sourceLanguage"], metadata["targetLanguage"])
        score = (metadata.get("flores") or {}).get("bleu")
        entry = {
            "name": f"firefox:{pair[0]}-{pair[1]}",
            "from": [pair[0]], "to": [pair[1]], "bytes": round(packed, -5), "licence": "MPL-2.0",
            "score": score and {"bleu": score, "test": "FLORES-200"},
            "source": f"https://github.com/mozilla/firefox-translations-models/tree/{commit[:12]}/{folder}",
        }
        if pair not in best or (score or 0) > (best[pair]["score"] or {"bleu": 0})["bleu"]:
            best[pair] = entry
    return [best[pair] for pair in sorted(best)]


def opus(repository):
    commit = git(repository, "rev-parse", "HEAD").strip()
    there = set(git(repository, "ls-tree", "--name-only", "HEAD", "models/").split())
    for pair in OPUS.split():
        source, target = pair.split("-")
        entry = {
            "name": f"Helsinki-NLP/opus-mt-{pair}", "from": [source], "to": [target], "bytes": OPUS_BYTES,
            "licence": "CC-BY-4.0", "score": None, "source": f"https://huggingface.co/Helsinki-NLP/opus-mt-{pair}",
        }
        if f"models/{pair}" in there:
            # a release per heading; the hub has the last one in SentencePiece with alignments
            releases = git(repository, "show", f"HEAD:models/{pair}/README.md").split("\n# ")
            hub = [release for release in releases if "transformer-align" in release and "SentencePiece" in release]
            found = hub and re.search(r"Tatoeba\.\S+\s*\|\s*([\d.]+)", hub[-1])
            if found:
                entry["score"] = {"bleu": float(found[1]), "test": "Tatoeba"}
                entry["source"] = (
                    f"https://github.com/Helsinki-NLP/OPUS-MT-train/blob/{commit[:12]}/models/{pair}/README.md"
                )
        yield entry


entries = firefox(sys.argv[1]) + list(opus(sys.argv[2])) + OTHERS
for entry in entries:
    if not entry.get("score"):
        entry.pop("score", None)
print("[\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]")
