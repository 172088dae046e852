"""Tokenizers of the families whose pieces come from one SentencePiece model: tiny models, and what transformers makes of
texts with them.

    python make_tokenizers.py pieces OUT   # transformers 4.57.6: its classes run SentencePiece itself
    python make_tokenizers.py json OUT     # transformers 5.23.0: its classes run `tokenizer.json`
    python make_tokenizers.py generic OUT  # transformers 5.23.0: generic classes
    python make_tokenizers.py older OUT    # transformers 5.24.0: folders without `tokenizer.json`
    python make_tokenizers.py bytes OUT    # transformers 5.24.0: ByT5, whose tokens are bytes

`pieces` trains the models, so it comes first. Made with sentencepiece 0.2.3. The text to train on is tatoeba-test.tsv.
"""

import json
import os
import random
import sys
import tempfile

import sentencepiece as spm

HERE = os.path.dirname(os.path.abspath(__file__))

TEXTS = [
    "", " ", "  \t ", "Hello world!", " Good morning.  How are you? ", "Where is the train station?",
    "Wo ist der Bahnhof, bitte?", "Ｆｕｌｌ　ｗｉｄｔｈ ①", "naïve café, jalapeño", "cafe\u0301", "Straße", "日本語のテキスト", "Привет, мир",
    "a\u00a0b\u2003c", "line\nbreak\r\nand\ttab", "e-mail@example.org 3.14 1,000", "😀🎉", "\u2581 literal \u2581piece",
    "</s>", "before </s> after", "<unk>", "<pad><pad>", "<s> text", "a <mask> b", "a   <mask>   b", "<mask>", "<mask_1> x <mask_2>",
    "<extra_id_0> fills <extra_id_99>.", "<extra_id_100>", "<unk_2><unk_102> <unk_103>", "en_XX text", "text de_DE", "__en__ text",
    "text__fr__text", "eng_Latn text", "deu_Latn", "translate English to German: The house is wonderful.", "<n> new line", "x" * 60,
    "!!!???...", "I'm sure it isn't; we've done it.", "Tom said: \"No!\"",
]  # fmt: skip


def texts():
    with open(f"{HERE}/tatoeba-test.tsv", encoding="utf-8") as file:
        lines = [part for line in file for part in line.rstrip("\n").split("\t")[:2]]
    random.seed(7)
    noise = ["".join(random.choice("abc ▁.,<>/s_äßЖ語\u0301 ") for _ in range(random.randint(1, 25))) for _ in range(60)]
    return TEXTS + random.sample(lines, 60) + noise, lines


def train(out, name, lines, **options):
    from sentencepiece import sentencepiece_model_pb2

    with tempfile.TemporaryDirectory() as folder:
        rules = f"{folder}/rules.tsv"
        with open(rules, "w", encoding="utf-8") as file:
            for code in range(0xFF01, 0xFF5F):
                file.write(f"{code:X}\t{code - 0xFEE0:X}\n")
            for space in ("9", "A", "D", "A0", "2003", "3000"):
                file.write(f"{space}\t20\n")
            file.write("65 301\tE9\n")
        spm.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_prefix=f"{folder}/model", vocab_size=400, normalization_rule_tsv=rules,
            character_coverage=0.999, num_threads=1, minloglevel=2, **options,
        )  # fmt: skip
        proto = sentencepiece_model_pb2.ModelProto()
        with open(f"{folder}/model.model", "rb") as file:
            proto.ParseFromString(file.read())
        proto.trainer_spec.model_prefix = proto.normalizer_spec.normalization_rule_tsv = ""  # the folder's random name
        with open(f"{out}/{name}.spm", "wb") as file:
            file.write(proto.SerializeToString())


def entries(tokenizer, samples, languages):
    items = []
    for index, text in enumerate(samples):
        item = {"text": text}
        if languages:
            item["source_language"] = languages[index % len(languages)]
            tokenizer.src_lang = item["source_language"]
        ids = tokenizer(text)["input_ids"]
        item |= {"ids": ids, "tokens": tokenizer.convert_ids_to_tokens(ids)}
        item["decoded"] = tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        items.append(item)
    return items


