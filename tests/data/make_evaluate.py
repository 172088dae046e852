#!/usr/bin/env python3
"""Make evaluate/*.json: what sacreBLEU says about lines that are hard to tokenize and count.

    python make_evaluate.py HYPOTHESES      # the translations of tatoeba-test.tsv that go into tatoeba.json

Nothing is downloaded. Python: sacrebleu.
"""
import json
import random
import sys
from pathlib import Path

import sacrebleu
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

DATA = Path(__file__).parent
LINES = [
    "Hello, world!", "\"Quoted\" 'single' «guillemets» „tief“ and “high”.", "It costs 1,234.56 or 1.234,56 euros.",
    "3.14, 2,718; .5 and 5. and ,7 7,", "1990-1999, well-known, 5-, -5, a--b, 2--3", "a.b.c. e.g., i.e. ... …",
    "&quot;Tom &amp; Jerry&quot; &lt;b&gt; &apos; &amp;quot; &nbsp;", "<skipped>gone<skipped>", "今天天气很好。我们去公园吧!",
    "東京は2020年に、オリンピックを開催した。", "", " ", "\t", "ends in a blank ", " ends in no-break\u00a0", "5.\u00a0", "5.\u3000",
    "emoji 😀👩‍👩‍👧 and flags 🇩🇪!", "é precomposed", "e\u0301 combining", "ﬁne ligature", "[brackets] {braces} (round) <angle>",
    "a/b\\c|d~e`f^g_h@i#j$k%l&m*n+o=p:q;r?s", "don't 'tis o'clock’s", "٣,٤ ٥.٦ Arabic digits", "१.२ Devanagari",
    "x\u001cy\u001dz separators", "a\u0085b\u2028c\u200bd", "tab\tinside\tthe line", "carriage return\r", "A", "a b", "a b c", "a b c d",
    "the the the the the the the", "the cat is on the mat", "the cat sat on the mat", "There is a cat on the mat.", "1", ".", "..", "-", "--", "1-", "-1", "1.", ".1", "1.1",
    "1,.2", "a,.b", "..a", "9.,9", "a., b.,", "100%", "10€", "$5.00", "U.S.A.", "www.example.com/a?b=c&d=e", "user@example.com", "\u00ad soft\u00adhyphen", "\ufeffbyte order mark",
]


def score(hypotheses, references):
    bleu, chrf = sacrebleu.BLEU(), sacrebleu.CHRF()
    b, c = bleu.corpus_score(hypotheses, references), chrf.corpus_score(hypotheses, references)
    return {
        "bleu": {
            "score": b.score, "precisions": b.precisions, "matches": b.counts, "totals": b.totals, "brevity_penalty": b.bp,
            "hypothesis_length": b.sys_len, "reference_length": b.ref_len,
            "signature": str(bleu.get_signature()).rsplit("|version:", 1)[0],
        },
        "chrf": {"score": c.score, "signature": str(chrf.get_signature()).rsplit("|version:", 1)[0]},
    }


def case(name, hypotheses, *references):
    return {"name": name, "hypotheses": hypotheses, "references": references} | score(hypotheses, references)


def disturbed(rng, line):
    words = line.split(" ")
    for _ in range(rng.randint(0, 3)):
        at = rng.randrange(len(words))
        match rng.randrange(4):
            case 0: words[at] = rng.choice(rng.choice(LINES).split(" "))
            case 1: words.insert(at, rng.choice([",", "the", "2.5", "-"]))
            case 2: words[at] = words[at].capitalize()
            case 3 if len(words) > 1: words.pop(at)
    return " ".join(words)


def main():
    rng = random.Random(2017)
    tokenizer = Tokenizer13a()
    breaks = ["two\nlines", "hyphen-\nated", "5.\n", "-\n", "a\n.\nb"]
    fuzz = ["".join(rng.choice("ab19.,-'\" &;<>quotamplg!/[]\u00a0\u001f。é😀") for _ in range(rng.randint(1, 30))) for _ in range(300)]
    words = [{"text": line, "tokens": tokenizer(line).split()} for line in LINES + breaks + fuzz]
    one, two, three = ([disturbed(rng, line) for line in LINES] for _ in range(3))
    cases = [
        case("the same", LINES, LINES), case("disturbed", one, LINES), case("two references", one, LINES, two),
        case("three references", one, two, three, LINES), case("nothing in common", ["x y z"], ["a b c"]),
        case("too short for 4-grams", ["the cat"], ["the cat"]), case("no 3-grams match", ["a b x c d y a b"], ["a b c d e f g h"]),
        case("only empty hypotheses", ["", " "], ["a b", "c"]), case("only empty references", ["a b", "c"], ["", ""]),
        case("all empty", ["", ""], ["", " "]), case("short hypotheses", ["the cat", "on"], ["the cat sat on the mat", "on it"]),
        case("long hypotheses", ["the cat sat on the mat today"], ["the cat sat"]),
        case("as close in length", ["a b c"], ["a b c d"], ["a b"]), case("one line", ["It's 5 o'clock."], ["It is 5 o'clock."]),
        case("no match but of characters", ["abcd efgh"], ["abcdefgh"]), case("clipped", ["the the the the"], ["the cat the"], ["the the dog the"]),
    ]
    cases += [case(f"line {at}", [one[at]], [two[at]], [three[at]]) for at in range(len(LINES))]
    (DATA / "evaluate").mkdir(exist_ok=True)
    dump = lambda name, value: (DATA / "evaluate" / name).write_text(json.dumps(value, indent=0) + "\n")
    dump("lines.json", {"sacrebleu": sacrebleu.__version__, "words": words, "cases": cases})
    references = [line.split("\t")[1] for line in (DATA / "tatoeba-test.tsv").read_text().splitlines()]
    hypotheses = Path(sys.argv[1]).read_text().splitlines()
    dump("tatoeba.json", {"sacrebleu": sacrebleu.__version__} | {"hypotheses": hypotheses} | score(hypotheses, [references]))


main()