def pieces(out):
    from transformers import AddedToken, M2M100Tokenizer, MBart50Tokenizer, MBartTokenizer, NllbTokenizer
    from transformers import PegasusTokenizer, T5Tokenizer
    from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES as M2M_100
    from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES as NLLB

    samples, lines = texts()
    train(out, "pad_first", lines, pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    train(out, "fairseq", lines, unk_id=0, bos_id=1, eos_id=2)
    train(out, "fairseq_bpe", lines, unk_id=0, bos_id=1, eos_id=2, model_type="bpe")
    model = spm.SentencePieceProcessor(model_file=f"{out}/fairseq.spm")
    order = [model.id_to_piece(id) for id in range(3, len(model))]
    random.shuffle(order)
    order.remove(order[7])  # a piece that the vocabulary lacks
    vocab = {token: id for id, token in enumerate(["<s>", "<pad>", "</s>", "<unk>"] + order)}
    with open(f"{out}/m2m_100.vocab.json", "w") as file:
        json.dump(vocab, file)
    bpe = f"{out}/fairseq_bpe.spm"
    size = len(spm.SentencePieceProcessor(model_file=bpe)) + 1
    nllb = {size + index: AddedToken(code, special=True, normalized=False) for index, code in enumerate(NLLB)}
    nllb[size + len(NLLB)] = AddedToken("<mask>", lstrip=True, special=True)
    m2m = [f"__{code}__" for code in M2M_100["m2m100"]]  # as the published folders have them
    cases = {
        "t5": ("pad_first", T5Tokenizer, {}, {}, []),
        "pegasus": ("pad_first", PegasusTokenizer, {}, {}, []),
        "bigbird_pegasus": ("pad_first", PegasusTokenizer, {}, {"offset": 0, "mask_token_sent": None, "mask_token": None}, []),
        "mbart": ("fairseq", MBartTokenizer, {}, {}, ["en_XX", "de_DE", "zh_CN"]),
        "mbart50": ("fairseq", MBart50Tokenizer, {}, {}, ["en_XX", "sl_SI", "de_DE"]),
        "nllb": ("fairseq_bpe", NllbTokenizer, {"added_tokens_decoder": nllb}, {}, ["eng_Latn", "deu_Latn", "zul_Latn"]),
        "nllb_legacy": ("fairseq_bpe", NllbTokenizer, {"added_tokens_decoder": nllb}, {"legacy_behaviour": True}, ["eng_Latn"]),
        "m2m_100": ("fairseq", M2M100Tokenizer, {}, {"additional_special_tokens": m2m}, ["en", "zu", "de"]),
    }
    result = {}
    for name, (model, cls, extra, config, languages) in cases.items():
        vocab_file = {"vocab_file": f"{out}/{model}.spm"}
        if cls is M2M100Tokenizer:
            vocab_file = {"vocab_file": f"{out}/m2m_100.vocab.json", "spm_file": f"{out}/{model}.spm"}
        kwargs = json.loads(json.dumps(config))  # the class keeps the list and adds to it
        tokenizer = cls(**vocab_file, **extra, **kwargs)
        result[name] = {
            "class": cls.__name__, "model": model, "config": config, "special": sorted(tokenizer.all_special_ids),
            "items": entries(tokenizer, samples, languages),
        }  # fmt: skip
        if languages:
            codes = getattr(tokenizer, "lang_code_to_id", None) or {code: tokenizer.convert_tokens_to_ids(code) for code in NLLB}
            result[name]["languages"] = codes
    write(f"{out}/pieces.expected.json", result)


def json_files(out):
    from transformers import M2M100Tokenizer, MBart50Tokenizer, MBartTokenizer, NllbTokenizer
    from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES as NLLB

    samples, _ = texts()
    result = {}
    for name, model, cls, languages in [
        ("mbart", "fairseq", MBartTokenizer, ["en_XX", "de_DE"]),
        ("mbart50", "fairseq", MBart50Tokenizer, ["en_XX", "sl_SI"]),
        ("nllb", "fairseq_bpe", NllbTokenizer, ["eng_Latn", "deu_Latn"]),
    ]:
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(f"{os.path.abspath(out)}/{model}.spm", f"{folder}/sentencepiece.bpe.model")
            # from SentencePiece alone, version 5 forgets NLLB's languages, which published folders list
            extra = {"extra_special_tokens": NLLB} if cls is NllbTokenizer else {}
            cls.from_pretrained(folder, **extra).save_pretrained(f"{folder}/saved")
            tokenizer = cls.from_pretrained(f"{folder}/saved")
            with open(f"{folder}/saved/tokenizer.json") as file:
                write(f"{out}/{name}.tokenizer.json", json.load(file))
            with open(f"{folder}/saved/tokenizer_config.json") as file:
                config = json.load(file)
            result[name] = {
                "class": cls.__name__, "config": config, "special": sorted(tokenizer.all_special_ids),
                "items": entries(tokenizer, samples, languages),
            }  # fmt: skip
    write(f"{out}/json.expected.json", result)

    # transformers 5 kept one class that runs SentencePiece: it still does what 4 did
    with open(f"{out}/pieces.expected.json") as file:
        case = json.load(file)["m2m_100"]
    tokenizer = M2M100Tokenizer(f"{out}/m2m_100.vocab.json", f"{out}/fairseq.spm", **case["config"])
    for item in case["items"]:
        tokenizer.src_lang = item["source_language"]
        ids = tokenizer(item["text"])["input_ids"]
        if ids != item["ids"]:
            print("transformers 5 differs:", item["text"], ids, item["ids"])


def write(path, value):
    with open(path, "w") as file:
        json.dump(value, file, separators=(",", ":"), sort_keys=False)
        file.write("\n")


def generic(out):
    """Folders whose class is generic, or unknown to transformers: it then takes everything from tokenizer.json."""
    from transformers import AutoTokenizer

    with open(f"{out}/json.expected.json") as file:
        configs = {name: case["config"] for name, case in json.load(file).items()}
    result = []
    for name, model_type in [("mbart", "mbart"), ("mbart50", "mbart"), ("nllb", "m2m_100"), ("unigram_t5", "marian")]:
        for cls in ["PreTrainedTokenizerFast", "TokenizersBackend", "PreTrainedTokenizer", "FooTokenizer"]:
            with tempfile.TemporaryDirectory() as folder:
                os.symlink(f"{os.path.abspath(out)}/{name}.tokenizer.json", f"{folder}/tokenizer.json")
                # the class would read `src_lang`; a generic one does not
                config = {**configs.get(name, {}), "tokenizer_class": cls}
                if name.startswith("mbart"):
                    config["src_lang"] = "de_DE"
                for file, content in [("tokenizer_config.json", config), ("config.json", {"model_type": model_type})]:
                    with open(f"{folder}/{file}", "w") as opened:
                        json.dump(content, opened)
                tokenizer = AutoTokenizer.from_pretrained(folder)
                assert type(tokenizer).__name__ == "TokenizersBackend"
                items = [[text, tokenizer(text)["input_ids"]] for text in TEXTS]
            result.append({"file": name, "model_type": model_type, "config": config, "items": items})
    write(f"{out}/generic.expected.json", result)


def older(out):
    """Folders of the time before tokenizer.json, and folders whose tokenizer_config.json says other than tokenizer.json."""
    from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer
    from transformers import AutoTokenizer

    samples, lines = texts()
    bart, gpt2 = ByteLevelBPETokenizer(), ByteLevelBPETokenizer()
    bart.train_from_iterator(lines, vocab_size=450, show_progress=False, special_tokens=["<s>", "<pad>", "</s>", "<unk>"])
    gpt2.train_from_iterator(lines, vocab_size=420, show_progress=False, special_tokens=["<|endoftext|>"])
    bert = BertWordPieceTokenizer(lowercase=False)
    bert.train_from_iterator(lines, vocab_size=400, show_progress=False)
    bart.save_model(out, "older.bart")
    gpt2.save_model(out, "older.gpt2")
    bert.save_model(out, "older.bert")
    mask = {"content": "<mask>", "lstrip": True, "rstrip": False, "single_word": False, "normalized": True}
    named = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "mask_token": mask, "sep_token": "</s>"}
    byte_pairs = lambda name: {"vocab.json": f"older.{name}-vocab.json", "merges.txt": f"older.{name}-merges.txt"}
    pieces = {"vocab.txt": "older.bert-vocab.txt"}
    json_of = lambda name: {"tokenizer.json": f"{name}.tokenizer.json"}
    cases = [
        # files, config.json, tokenizer_config.json, special_tokens_map.json, added_tokens.json
        (byte_pairs("bart"), {"model_type": "bart"}, None, None, None),
        (byte_pairs("bart"), {"model_type": "led"}, {"model_max_length": 16384}, named, None),
        (byte_pairs("bart"), {"model_type": "roberta"}, {"add_prefix_space": True}, named, {"en_XX": 451, "<n>": 452}),
        (byte_pairs("bart"), {"model_type": "bart"}, {"tokenizer_class": "BartTokenizer", "mask_token": "<mask_1>"}, None, None),
        (byte_pairs("bart"), {"model_type": "bart"}, None, {**named, "additional_special_tokens": ["<n>", "en_XX"]}, {"en_XX": 452, "<n>": 451}),
        (byte_pairs("bart"), {"model_type": "bart"}, {"mask_token": "<mask>", "added_tokens_decoder": {"450": {**mask, "special": True}, "451": {"content": "Tom", "single_word": True}}}, None, None),
        (byte_pairs("bart"), {"model_type": "bart"}, {"additional_special_tokens": ["en_XX"], "extra_special_tokens": ["<n>"]}, None, None),
        (byte_pairs("gpt2"), {"model_type": "gpt2"}, {"add_bos_token": True, "add_eos_token": True}, None, None),
        (byte_pairs("gpt2"), {"model_type": "gpt2"}, None, None, None),
        (byte_pairs("gpt2"), {"model_type": "gpt2"}, {"add_prefix_space": True, "pad_token": "<pad>"}, None, None),
        (pieces, {"model_type": "bert"}, None, None, None),
        (pieces, {"model_type": "bert"}, {"do_lower_case": False}, None, None),
        (pieces, {"model_type": "distilbert"}, {"strip_accents": False, "tokenize_chinese_chars": False}, None, None),
        (pieces, {"model_type": "bert"}, {"do_lower_case": False, "strip_accents": True}, None, {"text": 400}),
        (json_of("bytelevel_bpe_bart"), {"model_type": "bart"}, {"add_prefix_space": True}, None, None),
        (json_of("bytelevel_bpe_bart"), {"model_type": "bart"}, {"mask_token": "<mask>", "added_tokens_decoder": {"4": mask}}, None, None),
        (json_of("wordpiece_bert"), {"model_type": "bert"}, {"do_lower_case": False}, None, None),
        (json_of("wordpiece_bert"), {"model_type": "distilbert"}, {"strip_accents": False}, None, None),
    ]  # fmt: skip
    result = []
    for files, model, *others in cases:
        names = ["config.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"]
        contents = {name: content for name, content in zip(names, [model, *others]) if content is not None}
        with tempfile.TemporaryDirectory() as folder:
            for name, file in files.items():
                os.symlink(f"{os.path.abspath(out)}/{file}", f"{folder}/{name}")
            for name, content in contents.items():
                with open(f"{folder}/{name}", "w") as opened:
                    json.dump(content, opened)
            tokenizer = AutoTokenizer.from_pretrained(folder)
        result.append({
            "files": files, "contents": contents, "class": type(tokenizer).__name__, "length": len(tokenizer),
            "items": [[item["text"], item["ids"], item["decoded"]] for item in entries(tokenizer, samples, [])],
        })  # fmt: skip
    write(f"{out}/older.expected.json", result)


def byte_tokens(out):
    """ByT5's class with the configurations of its publishers and others; any ids decoded."""
    from transformers import AutoTokenizer

    samples, _ = texts()
    samples = samples[: len(TEXTS) + 20] + samples[-20:]
    samples += ["end</s>", "end </s> ", " </s>", "a <pad> \n b", "<extra_id_0>안녕<extra_id_124> <extra_id_125>", "<x> and <y>"]
    role = lambda content: {"__type": "AddedToken", "content": content, "lstrip": False, "normalized": True, "rstrip": False, "single_word": False}
    extra = [f"<extra_id_{index}>" for index in range(125)]
    published = {"eos_token": role("</s>"), "unk_token": role("<unk>"), "pad_token": role("<pad>"), "extra_ids": 125, "additional_special_tokens": extra}
    random.seed(8)
    result = []
    for config in [
        {}, published, {**published, "extra_ids": 0, "additional_special_tokens": None}, {"extra_ids": 3},
        {"extra_ids": 0, "additional_special_tokens": ["<x>", "<y>"]}, {"eos_token": "</s>", "pad_token": role("<pad>")},
    ]:  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            for name, content in [("config.json", {"model_type": "t5"}), ("tokenizer_config.json", {**config, "tokenizer_class": "ByT5Tokenizer"})]:
                with open(f"{folder}/{name}", "w") as opened:
                    json.dump(content, opened)
            tokenizer = AutoTokenizer.from_pretrained(folder)
        ids = [[random.randrange(len(tokenizer)) for _ in range(random.randint(1, 12))] for _ in range(40)]
        bytes_of = lambda text: [byte + 3 for byte in text.encode()]
        ids += [bytes_of("안녕 🎉")[:length] for length in range(12)] + [bytes_of("é") + [1] + bytes_of("🎉")[2:] + bytes_of(" x")]
        result.append({
            "config": config, "length": len(tokenizer),
            "items": [[item["text"], item["ids"], item["decoded"]] for item in entries(tokenizer, samples, [])],
            "decoded": [[some, tokenizer.decode(some), tokenizer.decode(some, skip_special_tokens=True)] for some in ids],
        })  # fmt: skip
    write(f"{out}/bytes.expected.json", result)


if __name__ == "__main__":
    {"bytes": byte_tokens, "older": older, "pieces": pieces, "json": json_files, "generic": generic}[sys.argv[1]](sys.argv[2])
