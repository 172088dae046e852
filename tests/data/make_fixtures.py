#!/usr/bin/env python3
"""Generate (and verify) reference fixtures for the inference engine.

    python make_fixtures.py --set public  --out fixtures [--seed 20261120]
    python make_fixtures.py --set holdout --out OUT --holdout-config FILE  [--seed N]
    python make_fixtures.py --verify DIR      # recompute everything in DIR and compare (fresh process)

Nothing is downloaded: all weights are random (numpy PCG64, seeded), all text is generated below.
Python: torch (CPU), transformers, tokenizers, sentencepiece, safetensors, numpy.
See README.md next to the fixtures for the meaning of every file.
"""
import argparse
import base64
import copy
import hashlib
import importlib.util
import io
import json
import math
import os
import shutil
import sys
import time
import unicodedata
import warnings
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import numpy as np
import sentencepiece as spm
import tokenizers
import torch
import torch.nn as nn
import transformers
from safetensors.numpy import load_file as load_np
from safetensors.numpy import save_file as save_np
from safetensors.torch import save_file as save_pt
from transformers import GenerationConfig

torch.set_num_threads(1)
torch.set_grad_enabled(False)
torch.backends.mha.set_fastpath_enabled(False)
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
warnings.filterwarnings("ignore")

PUBLIC_SEED = 20261120
CACHE_BUG = False  # set when model.generate only works with use_cache=False
MODEL_CLASS = {
    "marian": "MarianMTModel",
    "bart": "BartForConditionalGeneration",
    "m2m_100": "M2M100ForConditionalGeneration",
    "mbart": "MBartForConditionalGeneration",
    "t5": "T5ForConditionalGeneration",
    "pegasus": "PegasusForConditionalGeneration",
    "bert": "BertForMaskedLM",
    "gpt2": "GPT2LMHeadModel",
}
CONFIG_CLASS = {
    "marian": "MarianConfig", "bart": "BartConfig", "m2m_100": "M2M100Config", "mbart": "MBartConfig",
    "t5": "T5Config", "pegasus": "PegasusConfig", "bert": "BertConfig", "gpt2": "GPT2Config",
}

# --------------------------------------------------------------------------------------------------------------------
# Public hyper-parameters (the holdout ones live in a separate holdout_config.py with the same three names)
# --------------------------------------------------------------------------------------------------------------------


def encdec(d, heads, ffn, layers=(2, 2), dec_heads=None, dec_ffn=None, **kw):
    """Shorthand for the BART-like configuration keys."""
    return dict(d_model=d, encoder_layers=layers[0], decoder_layers=layers[1], encoder_attention_heads=heads,
                decoder_attention_heads=dec_heads or heads, encoder_ffn_dim=ffn, decoder_ffn_dim=dec_ffn or ffn,
                dropout=0.1, attention_dropout=0.0, **kw)


MARIAN_STALE = {  # keys that real OPUS-MT config.json files carry and that transformers ignores
    "add_bias_logits": False, "add_final_layer_norm": False, "classif_dropout": 0.0, "extra_pos_embeddings": 0,
    "normalize_before": False, "normalize_embedding": False, "static_position_embeddings": True,
}

MODELS = [
    # vocab_size None: taken from the tokenizer built for this directory (source.spm/target.spm/vocab.json)
    dict(name="marian_tied", family="marian", tokenizer=dict(src_vocab=420, tgt_vocab=380),
         config=encdec(64, 4, 128, vocab_size=None, activation_function="relu", scale_embedding=True,
                       max_position_embeddings=64, pad_token_id=-1, eos_token_id=0, decoder_start_token_id=-1,
                       forced_eos_token_id=0, share_encoder_decoder_embeddings=True),
         gen=dict(num_beams=4, max_length=24, bad_words_ids=[[-1]], renormalize_logits=True),
         legacy_keys=True, stale=MARIAN_STALE),
    dict(name="marian_untied_swish", family="marian",
         config=encdec(48, 3, 80, vocab_size=523, decoder_vocab_size=437, activation_function="swish",
                       scale_embedding=True, max_position_embeddings=48, pad_token_id=436, eos_token_id=0,
                       decoder_start_token_id=436, forced_eos_token_id=0, share_encoder_decoder_embeddings=False),
         gen=dict(num_beams=3, max_length=20, bad_words_ids=[[436]])),
    dict(name="marian_separate_head", family="marian", lens=[6, 10, 3],
         config=encdec(40, 5, 72, vocab_size=260, decoder_vocab_size=311, activation_function="swish",
                       scale_embedding=True, max_position_embeddings=40, pad_token_id=259, eos_token_id=0,
                       decoder_start_token_id=259, forced_eos_token_id=0, share_encoder_decoder_embeddings=False,
                       tie_word_embeddings=False),
         gen=dict(num_beams=4, max_length=18, bad_words_ids=[[259]])),
    dict(name="marian_f16", family="marian", dtype="float16",
         config=encdec(32, 2, 64, vocab_size=301, activation_function="swish", scale_embedding=True,
                       max_position_embeddings=64, pad_token_id=300, eos_token_id=0, decoder_start_token_id=300,
                       forced_eos_token_id=0),
         gen=dict(num_beams=4, max_length=20, bad_words_ids=[[300]], renormalize_logits=True)),
    dict(name="bart", family="bart",
         config=encdec(64, 4, 128, vocab_size=500, activation_function="gelu", scale_embedding=False,
                       max_position_embeddings=64, pad_token_id=1, bos_token_id=0, eos_token_id=2,
                       decoder_start_token_id=2, forced_bos_token_id=0, forced_eos_token_id=2),
         gen=dict(num_beams=4, max_length=24, no_repeat_ngram_size=3, early_stopping=True)),
    dict(name="m2m_100", family="m2m_100", langs=[490, 491, 492],
         config=encdec(48, 4, 96, vocab_size=493, activation_function="relu", scale_embedding=True,
                       max_position_embeddings=64, pad_token_id=1, bos_token_id=0, eos_token_id=2,
                       decoder_start_token_id=2),
         gen=dict(num_beams=4, max_length=24, forced_bos_token_id=491, early_stopping=True)),
    dict(name="mbart", family="mbart", langs=[380, 381, 382],
         config=encdec(64, 4, 128, vocab_size=384, activation_function="gelu", scale_embedding=True,
                       max_position_embeddings=64, pad_token_id=1, bos_token_id=0, eos_token_id=2,
                       decoder_start_token_id=2, forced_eos_token_id=2),
         gen=dict(num_beams=4, max_length=24, forced_bos_token_id=381)),
    dict(name="pegasus", family="pegasus",
         config=encdec(64, 4, 96, vocab_size=411, activation_function="relu", scale_embedding=True,
                       max_position_embeddings=64, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
                       forced_eos_token_id=1),
         gen=dict(num_beams=4, max_length=24, length_penalty=0.8)),
    dict(name="t5_relu_tied", family="t5", srcmax=80,
         config=dict(vocab_size=512, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_decoder_layers=2, num_heads=4,
                     relative_attention_num_buckets=32, relative_attention_max_distance=128,
                     feed_forward_proj="relu", tie_word_embeddings=True, pad_token_id=0, eos_token_id=1,
                     decoder_start_token_id=0),
         gen=dict(max_length=24)),
    dict(name="t5_gated_untied_bf16", family="t5", dtype="bfloat16", srcmax=70,
         config=dict(vocab_size=384, d_model=64, d_kv=12, d_ff=112, num_layers=3, num_decoder_layers=2, num_heads=6,
                     relative_attention_num_buckets=16, relative_attention_max_distance=40,
                     feed_forward_proj="gated-gelu", tie_word_embeddings=False, pad_token_id=0, eos_token_id=1,
                     decoder_start_token_id=0),
         gen=dict(max_length=24)),
    dict(name="bert", family="bert",
         config=dict(vocab_size=420, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                     intermediate_size=128, hidden_act="gelu", max_position_embeddings=48, type_vocab_size=2,
                     pad_token_id=0, layer_norm_eps=1e-12)),
    dict(name="gpt2", family="gpt2",
         config=dict(vocab_size=400, n_embd=64, n_layer=2, n_head=4, n_positions=64,
                     activation_function="gelu_new", bos_token_id=399, eos_token_id=399),
         gen=dict(max_length=40, pad_token_id=399)),
    dict(name="vanilla_postln", family="vanilla",
         config=dict(d_model=64, nhead=4, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=128,
                     activation="relu", norm_first=False, final_norm=False, layer_norm_eps=1e-5,
                     vocab_size=400, tie_word_embeddings=True, max_position_embeddings=64)),
    dict(name="vanilla_preln", family="vanilla",
         config=dict(d_model=48, nhead=4, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=96,
                     activation="relu", norm_first=True, final_norm=True, layer_norm_eps=1e-5,
                     vocab_size=300, tie_word_embeddings=True, max_position_embeddings=64)),
]

SPM = [
    dict(name="unigram_nmt_nfkc", model_type="unigram", vocab_size=800, normalization_rule_name="nmt_nfkc",
         character_coverage=0.9995),
    dict(name="bpe_identity_bytefallback", model_type="bpe", vocab_size=1000, normalization_rule_name="identity",
         byte_fallback=True, character_coverage=0.99),
    dict(name="unigram_nfkc_cf_symbols", model_type="unigram", vocab_size=900, normalization_rule_name="nfkc_cf",
         byte_fallback=True, split_digits=True, remove_extra_whitespaces=False, add_dummy_prefix=False,
         user_defined_symbols=["<sep>", "<2de>", "서울"], character_coverage=0.995, pad_id=3),
]

OPTIONS = dict(
    n_strings=1600, n_tokenizer_strings=500,
    matmul=[(1, 64, 200), (1, 37, 1003), (5, 7, 3), (33, 65, 17), (64, 64, 64), (127, 129, 65), (3, 1, 5), (17, 300, 31),
            (2, 33, 1)],
    bmm=[(6, 5, 16, 9), (3, 1, 33, 13)], softmax=[(3, 9, 13), (2, 1, 1), (4, 7, 65)],
    norm=[(7, 33), (3, 128), (5, 1), (1, 515)], topk=[(4, 37, 5), (2, 1003, 8)], conv_seed=1,
)

# --------------------------------------------------------------------------------------------------------------------
# Small utilities
# --------------------------------------------------------------------------------------------------------------------


def sub_rng(seed, *names):
    """Independent generator for every (seed, name...) so that adding a fixture never changes another one."""
    h = hashlib.sha256(("|".join([str(seed), *map(str, names)])).encode()).digest()
    return np.random.default_rng(int.from_bytes(h[:8], "little"))


def versions():
    return dict(python=sys.version.split()[0], torch=torch.__version__, transformers=transformers.__version__,
                tokenizers=tokenizers.__version__, sentencepiece=spm.__version__, numpy=np.__version__)


def dump_json(path, obj):
    text = json.dumps(obj, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for k in (',"cases":', ',"versions":', ',"items":', ',"entries":'):
        text = text.replace(k, ",\n" + k[1:])
    text = text.replace('},{"', '},\n{"')
    Path(path).write_text(text + "\n")


def f(x, nd=7):
    x = float(x)
    return round(x, nd) if math.isfinite(x) else ("-inf" if x < 0 else "inf" if x > 0 else "nan")


def np32(t):
    return np.ascontiguousarray(t.detach().to(torch.float32).numpy())


def log_softmax64(x):
    x = x.astype(np.float64)
    m = x.max(-1, keepdims=True)
    return x - m - np.log(np.exp(x - m).sum(-1, keepdims=True))


# --------------------------------------------------------------------------------------------------------------------
# Reference search: an independent re-implementation of transformers' greedy / beam search for ONE sentence, in
# float64.  It is checked against model.generate on every case and measures how far every decision is from flipping.
# --------------------------------------------------------------------------------------------------------------------


def process_scores(seqs, scores, g):
    """Logits processors in transformers' order.  `scores` are raw logits (greedy) or log-probs (beam)."""
    cur_len = len(seqs[0])
    scores = scores.copy()
    for b, seq in enumerate(seqs):
        s = scores[b]
        rp = g.get("repetition_penalty", 1.0)
        if rp != 1.0:
            for t in set(seq):
                s[t] = s[t] * rp if s[t] < 0 else s[t] / rp
        n = g.get("no_repeat_ngram_size", 0)
        if n and cur_len + 1 >= n:
            prefix = tuple(seq[cur_len + 1 - n:])
            for i in range(cur_len - n + 1):
                if tuple(seq[i:i + n - 1]) == prefix:
                    s[seq[i + n - 1]] = -np.inf
        for bad in g.get("bad_words_ids") or []:
            assert len(bad) == 1
            if bad[0] != g["eos_token_id"]:  # transformers silently drops [eos] from bad_words_ids
                s[bad[0]] = -np.inf
        if cur_len < (g.get("min_length") or 0):
            s[g["eos_token_id"]] = -np.inf
        for key, at in (("forced_bos_token_id", 1), ("forced_eos_token_id", g["max_length"] - 1)):
            tok = g.get(key)
            if tok is not None and cur_len == at:
                s[:] = -np.inf
                s[tok] = 0.0
        if g.get("renormalize_logits"):
            scores[b] = log_softmax64(s)
    return scores


def ref_greedy(step, prompt, g):
    seq, gap, logps = list(prompt), np.inf, []
    while True:
        s = process_scores([seq], step([seq]), g)[0]
        order = np.argsort(-s, kind="stable")
        if np.isfinite(s[order[1]]):
            gap = min(gap, s[order[0]] - s[order[1]])
        logps.append(log_softmax64(s[None])[0, order[0]])
        seq.append(int(order[0]))
        if seq[-1] == g["eos_token_id"] or len(seq) >= g["max_length"]:
            return [(seq, float(np.sum(logps)))], gap


def ref_beam(step, prompt, g):
    """Beam search exactly as `GenerationMixin._beam_search` (>= 4.50), per sentence."""
    k, lp, es = g["num_beams"], g.get("length_penalty", 1.0), g.get("early_stopping", False)
    P, maxl, eos = len(prompt), g["max_length"], g["eos_token_id"]
    running = [(list(prompt), 0.0)] + [(list(prompt), -1e9)] * (k - 1)
    finished, cur, improvable, gap = [], P, True, np.inf
    while True:
        cand = process_scores([r[0] for r in running], log_softmax64(step([r[0] for r in running])), g)
        cand = cand + np.array([r[1] for r in running])[:, None]
        V = cand.shape[1]
        flat = cand.reshape(-1)
        order = np.argsort(-flat, kind="stable")[: 4 * k + 4]
        order = [i for i in order if flat[i] > -1e8]
        hit = {i: (i % V == eos or cur + 1 >= maxl) for i in order}
        top2k = order[: 2 * k]  # candidates kept by HF (one eos id -> 2k)
        # 1. continuing beams: best k candidates that did not finish
        nxt = [i for i in top2k if not hit[i]][:k]
        rest = [i for i in order if not hit[i]][k:k + 1]
        if rest and len(nxt) == k:
            gap = min(gap, flat[nxt[-1]] - flat[rest[0]])
        # 2. finished hypotheses: only candidates ranked in the first k of the 2k may finish
        if len(order) > k and (hit[order[k - 1]] or hit[order[k]]):
            gap = min(gap, flat[order[k - 1]] - flat[order[k]])
        if improvable and not (es is True and len(finished) == k):
            new = [(running[i // V][0] + [int(i % V)], flat[i] / (cur + 1 - P) ** lp) for i in order[:k] if hit[i]]
            merged = sorted(finished + new, key=lambda x: -x[1])
            if len(merged) > k:
                gap = min(gap, merged[k - 1][1] - merged[k][1])
            finished = merged[:k]
        done = all(hit[i] for i in top2k)
        running = [(running[i // V][0] + [int(i % V)], flat[i]) for i in nxt]
        while running and len(running) < k:
            running.append((running[0][0], -1e9))
        cur += 1
        # 3. can the best running beam still beat the worst finished one?
        if len(finished) == k and running:
            L = (maxl - P) if (es == "never" and lp > 0) else (cur - P)
            best, worst = running[0][1] / L ** lp, finished[-1][1]
            gap = min(gap, abs(best - worst))
            improvable = improvable and best > worst
        if done or not improvable or (es is True and len(finished) == k):
            for a, b in zip(finished, finished[1:]):
                gap = min(gap, a[1] - b[1])
            return finished, gap


def ref_generate(step, prompt, g):
    return ref_greedy(step, prompt, g) if g.get("num_beams", 1) == 1 else ref_beam(step, prompt, g)


# --------------------------------------------------------------------------------------------------------------------
# Vanilla transformer ("Attention is all you need") on torch.nn building blocks
# --------------------------------------------------------------------------------------------------------------------


class Vanilla(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        d, e = c["d_model"], c["layer_norm_eps"]
        kw = dict(d_model=d, nhead=c["nhead"], dim_feedforward=c["dim_feedforward"], dropout=0.0,
                  activation=c["activation"], layer_norm_eps=e, batch_first=True, norm_first=c["norm_first"])
        norm = (lambda: nn.LayerNorm(d, eps=e)) if c["final_norm"] else (lambda: None)
        self.transformer = nn.Module()
        self.transformer.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**kw), c["num_encoder_layers"],
                                                         norm=norm(), enable_nested_tensor=False)
        self.transformer.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**kw), c["num_decoder_layers"],
                                                         norm=norm())
        self.embed = nn.Embedding(c["vocab_size"], d)
        if not c["tie_word_embeddings"]:
            self.generator = nn.Linear(d, c["vocab_size"], bias=True)
        pos = torch.arange(c["max_position_embeddings"], dtype=torch.float64)[:, None]
        inv = torch.exp(torch.arange(0, d, 2, dtype=torch.float64) * (-math.log(10000.0) / d))
        pe = torch.zeros(c["max_position_embeddings"], d, dtype=torch.float64)
        pe[:, 0::2] = torch.sin(pos * inv)
        pe[:, 1::2] = torch.cos(pos * inv)[:, : d // 2]
        self.pe = pe  # interleaved, never stored
        self.eval()

    def embed_tokens(self, ids):
        w = self.embed.weight
        return self.embed(ids) * math.sqrt(self.c["d_model"]) + self.pe[: ids.shape[1]].to(w.dtype)

    def capture(self, module, store):
        """Ask every nn.MultiheadAttention below `module` for its per-head weights."""
        handles = []
        for name, m in module.named_modules():
            if isinstance(m, nn.MultiheadAttention):
                handles.append(m.register_forward_pre_hook(
                    lambda mod, a, k: (a, {**k, "need_weights": True, "average_attn_weights": False}),
                    with_kwargs=True))
                handles.append(m.register_forward_hook(lambda mod, a, out, name=name: store.update({name: out[1]})))
        for name, m in module.named_modules():
            if isinstance(m, (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)):
                handles.append(m.register_forward_hook(lambda mod, a, out, name=name: store.update({name: out})))
        return handles

    def encode(self, ids, mask):
        store = {}
        x = self.embed_tokens(ids)
        hs = self.capture(self.transformer.encoder, store)
        y = self.transformer.encoder(x, src_key_padding_mask=mask == 0)
        [h.remove() for h in hs]
        n = self.c["num_encoder_layers"]
        return dict(last=y, hidden=[x] + [store[f"layers.{i}"] for i in range(n)],
                    attn=[store[f"layers.{i}.self_attn"] for i in range(n)])

    def decode(self, ids, mem, mask, capture=True):
        store, T = {}, ids.shape[1]
        x = self.embed_tokens(ids)
        causal = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)
        hs = self.capture(self.transformer.decoder, store) if capture else []
        y = self.transformer.decoder(x, mem, tgt_mask=causal, memory_key_padding_mask=mask == 0)
        [h.remove() for h in hs]
        n = self.c["num_decoder_layers"]
        logits = self.generator(y) if hasattr(self, "generator") else y @ self.embed.weight.T
        if not capture:
            return dict(logits=logits)
        return dict(logits=logits, last=y, hidden=[x] + [store[f"layers.{i}"] for i in range(n)],
                    attn=[store[f"layers.{i}.self_attn"] for i in range(n)],
                    cross=[store[f"layers.{i}.multihead_attn"] for i in range(n)])


# --------------------------------------------------------------------------------------------------------------------
# Weights
# --------------------------------------------------------------------------------------------------------------------


def init_weights(model, spec, rng):
    """Larger-than-default random weights: peaky attention, non-trivial norms and biases, logits std about 2."""
    t5 = spec["family"] == "t5"
    d = spec["d"]
    qk = math.sqrt(2.0 / math.sqrt(spec["config"]["d_kv"])) if t5 else 1.6
    untied_t5 = t5 and not spec["config"]["tie_word_embeddings"]
    emb = 0.7 if t5 else (0.7 if spec["pre_ln"] else 2.0) / math.sqrt(d)
    gain_final, last = 3.0, spec["config"].get("decoder_layers", 0) - 1
    noscale = spec["family"] in ("marian", "mbart", "pegasus") and not spec["config"]["scale_embedding"]
    if noscale:  # keep the token embedding visible next to the sinusoid, and the logits at the usual scale
        emb = 0.9
        gain_final = 2.1 / (emb * math.sqrt(d))
    final_norms = (f"model.decoder.layers.{last}.final_layer_norm",) if noscale and not spec["pre_ln"] else ("model.decoder.layer_norm", "decoder.final_layer_norm", "transformer.decoder.norm", "transformer.ln_f")
    if untied_t5:  # transformers 5 builds T5 tied; give it its own head
        model.lm_head.weight = nn.Parameter(torch.empty_like(model.lm_head.weight))
    seen = set()
    for mname, mod in model.named_modules():
        cls = type(mod).__name__
        for pname, p in list(mod.named_parameters(recurse=False)) + list(mod.named_buffers(recurse=False)):
            name = f"{mname}.{pname}" if mname else pname
            if id(p) in seen or "Sinusoidal" in cls or not torch.is_floating_point(p):
                continue
            if isinstance(p, torch.Tensor) and not isinstance(p, nn.Parameter) and pname != "final_logits_bias":
                continue
            seen.add(id(p))
            x = rng.standard_normal(tuple(p.shape)).astype(np.float32)
            if pname == "final_logits_bias":
                x = 0.3 * x
            elif "norm" in cls.lower():
                x = 1 + 0.15 * x if pname == "weight" else 0.15 * x
                if (spec["pre_ln"] or noscale) and mname in final_norms and not untied_t5 and pname == "weight":
                    x = gain_final * x
            elif pname in ("bias", "in_proj_bias") or name.endswith(".bias"):
                x = 0.1 * x
            elif "relative_attention_bias" in name:
                pass
            elif isinstance(mod, nn.Embedding):
                pos = any(s in name for s in ("embed_positions", "position_embeddings", "wpe", "token_type"))
                x = x * (0.25 if pos else emb)
            elif name.endswith(("c_attn.weight", "in_proj_weight")):  # fused q,k,v
                ax = 1 if name.endswith("c_attn.weight") else 0
                gain = np.repeat([qk, qk, 1.2], d).reshape((1, -1) if ax else (-1, 1)).astype(np.float32)
                x = x * gain / math.sqrt(d)
            else:
                fan_in = p.shape[0] if cls == "Conv1D" else p.shape[-1]
                leaf = name.split(".")[-2]
                isqk = leaf in ("q_proj", "k_proj", "query", "key") or (t5 and leaf in ("q", "k"))
                # In decoders the FFN dominates (with its constant component removed); otherwise a tied random model
                # just repeats its last token for ever.
                gain = qk if isqk else 2.0 if leaf in ("lm_head", "generator") else 1.2
                if "decoder" in name or spec["family"] == "gpt2":
                    if leaf in ("fc2", "wo", "linear2") or ".mlp.c_proj" in name:
                        gain = spec.get("ffn_gain", 5.0)
                        x = x - x.mean(0 if cls == "Conv1D" else -1, keepdims=True)
                    elif leaf in ("out_proj", "o", "c_proj"):
                        cross = any(k in name for k in ("encoder_attn", "EncDecAttention", "multihead_attn"))
                        gain = 0.8 if cross else 1.2
                x = x * (gain / math.sqrt(fan_in))
            p.data.copy_(torch.from_numpy(np.asarray(x, dtype=np.float32)))


def boost_eos(model, spec, c):
    """Raise the end-of-sentence logit by about c so that hypotheses of different lengths compete."""
    fam, eos = spec["family"], spec["eos"]
    if hasattr(model, "final_logits_bias"):
        model.final_logits_bias[0, eos] += c
        return
    if fam == "t5":
        w = model.lm_head.weight if not spec["config"]["tie_word_embeddings"] else model.shared.weight
        w.data[eos] *= 1.0 + 0.15 * c
        return
    # no output bias: move the eos row along the bias of the last LayerNorm
    if fam == "m2m_100":
        b, w = model.model.decoder.layer_norm.bias, model.model.shared.weight
    elif fam == "gpt2":
        b, w = model.transformer.ln_f.bias, model.transformer.wte.weight
    else:
        dec = model.transformer.decoder
        b = (dec.norm if dec.norm is not None else dec.layers[-1].norm3).bias
        w = model.generator.weight if hasattr(model, "generator") else model.embed.weight
    w.data[eos] += c * b / (b @ b)


def build(spec, seed, eos_boost):
    fam = spec["family"]
    rng = sub_rng(seed, spec["name"], "weights")
    torch.manual_seed(0)
    if fam == "vanilla":
        model = Vanilla(spec["config"])
    else:
        cfg = getattr(transformers, CONFIG_CLASS[fam])(**spec["config"])
        cfg._attn_implementation = "eager"
        model = getattr(transformers, MODEL_CLASS[fam])(cfg).eval()
    init_weights(model, spec, rng)
    if fam != "bert":
        boost_eos(model, spec, eos_boost)
    return model


# --------------------------------------------------------------------------------------------------------------------
# Inputs
# --------------------------------------------------------------------------------------------------------------------


def fill_spec(spec):
    """Derive the handful of numbers the generic code needs."""
    spec = copy.deepcopy(spec)
    c, fam = spec["config"], spec["family"]
    if fam == "vanilla":
        c = spec["config"] = dict(model_type="vanilla_transformer", architectures=["VanillaTransformer"],
                                  scale_embedding=True, position_embedding_type="sinusoidal_interleaved",
                                  pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
                                  attention_bias=True, torch_dtype="float32", **c)
        spec["gen"] = dict(max_length=24, num_beams=4, **spec.get("gen", {}))
    spec["pre_ln"] = fam in ("m2m_100", "mbart", "pegasus", "t5", "gpt2") or (fam == "vanilla" and c["norm_first"])
    spec["d"] = c.get("d_model") or c.get("hidden_size") or c.get("n_embd")
    spec["eos"] = c.get("eos_token_id")
    spec["pad"] = c.get("pad_token_id", c.get("eos_token_id"))
    spec["maxpos"] = spec.get("srcmax") or c.get("max_position_embeddings") or c.get("n_positions")
    return spec


def token_pool(spec, vocab):
    c = spec["config"]
    special = {c.get(k) for k in ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id",
                                  "forced_bos_token_id")} | set(spec.get("langs", []))
    if spec["family"] == "bert":
        special |= {0, 1, 2, 3, 4}
    return np.array([i for i in range(vocab) if i not in special])


def make_inputs(spec, seed):
    rng = sub_rng(seed, spec["name"], "inputs")
    c, fam = spec["config"], spec["family"]
    pool = token_pool(spec, c["vocab_size"])
    dpool = token_pool(spec, c.get("decoder_vocab_size") or c["vocab_size"])
    lens = spec.get("lens", [9, 5, 12, 7])

    def sent(n):
        if fam in ("m2m_100", "mbart") and n >= 3:
            return [spec["langs"][0]] + list(rng.choice(pool, n - 2)) + [spec["eos"]]
        if fam == "bert":
            return [2] + list(rng.choice(pool, n - 2)) + [3] if n >= 2 else [2]
        if fam == "gpt2":
            return list(rng.choice(pool, n))
        return list(rng.choice(pool, n - 1)) + [spec["eos"]]

    def batch(ls, left=False):
        S = max(ls)
        ids, mask = np.full((len(ls), S), spec["pad"], np.int32), np.zeros((len(ls), S), np.int32)
        for i, n in enumerate(ls):
            sl = slice(S - n, S) if left else slice(0, n)
            ids[i, sl], mask[i, sl] = sent(n), 1
        return dict(input_ids=ids, attention_mask=mask)

    out = dict(main=batch(lens), src1=batch([1]), srcmax=batch([spec["maxpos"]]))
    if fam == "gpt2":
        out["main_left"] = batch(lens, left=True)
    if fam == "bert":
        for b in out.values():
            b["token_type_ids"] = (np.cumsum(rng.random(b["input_ids"].shape) < 0.15, 1) % 2).astype(np.int32)
    if fam not in ("bert", "gpt2"):
        T = spec.get("tgt_len", 10)
        for key, b in out.items():
            B = b["input_ids"].shape[0]
            t = T if key != "srcmax" else min(4, T)
            dec = rng.choice(dpool, (B, t)).astype(np.int32)
            dec[:, 0] = c["decoder_start_token_id"]
            if spec.get("langs"):
                dec[:, 1] = spec["langs"][1]
            b["decoder_input_ids"] = dec
    return out


def tt(x):
    return torch.from_numpy(np.asarray(x)).long()


# --------------------------------------------------------------------------------------------------------------------
# Running models
# --------------------------------------------------------------------------------------------------------------------


def run_forward(model, spec, b):
    """Teacher-forced forward pass; returns {tensor name: torch tensor}."""
    fam, out = spec["family"], {}
    ids, mask = tt(b["input_ids"]), tt(b["attention_mask"])
    if fam == "vanilla":
        e = model.encode(ids, mask)
        r = model.decode(tt(b["decoder_input_ids"]), e["last"], mask)
        out.update(encoder_last_hidden_state=e["last"], decoder_last_hidden_state=r["last"], logits=r["logits"])
        groups = dict(encoder_hidden_states=e["hidden"], encoder_attentions=e["attn"], decoder_hidden_states=r["hidden"],
                      decoder_attentions=r["attn"], cross_attentions=r["cross"])
    elif fam in ("bert", "gpt2"):
        kw = dict(token_type_ids=tt(b["token_type_ids"])) if fam == "bert" else {}
        r = model(input_ids=ids, attention_mask=mask, output_attentions=True, output_hidden_states=True, **kw)
        out.update(logits=r.logits)
        groups = dict(hidden_states=r.hidden_states, attentions=r.attentions)
    else:
        r = model(input_ids=ids, attention_mask=mask, decoder_input_ids=tt(b["decoder_input_ids"]),
                  output_attentions=True, output_hidden_states=True, use_cache=False)
        out.update(encoder_last_hidden_state=r.encoder_last_hidden_state, logits=r.logits)
        groups = {k: getattr(r, k) for k in ("encoder_hidden_states", "encoder_attentions", "decoder_hidden_states",
                                             "decoder_attentions", "cross_attentions")}
    for k, ts in groups.items():
        for i, t in enumerate(ts):
            out[f"{k}.{i}"] = t
    return out


def step_fn(model, spec, row_ids):
    """Closure: list of equal-length token sequences -> raw next-token logits, without cache and without padding."""
    fam = spec["family"]
    ids = tt(row_ids)[None]
    if fam == "vanilla":
        mem = model.encode(ids, torch.ones_like(ids))["last"]

        def step(seqs):
            n = len(seqs)
            return model.decode(tt(seqs), mem.expand(n, -1, -1), torch.ones(n, ids.shape[1]), capture=False)["logits"][:, -1].double().numpy()
    elif fam == "gpt2":
        def step(seqs):
            return model(input_ids=tt(seqs), use_cache=False).logits[:, -1].double().numpy()
    else:
        enc = model.get_encoder()(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state

        def step(seqs):
            n = len(seqs)
            eo = transformers.modeling_outputs.BaseModelOutput(last_hidden_state=enc.expand(n, -1, -1))
            return model(encoder_outputs=eo, attention_mask=torch.ones(n, ids.shape[1], dtype=torch.long),
                         decoder_input_ids=tt(seqs), use_cache=False).logits[:, -1].double().numpy()
    return step


def seq2seq_cases(spec):
    L = spec["gen"]["max_length"]
    base = dict(no_repeat_ngram_size=0, max_length=L)
    beam = dict(base, num_beams=4, num_return_sequences=4)
    cs = [
        ("greedy", "main", dict(base, num_beams=1)),
        ("greedy_short", "main", dict(base, num_beams=1, max_length=6)),
        ("greedy_min_length", "main", dict(base, num_beams=1, min_length=9)),
        ("greedy_norepeat2_rep1.3", "main", dict(base, num_beams=1, no_repeat_ngram_size=2, repetition_penalty=1.3)),
        ("greedy_src1", "src1", dict(base, num_beams=1)),
        ("greedy_srcmax", "srcmax", dict(base, num_beams=1)),
        ("beam4_lp1.0_esFalse", "main", dict(beam, length_penalty=1.0, early_stopping=False)),
        ("beam4_lp1.0_esTrue", "main", dict(beam, length_penalty=1.0, early_stopping=True)),
        ("beam4_lp0.6_esFalse", "main", dict(beam, length_penalty=0.6, early_stopping=False)),
        ("beam4_lp0.6_esTrue", "main", dict(beam, length_penalty=0.6, early_stopping=True)),
        ("beam4_lp1.0_esNever", "main", dict(beam, length_penalty=1.0, early_stopping="never")),
        ("beam3_lp2.0_short", "main", dict(beam, num_beams=3, num_return_sequences=3, length_penalty=2.0,
                                           early_stopping=False, max_length=7)),
        ("beam4_norepeat3_rep1.2", "main", dict(beam, length_penalty=1.0, early_stopping=False,
                                                no_repeat_ngram_size=3, repetition_penalty=1.2)),
        ("beam4_src1", "src1", dict(beam, length_penalty=1.0, early_stopping=False)),
        ("beam4_srcmax", "srcmax", dict(beam, length_penalty=1.0, early_stopping=False)),
        ("generation_config_defaults", "main", {}),
    ]
    c = spec["config"]
    limit = c.get("max_position_embeddings") or c.get("n_positions")
    if limit and spec["family"] != "gpt2":
        cs.append(("greedy_to_position_limit", "src1", dict(base, num_beams=1, max_length=limit, min_length=limit)))
    if spec["family"] == "gpt2":
        cs = [(n, "main_left" if i == "main" else i, k) for n, i, k in cs if "srcmax" not in i and "short" not in n]
        cs = [(n, i, {**k, "min_length": 16} if "min_length" in k else k) for n, i, k in cs]
    if spec.get("case_filter"):
        cs = [x for x in cs if spec["case_filter"](x)]
    return cs


def effective(spec, kwargs):
    g = dict(num_beams=1, early_stopping=False, length_penalty=1.0)
    for k in ("decoder_start_token_id", "eos_token_id", "pad_token_id", "forced_bos_token_id", "forced_eos_token_id"):
        if spec["config"].get(k) is not None:
            g[k] = spec["config"][k]
    g.update(spec["gen"])
    g.update(kwargs)
    g["eos_token_id"] = spec["eos"]
    return g


def prompt_of(spec, b, row):
    if spec["family"] == "gpt2":
        return b["input_ids"][row][b["attention_mask"][row] == 1].tolist()
    return [spec["config"]["decoder_start_token_id"]]


def generate(model, spec, b, kwargs):
    """Returns (sequences [N, L], sequences_scores or None, extras)."""
    kwargs = {k: v for k, v in kwargs.items() if not (k == "no_repeat_ngram_size" and v == 0
                                                      and not spec["gen"].get("no_repeat_ngram_size"))}
    call = dict(input_ids=tt(b["input_ids"]), attention_mask=tt(b["attention_mask"]), do_sample=False,
                return_dict_in_generate=True, output_scores=True, output_logits=True, **kwargs)
    try:
        r = model.generate(**call)
    except IndexError:  # transformers 5 sizes the KV cache by the ENCODER depth: deeper decoders crash (T5, ...)
        global CACHE_BUG
        CACHE_BUG = True
        r = model.generate(**{**call, "use_cache": False})
    return r


def run_case(model, spec, inputs, name, inp, kwargs):
    b, g = inputs[inp], effective(spec, kwargs)
    case = dict(name=name, input=inp, generate_kwargs=kwargs)
    if spec["family"] == "vanilla":
        k = g["num_beams"]
        rows = [ref_generate(step_fn(model, spec, row_of(spec, b, i)), prompt_of(spec, b, i), g)
                for i in range(len(b["input_ids"]))]
        nret = kwargs.get("num_return_sequences", 1)
        hyps = [h for r, _ in rows for h in r[:nret]]
        L = max(len(h[0]) for h in hyps)
        case["sequences"] = [h[0] + [spec["pad"]] * (L - len(h[0])) for h in hyps]
        if k > 1:
            case["sequences_scores"] = [f(h[1]) for h in hyps]
        else:
            case["sum_logprob"] = [f(h[1]) for h in hyps]
        case["min_margin"] = f(min(r[1] for r in rows), 9)
        return case, None
    r = generate(model, spec, b, kwargs)
    seqs = r.sequences.tolist()
    case["sequences"] = seqs
    if g["num_beams"] > 1:
        case["sequences_scores"] = [f(x) for x in r.sequences_scores]
        case["beam_indices"] = r.beam_indices.tolist()
        return case, None
    P = len(seqs[0]) - len(r.scores)
    lp, raw = [], []
    for i, s in enumerate(seqs):
        a, c = [], []
        for t, tok in enumerate(s[P:]):
            a.append(f(torch.log_softmax(r.scores[t][i], -1)[tok]))
            c.append(f(torch.log_softmax(r.logits[t][i], -1)[tok]))
            if tok == spec["eos"]:
                break
        lp.append(a), raw.append(c)
    case["step_logprobs"], case["step_logprobs_raw"] = lp, raw
    return case, torch.stack([x[0] for x in r.logits])


def row_of(spec, b, i):
    return b["input_ids"][i][b["attention_mask"][i] == 1]


def strip(seq, spec, P):
    """Remove padding after the first generated eos."""
    for t in range(P, len(seq)):
        if seq[t] == spec["eos"]:
            return seq[: t + 1]
    return seq


def cross_check(model, spec, inputs, case):
    """Compare a transformers case with ref_generate (single sentence, no padding, no cache, float64 search)."""
    b, g = inputs[case["input"]], effective(spec, case["generate_kwargs"])
    n = case["generate_kwargs"].get("num_return_sequences", 1)
    gap = np.inf
    for i in range(len(b["input_ids"])):
        pr = prompt_of(spec, b, i)
        gi = g
        if spec["family"] == "gpt2":  # lengths count the left padding of the batch
            padn = b["input_ids"].shape[1] - len(pr)
            gi = dict(g, max_length=g["max_length"] - padn, min_length=max(0, g.get("min_length", 0) - padn))
        hyps, gp = ref_generate(step_fn(model, spec, row_of(spec, b, i)), pr, gi)
        gap = min(gap, gp)
        for j in range(n):
            Pf = b["input_ids"].shape[1] if spec["family"] == "gpt2" else 1
            want = strip(case["sequences"][i * n + j], spec, Pf)[Pf:]
            if hyps[j][0][len(pr):] != want:
                return -1.0
            if g["num_beams"] > 1 and abs(hyps[j][1] - case["sequences_scores"][i * n + j]) > 2e-4:
                return -2.0
    return float(gap)


def round_to(model, dtype):
    for p in list(model.parameters()) + list(model.buffers()):
        if torch.is_floating_point(p):
            p.data.copy_(p.data.to(dtype).float())


def quick_ok(model, spec, inputs):
    """Cheap screening of a candidate seed on the greedy case."""
    fam = spec["family"]
    if fam == "bert":
        lg = model(input_ids=tt(inputs["main"]["input_ids"]), attention_mask=tt(inputs["main"]["attention_mask"]),
                   token_type_ids=tt(inputs["main"]["token_type_ids"])).logits
        t2 = torch.topk(lg, 2).values
        return bool((t2[..., 0] - t2[..., 1]).min() > 1e-3)
    key = "main_left" if fam == "gpt2" else "main"
    b, g = inputs[key], effective(spec, dict(num_beams=1, no_repeat_ngram_size=0))
    lens, variety, gap = [], [], np.inf
    for i in range(len(b["input_ids"])):
        pr = prompt_of(spec, b, i)
        h, gp = ref_greedy(step_fn(model, spec, row_of(spec, b, i)), pr, g)
        gen = h[0][0][len(pr):]
        gap = min(gap, gp)
        if gap < 2e-3:
            return False
        lens.append(len(gen)), variety.append(len(set(gen)) / len(gen))
        if len(gen) < 2 or variety[-1] < spec.get("variety", (0.13, 0.33))[0]:
            return False
    need = 2 if len(lens) > 3 else 1
    ended = sum(n < g["max_length"] - (b["input_ids"].shape[1] if fam == "gpt2" else 1) for n in lens)
    return ended >= need and len(set(lens)) >= min(3, need + 1) and np.mean(variety) > spec.get("variety", (0.13, 0.33))[1]


def find_model(spec, seed, inputs, budget=400):
    """First seed (with varying eos boost) whose decoding decisions all have comfortable margins."""
    dtype = getattr(torch, spec.get("dtype", "float32"))
    best = None
    tried_full = 0
    t0 = time.time()
    for attempt in range(budget):
        boost = [3.0, 1.5, 4.5, 2.2, 5.5, 0.5, 3.8, 7.0][attempt % 8]
        model = build(spec, f"{seed}.{attempt}", boost)
        if dtype != torch.float32:
            round_to(model, dtype)
        if not quick_ok(model, spec, inputs):
            continue
        if spec["family"] == "bert":
            return model, attempt, boost, None, {}
        tried_full += 1
        cases, margins, raws, ok = [], {}, {}, True
        for name, inp, kw in seq2seq_cases(spec):
            case, raw = run_case(model, spec, inputs, name, inp, kw)
            m = case["min_margin"] if spec["family"] == "vanilla" else cross_check(model, spec, inputs, case)
            if m < 0:
                print(f"    {spec['name']} attempt {attempt}: case {name} disagrees with the reference search ({m})",
                      flush=True)
            case["min_margin"] = f(m, 9)
            margins[name] = m
            cases.append(case)
            if raw is not None:
                raws[name] = raw
            if m < (1e-3 if name.startswith("greedy") else 5e-5 if tried_full <= 12 else 1e-5):
                ok = False
                break
        if ok:
            best = (min(margins.values()), model, attempt, boost, cases, raws)
            break
    if best is None:
        raise SystemExit(f"{spec['name']}: no acceptable seed found")
    return best[1], best[2], best[3], best[4], best[5]


# --------------------------------------------------------------------------------------------------------------------
# Saving one model directory
# --------------------------------------------------------------------------------------------------------------------


def load_model(d, family, dtype=torch.float32):
    if family == "vanilla":
        cfg = json.loads((d / "config.json").read_text())
        m = Vanilla(cfg)
        sd = {k: torch.from_numpy(v) for k, v in load_np(d / "model.safetensors").items()}
        m.load_state_dict(sd, strict=True)
        return m.eval()
    cls = getattr(transformers, MODEL_CLASS[family])
    return cls.from_pretrained(str(d), dtype=dtype, attn_implementation="eager").eval()


def save_model_files(model, spec, d):
    fam = spec["family"]
    if fam == "vanilla":
        (d / "config.json").write_text(json.dumps(spec["config"], indent=2) + "\n")
        save_pt({k: v.contiguous() for k, v in model.state_dict().items()}, str(d / "model.safetensors"),
                metadata={"format": "pt"})
        g = dict(decoder_start_token_id=1, bos_token_id=1, eos_token_id=2, pad_token_id=0, **spec["gen"])
        (d / "generation_config.json").write_text(json.dumps(g, indent=2) + "\n")
        return
    m = copy.deepcopy(model)
    if "generation_config" in dir(m) and spec.get("gen"):
        g = dict(spec["gen"])
        for k in ("decoder_start_token_id", "eos_token_id", "pad_token_id", "bos_token_id", "forced_bos_token_id",
                  "forced_eos_token_id"):
            if spec["config"].get(k) is not None:
                g.setdefault(k, spec["config"][k])
        m.generation_config = GenerationConfig(**g)
    m = m.to(getattr(torch, spec.get("dtype", "float32")))
    m.save_pretrained(str(d))
    cfgp = d / "config.json"
    cfg = json.loads(cfgp.read_text())
    cfg.update(spec.get("stale", {}))
    if fam == "t5":
        cfg["tie_word_embeddings"] = spec["config"]["tie_word_embeddings"]
    cfgp.write_text(json.dumps(cfg, indent=2, sort_keys=True) + "\n")
    if spec.get("legacy_keys"):
        sd = {k: v.detach().clone().contiguous() for k, v in model.state_dict().items()}
        for side in ("encoder", "decoder"):
            sd[f"model.{side}.embed_positions.weight"] = getattr(model.model, side).embed_positions.weight.clone()
        save_pt(sd, str(d / "model_legacy_keys.safetensors"), metadata={"format": "pt"})


def make_model(spec, seed, out, tok_builder=None):
    global CACHE_BUG
    CACHE_BUG, t0 = False, time.time()
    d = out / "models" / spec["name"]
    shutil.rmtree(d, ignore_errors=True)
    d.mkdir(parents=True)
    extra_tok = None
    if spec.get("tokenizer"):
        spec = copy.deepcopy(spec)
        extra_tok = tok_builder(spec, seed, d)
        V = extra_tok["vocab_size"]
        spec["config"].update(vocab_size=V, pad_token_id=V - 1, decoder_start_token_id=V - 1, decoder_vocab_size=V)
        spec["gen"]["bad_words_ids"] = [[V - 1]]
    spec = fill_spec(spec)
    if spec["family"] not in ("bert",):
        spec.setdefault("gen", {})
    inputs = make_inputs(spec, seed)
    if spec["family"] not in ("bert", "vanilla"):
        # give the in-memory model its generation config so that the search sees what will be saved
        _build = globals()["build"]

        def build_g(s, sd, boost):
            m = _build(s, sd, boost)
            g = dict(s["gen"])
            for k in ("decoder_start_token_id", "eos_token_id", "pad_token_id", "bos_token_id", "forced_bos_token_id",
                      "forced_eos_token_id"):
                if s["config"].get(k) is not None:
                    g.setdefault(k, s["config"][k])
            m.generation_config = GenerationConfig(**g)
            return m
        globals()["build"] = build_g
        try:
            model, attempt, boost, cases, raws = find_model(spec, seed, inputs)
        finally:
            globals()["build"] = _build
    else:
        model, attempt, boost, cases, raws = find_model(spec, seed, inputs)
    save_model_files(model, spec, d)
    model = load_model(d, spec["family"])  # expected values always come from the reloaded directory, in f32
    m64 = copy.deepcopy(model).double()

    tensors, diffs = {}, {}
    for key, b in inputs.items():
        for k, v in b.items():
            tensors[f"{key}.{k}"] = v
        o = run_forward(model, spec, b)
        o64 = run_forward(m64, spec, b)
        for k, v in o.items():
            if key != "main" and k not in ("logits", "encoder_last_hidden_state"):
                continue
            tensors[f"{key}.{k}"] = np32(v)
            kind = k.split(".")[0]
            diffs[kind] = max(diffs.get(kind, 0.0), float((v.double() - o64[k].double()).abs().max()))
    if cases is not None:
        raws = {}
        redo = []
        for old in cases:
            case, raw = run_case(model, spec, inputs, old["name"], old["input"], old["generate_kwargs"])
            assert case["sequences"] == old["sequences"], (spec["name"], old["name"], "changed after reload")
            case["min_margin"] = old["min_margin"]
            if spec["family"] != "vanilla":
                nc = generate(model, spec, inputs[old["input"]], dict(old["generate_kwargs"], use_cache=False))
                assert nc.sequences.tolist() == case["sequences"], (spec["name"], old["name"], "use_cache=False differs")
                g64 = generate(m64, spec, inputs[old["input"]], old["generate_kwargs"])
                assert g64.sequences.tolist() == case["sequences"], (spec["name"], old["name"], "float64 differs")
            if raw is not None and old["name"] == "greedy":
                tensors["greedy.row0_raw_logits"] = np32(raw)
            redo.append(case)
        cases = redo
    meta = dict(name=spec["name"], family=spec["family"], weights_dtype=spec.get("dtype", "float32"),
                generate_needed_use_cache_false=CACHE_BUG, seed=str(seed), attempt=attempt, eos_boost=boost,
                max_abs_diff_f32_vs_f64={k: f(v, 9) for k, v in sorted(diffs.items())},
                weight_tensors={k: list(v.shape) for k, v in sorted(load_np_any(d / "model.safetensors").items())},
                versions=versions(), cases=cases or [])
    if extra_tok:
        meta["text"] = extra_tok["run"](model, d)
    save_np({k: np.ascontiguousarray(v) for k, v in sorted(tensors.items())}, str(d / "expected.safetensors"))
    dump_json(d / "expected.json", meta)
    mm = min([c["min_margin"] for c in cases], default=None) if cases else None
    lens = sorted({len(strip(s, spec, 1)) - 1 for c in (cases or []) if c["name"] == "greedy" for s in c["sequences"]})
    print(f"  {spec['name']:26s} attempt {attempt:3d} boost {boost} margin {mm} greedy lens {lens} "
          f"f32/f64 logits {diffs.get('logits', 0):.1e}  {time.time() - t0:.1f}s", flush=True)


def load_np_any(path):
    from safetensors.torch import load_file
    return load_file(str(path))


# --------------------------------------------------------------------------------------------------------------------
# Text: corpus, fuzzed strings
# --------------------------------------------------------------------------------------------------------------------

CORPUS = {
    "en": dict(
        S="the small child|an old woman|my neighbour|the quiet teacher|a young engineer|our driver|the doctor|that student|"
          "a friendly dog|the tired farmer|the captain|his brother|their grandmother|a famous writer|the new manager|"
          "nobody|everyone in the village|the girl with the red umbrella",
        V="opens|quickly closes|does not understand|has already read|would like to buy|is looking at|remembers|can't find|"
          "translated|wrote|forgot|carefully repaired|sells|borrowed|was painting|will never forget|hides|measured",
        O="the wooden door|a long letter|three apples|the broken window|an interesting question|his keys|the newspaper|"
          "a glass of cold water|the morning train|twenty-five tickets|the map of Europe|a beautiful garden|"
          "the price of bread|her grandfather's watch|an encoder and a decoder|the attention weights|some coffee|the answer",
        E=".|!|?| in the evening.| before breakfast.| near the station, of course.| at 10:45 p.m.| because it was raining.|"
          " for $3.50.| (again).| without saying \"thank you\".| in 1987.|; then everything changed.| - or so they say.",
    ),
    "de": dict(
        S="das kleine Kind|eine alte Frau|mein Nachbar|der strenge Lehrer|eine junge Ingenieurin|unser Fahrer|die Ärztin|"
          "jener Schüler|ein freundlicher Hund|der müde Bauer|die Kapitänin|sein großer Bruder|ihre Großmutter|"
          "ein berühmter Schriftsteller|niemand|jeder im Dorf|das Mädchen mit dem Regenschirm",
        V="öffnet|schließt schnell|versteht|hat schon gelesen:|möchte kaufen:|betrachtet|erinnert sich an|findet nicht|"
          "übersetzte|schrieb|vergaß|reparierte vorsichtig|verkauft|lieh sich|malte gerade|verschweigt|misst|wählt",
        O="die hölzerne Tür|einen langen Brief|drei Äpfel|das zerbrochene Fenster|eine schwierige Frage|seine Schlüssel|"
          "die Tageszeitung|ein Glas kaltes Wasser|den Frühzug|fünfundzwanzig Fahrkarten|die Europakarte|"
          "einen schönen Garten|den Brotpreis|die Straßenbahnhaltestelle|das Übersetzungsprogramm|etwas Süßes|die Lösung",
        E=".|!|?| am Abend.| vor dem Frühstück.| in der Nähe des Bahnhofs.| um 10.45 Uhr.| weil es regnete.| für 3,50 €.|"
          " (schon wieder).| ohne „danke“ zu sagen.| im Jahr 1987.|; dann wurde alles anders.| – so sagt man.",
    ),
    "fr": dict(
        S="le petit enfant|une vieille dame|mon voisin|l'institutrice sévère|un jeune ingénieur|notre chauffeur|le médecin|"
          "cet élève|un chien gentil|le fermier fatigué|la capitaine|son frère aîné|leur grand-mère|un écrivain célèbre|"
          "personne|chacun au village|la fille au parapluie rouge",
        V="ouvre|ferme vite|ne comprend pas|a déjà lu|voudrait acheter|regarde|se souvient bien de|cherche encore|traduisait|"
          "écrivit|oublia|répare soigneusement|vend|emprunta|peignait|n'oubliera jamais|cache|mesurait",
        O="la porte en bois|une longue lettre|trois pommes|la fenêtre cassée|une question intéressante|ses clés|le journal|"
          "un verre d'eau froide|le train du matin|vingt-cinq billets|la carte de l'Europe|un beau jardin|le prix du pain|"
          "la montre de son grand-père|où aller cet été|du café crème|la réponse|l'œuvre complète",
        E=".| !| ?| le soir.| avant le petit déjeuner.| près de la gare, bien sûr.| à 10 h 45.| parce qu'il pleuvait.|"
          " pour 3,50 €.| (encore une fois).| sans dire « merci ».| en 1987.| ; puis tout a changé.| – paraît-il.",
    ),
    "ko": dict(
        S="작은 아이가|나이 든 여자가|우리 이웃은|엄격한 선생님은|젊은 기술자가|운전사는|의사 선생님이|그 학생은|착한 강아지가|"
          "피곤한 농부는|선장이|그의 형은|할머니께서는|유명한 작가가|아무도|마을 사람들은 모두|빨간 우산을 든 소녀가",
        O="나무 문을|긴 편지를|사과 세 개를|깨진 창문을|재미있는 질문을|열쇠를|오늘 신문을|찬물 한 잔을|아침 기차를|"
          "표 스물다섯 장을|유럽 지도를|아름다운 정원을|빵값을|할아버지의 시계를|번역 프로그램을|커피를|정답을|서울의 밤을",
        V="열었다|빨리 닫는다|이해하지 못한다|벌써 읽었습니다|사고 싶어 해요|바라보고 있다|기억합니다|찾지 못했어요|번역했다|썼다|"
          "잊어버렸다|조심스럽게 고쳤다|팔아요|빌렸습니다|그리고 있었다|절대로 잊지 않을 것이다|숨긴다|재었다",
        E=".|!|?|. 저녁이었다.|, 아침 식사 전에.|, 역 근처에서요.|. 오후 10시 45분에.|. 비가 왔기 때문이다.|. 3,500원이다.|"
          "(또).|. \"고맙다\"는 말도 없이.|. 1987년의 일이다.|; 그 뒤로 모든 것이 달라졌다.|…",
    ),
}
EMOJI = ["😀", "🎉", "❤️", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "🇰🇷", "1️⃣", "🤷🏻‍♀️", "☕", "🚀", "✨", "👨🏿‍🚒", "🧑‍💻", "🫠", "☺︎", "♥"]


def make_corpus(seed, n=900):
    rng = sub_rng(seed, "corpus")
    out = []
    for lang, p in CORPUS.items():
        parts = {k: v.split("|") for k, v in p.items()}
        for _ in range(n):
            pick = {k: v[rng.integers(len(v))] for k, v in parts.items()}
            if lang == "ko":
                s = f"{pick['S']} {pick['O']} {pick['V']}{pick['E']}"
            else:
                s = f"{pick['S']} {pick['V']} {pick['O']}{pick['E']}"
                s = s[0].upper() + s[1:]
            r = rng.random()
            if r < 0.06:
                s += " " + EMOJI[rng.integers(len(EMOJI))] * int(rng.integers(1, 3))
            elif r < 0.10:
                s = f"{int(rng.integers(1, 9999))}) " + s
            out.append(s)
    for _ in range(120):
        out.append("https://example.org/%s?id=%d" % ("abcdefgh"[: rng.integers(2, 8)], rng.integers(0, 99999)))
        out.append("e-mail: user%d@example.com, tel. +49 30 %d" % (rng.integers(0, 99), rng.integers(1e5, 1e7)))
    order = rng.permutation(len(out))
    return [out[i] for i in order]


def fuzz_strings(seed, n, exclude=()):
    """Deterministic, diverse strings: ordinary sentences, mutations of them and Unicode edge cases."""
    rng = sub_rng(seed, "strings")
    corpus = make_corpus(f"{seed}.fuzz", 400)
    R = lambda a, b=None: int(rng.integers(a, b))
    ch = lambda xs: xs[R(len(xs))]
    sent = lambda: ch(corpus)
    ZW = ["\u200b", "\u200c", "\u200d", "\ufeff", "\u00ad", "\u2060", "\u200e", "\u200f", "\u061c", "\u180e", "\ufe0f"]
    SP = [" ", "\u00a0", "\u3000", "\t", "\n", "\r\n", "\u2009", "\u202f", "\u2028", "\u2003", "\u205f", "\u1680", "\x0b", "\x85"]
    BLOCKS = [(0x20, 0x7f), (0xa1, 0x180), (0x370, 0x400), (0x400, 0x500), (0x590, 0x600), (0x600, 0x700), (0x900, 0x980),
              (0xe00, 0xe80), (0x1100, 0x1200), (0x1e00, 0x1f00), (0x2000, 0x2070), (0x2070, 0x20d0), (0x2100, 0x2200),
              (0x2200, 0x2300), (0x2460, 0x2500), (0x2500, 0x2600), (0x2600, 0x2700), (0x3000, 0x3100), (0x3130, 0x3190),
              (0x3200, 0x3400), (0x4e00, 0x9fff), (0xa960, 0xa980), (0xac00, 0xd7a4), (0xd7b0, 0xd800), (0xe000, 0xe100),
              (0xf900, 0xfb00), (0xfb00, 0xfb50), (0xfb50, 0xfe00), (0xfe00, 0xfe70), (0xfe70, 0xff00), (0xff00, 0xfff0),
              (0xfff0, 0x10000), (0x1d400, 0x1d800), (0x1f100, 0x1f200), (0x1f300, 0x1f700), (0x1f900, 0x1fb00),
              (0x20000, 0x2a6e0), (0x2f800, 0x2fa20), (0xe0000, 0xe0080), (0x10ff00, 0x110000)]
    blk = lambda b: "".join(chr(R(*b)) for _ in range(R(1, 14)))

    def insert(s, xs, k):
        s = list(s)
        for _ in range(k):
            s.insert(R(len(s) + 1), ch(xs))
        return "".join(s)

    full = lambda s: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else "\u3000" if c == " " and R(2) else c for c in s)
    marks = [chr(c) for c in range(0x300, 0x370)] + ["\u20dd", "\u3099", "\u309a", "\u0651", "\u05b8", "\u093c"]
    ctrl = [chr(c) for c in list(range(0, 32)) + list(range(0x7f, 0xa0))]
    ar = "مرحبا بالعالم السلام عليكم كيف حالك ١٢٣ ﷺ ﻻ".split(" ")
    he = "שלום עולם שָׁלוֹם מה נשמע לְהִתְרָאוֹת".split(" ")
    compat = list("ﬁﬂﬀ½¼²³¹ⅣⅷⅫ㎏㎡㍍①⑳Ⓐ㈱㊗℡™℃Å Ω ſǅŉ…‥․‼⁉゠ｶﾞﾊﾟ㍿㌔ﾡￂ￦¨´˚ͅΐΰ゙İıßẞ") + ["ß", "ﷺ", "가", "가", "각", "ᄀ", "ᇹ", "㉠", "ﾡ"]
    special = ["</s>", "<s>", "<unk>", "<pad>", "<0x41>", "<0xEC>", "▁", "▁▁", "▁the", "<sep>", "<2de>", "서울", ">>deu<<", "<extra_id_0>", "[MASK]", "[CLS]", "<|endoftext|>"]
    makers = [
        sent, sent, sent,
        lambda: sent().replace(" ", " " * R(2, 9)),
        lambda: " " * R(0, 6) + sent() + " " * R(0, 6),
        lambda: "".join(ch(SP) if c == " " else c for c in sent()),
        lambda: "".join(ch(SP) for _ in range(R(1, 8))) + sent()[: R(12)] + "".join(ch(SP) for _ in range(R(1, 8))),
        lambda: unicodedata.normalize("NFD", sent()), lambda: unicodedata.normalize("NFKD", sent()),
        lambda: unicodedata.normalize("NFC", sent()),
        lambda: "".join(c + "".join(ch(marks) for _ in range(R(0, 4))) for c in sent()[: R(3, 16)]),
        lambda: full(sent()[: R(4, 40)]), lambda: full(sent()),
        lambda: insert(sent(), ZW, R(1, 7)), lambda: insert(sent()[:20], ZW, R(3, 12)),
        lambda: insert(sent()[: R(4, 30)], ctrl, R(1, 6)), lambda: "".join(ch(ctrl) for _ in range(R(1, 12))),
        lambda: "".join(ch(EMOJI) for _ in range(R(1, 8))), lambda: insert(sent(), EMOJI, R(1, 5)),
        lambda: "\u200d".join(chr(R(0x1f466, 0x1f480)) + ch(["", "\U0001f3fb", "\U0001f3ff", "\ufe0f"]) for _ in range(R(1, 6))),
        lambda: "".join(chr(0x1f1e6 + R(26)) for _ in range(R(1, 7))),
        lambda: "".join(chr(R(0x1100, 0x1113)) + chr(R(0x1161, 0x1176)) + (chr(R(0x11a8, 0x11c3)) if R(2) else "") for _ in range(R(1, 9))),
        lambda: blk((0x1100, 0x1200)), lambda: "".join(chr(R(0x3131, 0x318f)) for _ in range(R(1, 10))),
        lambda: " ".join(chr(R(0xac00, 0xd7a4)) * R(1, 3) for _ in range(R(1, 9))),
        lambda: " ".join(ch(ar) for _ in range(R(1, 6))), lambda: " ".join(ch(he) for _ in range(R(1, 6))),
        lambda: "\u202e" + ch(he) + " " + sent()[:10] + "\u202c" + ch(ar),
        lambda: blk(ch(BLOCKS)), lambda: " ".join(blk(ch(BLOCKS)) for _ in range(R(2, 6))), lambda: blk(ch(BLOCKS)) + sent()[: R(20)],
        lambda: "".join(chr(c) for c in (R(0x110000) for _ in range(R(1, 20))) if not 0xD800 <= c < 0xE000),
        lambda: "".join(ch(compat) for _ in range(R(1, 12))), lambda: insert(sent()[:25], compat, R(1, 6)),
        lambda: insert(sent()[:30], special, R(1, 4)), lambda: "".join(ch(special) for _ in range(R(1, 5))),
        lambda: str(R(10 ** R(1, 17))) + ch(["", ".", ",5", "%", " €", "-", "e10", "°C"]),
        lambda: f"{R(0,99)}.{R(0,9999)},{R(0,999)}-{R(0,99)}/{R(1,30)}:{R(0,60)}",
        lambda: "".join(ch("!?.,;:-_'\"()[]{}<>@#$%^&*+=|\\/~`") for _ in range(R(1, 20))),
        lambda: sent().upper(), lambda: sent().lower(), lambda: sent().title(), lambda: sent().swapcase()[::-1],
        lambda: sent().replace(" ", ""), lambda: sent().replace(" ", "▁"),
        lambda: ch("aeß가 .1😀Ａ") * R(2, 200), lambda: "".join(ch(list("abcdefghijklmnopqrstuvwxyz")) for _ in range(R(1, 120))),
        lambda: sent() + "\n" + sent() + "\n\n" + sent(), lambda: "  ".join(sent() for _ in range(R(2, 5))),
        lambda: sent()[R(5):][: R(1, 12)], lambda: ch(sent()), lambda: sent()[: R(1, 8)] + ch(SP), lambda: " " * R(1, 30),
        lambda: ch(SP) * R(1, 5), lambda: ch("àéîõüçñøåÄÖÜß") + ch(marks) + " " + ch("한글꿹뷁가나다") + ch(marks),
        lambda: "".join(ch(["q", "x", "\u0301", "ㅋ", "ㅠ", "漢", "字", "ひ", "カ", "é", " ", "Ж"]) for _ in range(R(1, 30))),
    ]
    out, seen = [], set(exclude)
    for s in ["", " ", "  ", "a", "\u2581", "\x00", "a\x00b", "\n", "\u3000", "</s>", "가", "\u1100\u1161", "e\u0301", "ﬁ", "\ufeff", "\ufffd"]:
        if s not in seen:
            out.append(s), seen.add(s)
    i = 0
    while len(out) < n:
        s = makers[i % len(makers)]()
        i += 1
        if s in seen:
            continue
        out.append(s), seen.add(s)
    return out


def train_spm(corpus, **kw):
    buf = io.BytesIO()
    kw = {"num_threads": 1, "hard_vocab_limit": False, "minloglevel": 2, **kw}
    spm.SentencePieceTrainer.train(sentence_iterator=iter(corpus), model_writer=buf, **kw)
    return buf.getvalue()


def make_spm(specs, opts, seed, out, exclude):
    d = out / "sentencepiece"
    shutil.rmtree(d, ignore_errors=True)
    d.mkdir(parents=True)
    corpus = make_corpus(seed)
    strings = fuzz_strings(seed, opts["n_strings"], exclude)
    for s in specs:
        kw = {k: v for k, v in s.items() if k != "name"}
        (d / f"{s['name']}.spm").write_bytes(train_spm(corpus, **kw))
        dump_json(d / f"{s['name']}.expected.json", spm_expected(d / f"{s['name']}.spm", strings, seed, kw))
    return strings


def spm_expected(path, strings, seed, training):
    sp = spm.SentencePieceProcessor(model_file=str(path))
    items = []
    for s in strings:
        ids = sp.encode(s, out_type=int)
        items.append(dict(text=s, pieces=sp.encode(s, out_type=str), ids=ids, decoded=sp.decode(ids),
                          normalized=sp.normalize(s)))
    rng = sub_rng(seed, "decode")
    dec = []
    for _ in range(300):
        ids = rng.integers(0, sp.vocab_size(), int(rng.integers(0, 12))).tolist()
        dec.append(dict(ids=ids, decoded=sp.decode(ids)))
    return dict(model=path.name, vocab_size=sp.vocab_size(), unk_id=sp.unk_id(), bos_id=sp.bos_id(), eos_id=sp.eos_id(),
                pad_id=sp.pad_id(), training=training, versions=versions(), items=items, decode_only=dec)


def marian_tokenizer(spec, seed, d):
    """OPUS-MT style directory: source.spm, target.spm, one joint vocab.json (</s>=0, <unk>=1, ..., <pad>=last)."""
    corpus = make_corpus(f"{seed}.{spec['name']}", 700)
    isko = lambda s: any("\uac00" <= c <= "\ud7a4" for c in s)
    t = spec["tokenizer"]
    kw = dict(model_type="unigram", normalization_rule_name="nmt_nfkc", character_coverage=0.9995)
    (d / "source.spm").write_bytes(train_spm([s for s in corpus if not isko(s)], vocab_size=t["src_vocab"], **kw))
    (d / "target.spm").write_bytes(train_spm([s for s in corpus if isko(s)], vocab_size=t["tgt_vocab"], **kw))
    vocab = {"</s>": 0, "<unk>": 1}
    for n in ("source.spm", "target.spm"):
        sp = spm.SentencePieceProcessor(model_file=str(d / n))
        for i in range(sp.vocab_size()):
            if sp.id_to_piece(i) not in ("<s>", "</s>", "<unk>"):
                vocab.setdefault(sp.id_to_piece(i), len(vocab))
    vocab.setdefault(">>kor<<", len(vocab))
    vocab["<pad>"] = len(vocab)
    (d / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False, indent=0) + "\n")
    (d / "tokenizer_config.json").write_text(json.dumps(dict(
        source_lang="en", target_lang="ko", model_max_length=spec["config"]["max_position_embeddings"],
        unk_token="<unk>", eos_token="</s>", pad_token="<pad>", separate_vocabs=False,
        tokenizer_class="MarianTokenizer"), indent=2) + "\n")
    strings = [s for s in fuzz_strings(f"{seed}.{spec['name']}", 160) if len(s) < 120]
    plain = [s for s in make_corpus(f"{seed}.plain", 30) if not isko(s)][:20]
    strings = plain + [">>kor<< " + plain[0], ">>kor<<" + plain[1], plain[2] + " </s> x <unk> <pad>", "  >>kor<< a"] + strings

    def run(model, d):
        tok = transformers.MarianTokenizer.from_pretrained(str(d))
        items = []
        for i, s in enumerate(strings):
            ids = tok(s)["input_ids"]
            it = dict(text=s, input_ids=ids, tokens=tok.convert_ids_to_tokens(ids))
            if i < 24 and len(ids) <= spec["config"]["max_position_embeddings"]:
                b = dict(input_ids=np.array([ids]), attention_mask=np.ones((1, len(ids)), int))
                sp = dict(spec, gen={})
                fs = fill_spec(spec)
                for key, kw, need in (("greedy", dict(num_beams=1), 1e-3), ("default", {}, 5e-5)):
                    o = generate(model, sp, b, kw).sequences[0].tolist()
                    hyps, gap = ref_generate(step_fn(model, fs, ids), prompt_of(fs, b, 0), effective(fs, kw))
                    assert hyps[0][0] == o, (s, key)
                    if gap > need:
                        it[key] = dict(ids=o, text=tok.decode(o, skip_special_tokens=True), min_margin=f(gap, 9))
            items.append(it)
        return dict(tokenizer_class="MarianTokenizer", entries=items)

    return dict(vocab_size=len(vocab), run=run)


def make_tokenizers(seed, out, opts, strings, spm_dir, first_spm):
    """tokenizer.json parity: byte-level BPE (GPT-2/BART), WordPiece (BERT), Unigram+Precompiled (T5/mBART style)."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    d = out / "tokenizers"
    shutil.rmtree(d, ignore_errors=True)
    d.mkdir(parents=True)
    corpus = make_corpus(f"{seed}.tok")
    made = {}
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=900, show_progress=False,
                          special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
                          initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    made["bytelevel_bpe_bart"] = t
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    words = {}  # the library's WordPiece trainer is not deterministic, so pick words and suffixes by frequency
    for line in corpus:
        for w, _ in t.pre_tokenizer.pre_tokenize_str(t.normalizer.normalize_str(line)):
            words[w] = words.get(w, 0) + 1
    subs, chars = dict(words), sorted({c for w in words for c in w})
    for w, n in words.items():
        for k in range(1, len(w)):
            for e in {min(len(w), k + 2), min(len(w), k + 3), len(w)}:
                subs["##" + w[k:e]] = subs.get("##" + w[k:e], 0) + n
    ranked = [w for w, _ in sorted(subs.items(), key=lambda x: (-x[1] * (len(x[0].lstrip("#")) - 1), x[0]))]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + chars + ["##" + c for c in chars] + ranked
    t = Tokenizer(models.WordPiece({w: i for i, w in enumerate(list(dict.fromkeys(pieces))[:900])}, unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                     special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    made["wordpiece_bert"] = t
    from sentencepiece import sentencepiece_model_pb2 as pb
    proto = pb.ModelProto.FromString((spm_dir / f"{first_spm}.spm").read_bytes())
    vocab = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)] + [(p.piece, p.score) for p in proto.pieces[3:]]
    t = Tokenizer(models.Unigram(vocab, unk_id=2, byte_fallback=False))
    t.normalizer = normalizers.Sequence([normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap),
                                         normalizers.Replace(tokenizers.Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    t.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    t.add_special_tokens(["<pad>", "</s>", "<unk>"])
    made["unigram_t5"] = t
    for name, t in made.items():
        t.save(str(d / f"{name}.tokenizer.json"))
        dump_json(d / f"{name}.expected.json", tok_expected(d / f"{name}.tokenizer.json", strings))


def tok_expected(path, strings):
    t = tokenizers.Tokenizer.from_file(str(path))
    items = []
    for s in strings:
        e = t.encode(s)
        items.append(dict(text=s, ids=e.ids, tokens=e.tokens, decoded=t.decode(e.ids, skip_special_tokens=True)))
    return dict(tokenizer=path.name, vocab_size=t.get_vocab_size(), versions=versions(), items=items)


# --------------------------------------------------------------------------------------------------------------------
# Kernel fixtures: inputs are f32; references are computed in float64 from those f32 inputs and rounded to f32
# --------------------------------------------------------------------------------------------------------------------


def make_kernels(opts, seed, out):
    d = out / "kernels"
    shutil.rmtree(d, ignore_errors=True)
    d.mkdir(parents=True)
    rng = sub_rng(seed, "kernels")
    N = lambda *s: rng.standard_normal(s).astype(np.float32)
    D = lambda x: np.asarray(x, np.float64)
    notes = {}

    t = {}
    for i, (m, k, n) in enumerate(opts["matmul"]):
        a, w, b = N(m, k), N(n, k) / np.float32(math.sqrt(k)), N(n)
        t[f"linear.{i}.x"], t[f"linear.{i}.weight"], t[f"linear.{i}.bias"] = a, w, b
        t[f"linear.{i}.y"] = D(a) @ D(w).T + D(b)
        t[f"linear.{i}.y_nobias"] = D(a) @ D(w).T
    for i, (bsz, m, k, n) in enumerate(opts["bmm"]):
        a, b = N(bsz, m, k), N(bsz, k, n)
        t[f"bmm.{i}.a"], t[f"bmm.{i}.b"], t[f"bmm.{i}.y"] = a, b, D(a) @ D(b)
    save_np({k: np.ascontiguousarray(v, dtype=np.float32) for k, v in t.items()}, str(d / "matmul.safetensors"))

    t = {}
    for i, (b, q, k) in enumerate(opts["softmax"]):
        x, mask = N(b, q, k) * 4, (rng.random((b, q, k)) < 0.7)
        mask[0, 0] = False  # fully masked row
        if q > 2:
            mask[-1, 1] = False
            mask[0, 2] = True
        xm = np.where(mask, D(x), -np.inf)
        m = np.where(mask.any(-1, keepdims=True), xm.max(-1, keepdims=True), 0)
        e = np.exp(xm - m)
        den = e.sum(-1, keepdims=True)
        add = torch.where(torch.from_numpy(mask), 0.0, torch.finfo(torch.float32).min)
        t[f"softmax.{i}.x"], t[f"softmax.{i}.mask"] = x, mask.astype(np.float32)
        t[f"softmax.{i}.y_zeros"] = np.where(den > 0, e / np.where(den > 0, den, 1), 0)  # RECOMMENDED
        t[f"softmax.{i}.y_hf_eager"] = np32(torch.softmax(torch.from_numpy(x) + add, -1))
        t[f"softmax.{i}.y_torch_neg_inf"] = np32(torch.softmax(torch.from_numpy(x).masked_fill(~torch.from_numpy(mask), -math.inf), -1))
    x = np.array([[1e4, 1e4 - 1, -1e4], [88.8, 89.0, 90.0], [-1e30, -1e30, 0], [3e38, 3e38, -3e38], [0, 0, 0]], np.float32)
    e = np.exp(D(x) - D(x).max(-1, keepdims=True))
    t["softmax_extreme.x"], t["softmax_extreme.y"] = x, e / e.sum(-1, keepdims=True)
    # one whole attention: q,k,v [B,H,*,dh], key mask + causal
    B, H, Q, K, dh = 2, 3, 7, 7, 11
    q, k, v = N(B, H, Q, dh), N(B, H, K, dh), N(B, H, K, dh)
    km = np.ones((B, K), bool)
    km[1, 4:] = False
    allow = np.tril(np.ones((Q, K), bool))[None, None] & km[:, None, None]
    s = np.where(allow, D(q) @ D(k).swapaxes(-1, -2) / math.sqrt(dh), -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    t.update({"attention.q": q, "attention.k": k, "attention.v": v, "attention.key_mask": km.astype(np.float32),
              "attention.probs_causal": p, "attention.y_causal": p @ D(v)})
    save_np({k: np.ascontiguousarray(v, dtype=np.float32) for k, v in t.items()}, str(d / "softmax.safetensors"))
    z = torch.zeros(1, 1, 1, 4)
    full = torch.nn.functional.scaled_dot_product_attention(z, torch.zeros(1, 1, 3, 4), torch.ones(1, 1, 3, 4),
                                                            attn_mask=torch.zeros(1, 1, 1, 3, dtype=torch.bool))
    notes["fully_masked_row"] = dict(
        torch_softmax_of_all_neg_inf="nan", hf_eager_finfo_min="uniform 1/K over all K keys (mask value absorbs the score)",
        torch_sdpa_bool_mask_output=[f(v) for v in full.flatten()], recommended="zeros")

    t = {}
    for i, (r, c) in enumerate(opts["norm"]):
        x, w, b = N(r, c) * 3 + np.float32(0.5), 1 + 0.2 * N(c), 0.3 * N(c)
        t[f"norm.{i}.x"], t[f"norm.{i}.weight"], t[f"norm.{i}.bias"] = x, w, b
        for eps in (1e-5, 1e-6, 1e-12):
            mu, var = D(x).mean(-1, keepdims=True), D(x).var(-1, keepdims=True)
            if c > 1:
                t[f"norm.{i}.layernorm_eps{eps:g}"] = (D(x) - mu) / np.sqrt(var + eps) * D(w) + D(b)
        t[f"norm.{i}.rmsnorm_eps1e-06"] = D(x) / np.sqrt((D(x) ** 2).mean(-1, keepdims=True) + 1e-6) * D(w)
    for key, x in (("offset", (1000 + 0.05 * N(4, 64)).astype(np.float32)), ("tiny", N(4, 64) * np.float32(1e-4)),
                   ("constant", np.full((2, 64), 3.25, np.float32)), ("large", N(4, 64) * np.float32(1e6))):
        mu, var = D(x).mean(-1, keepdims=True), D(x).var(-1, keepdims=True)
        t[f"norm_{key}.x"], t[f"norm_{key}.layernorm_eps1e-05"] = x, (D(x) - mu) / np.sqrt(var + 1e-5)
    save_np({k: np.ascontiguousarray(v, dtype=np.float32) for k, v in t.items()}, str(d / "norm.safetensors"))

    x = np.unique(np.concatenate([np.linspace(-12, 12, 401), [-1e4, -100, -30, -1e-8, 0, 1e-8, 30, 100, 1e4], rng.standard_normal(90) * 2]).astype(np.float32))
    erf = np.array([math.erf(v / math.sqrt(2)) for v in D(x)])
    sig = lambda v: 1 / (1 + np.exp(-np.clip(v, -700, 700)))
    X = D(x)
    tanh_arg = math.sqrt(2 / math.pi) * (X + 0.044715 * X ** 3)
    t = {"x": x, "relu": np.maximum(X, 0), "gelu_erf": 0.5 * X * (1 + erf), "gelu_tanh": 0.5 * X * (1 + np.tanh(tanh_arg)),
         "quick_gelu": X * sig(1.702 * X), "silu": X * sig(X), "sigmoid": sig(X), "tanh": np.tanh(X)}
    # erfc keeps the negative tail accurate
    t["gelu_erf"] = np.array([0.5 * v * math.erfc(-v / math.sqrt(2)) for v in X])
    save_np({k: np.ascontiguousarray(v, dtype=np.float32) for k, v in t.items()}, str(d / "activations.safetensors"))

    t, ties = {}, {}
    for i, (r, c, k) in enumerate(opts["topk"]):
        x = N(r, c)
        x[0, : c // 2] = np.round(x[0, : c // 2] * 2) / 2  # many ties
        x[-1, :] = 1.5  # all equal
        x[0, 3] = -np.inf
        ls = log_softmax64(np.where(np.isneginf(x), -np.inf, x))
        order = np.argsort(-x.astype(np.float64), axis=-1, kind="stable")[:, :k]
        t[f"topk.{i}.x"], t[f"topk.{i}.log_softmax"] = x, ls.astype(np.float32)
        t[f"topk.{i}.indices"] = order.astype(np.int32)
        t[f"topk.{i}.values"] = np.take_along_axis(x, order, -1)
        tv, ti = torch.topk(torch.from_numpy(x), k)
        ties[f"topk.{i}"] = dict(torch_cpu_indices=ti.tolist(), equal_to_lowest_index_rule=bool((ti.numpy() == order).all()))
        t[f"topk.{i}.argmax"] = x.argmax(-1).astype(np.int32)
    notes["topk_ties"] = ties
    save_np({k: np.ascontiguousarray(v) for k, v in t.items()}, str(d / "topk.safetensors"))

    # positions and T5 buckets, straight from the transformers classes
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding as M2M
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding as Mar
    from transformers.models.t5.modeling_t5 import T5Attention
    t = {}
    for n, dim in opts.get("positions", [(20, 64), (17, 48)]):
        if hasattr(Mar, "create_weight"):
            t[f"marian.{n}x{dim}"] = np32(Mar(n, dim).create_weight())
        else:
            m = Mar(n, dim)
            m._init_weight()
            t[f"marian.{n}x{dim}"] = np32(m.weight)
        t[f"m2m_100.{n}x{dim}"] = np32(M2M.get_embedding(n + 2, dim, 1))
        c = dict(d_model=dim, nhead=1, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=4, activation="relu", norm_first=False,
                 final_norm=False, layer_norm_eps=1e-5, vocab_size=4, tie_word_embeddings=True, max_position_embeddings=n)
        t[f"interleaved.{n}x{dim}"] = np32(Vanilla(c).pe)
    rel = torch.arange(-150, 151)
    t["t5_bucket.relative_position"] = rel.numpy().astype(np.int32)
    for nb, md in opts.get("buckets", [(32, 128), (16, 40), (8, 20)]):
        for bi in (True, False):
            t[f"t5_bucket.{nb}_{md}_{'bidirectional' if bi else 'causal'}"] = T5Attention._relative_position_bucket(
                rel, bidirectional=bi, num_buckets=nb, max_distance=md).numpy().astype(np.int32)
    save_np({k: np.ascontiguousarray(v) for k, v in t.items()}, str(d / "positions.safetensors"))

    bits = np.concatenate([np.arange(0, 65536, 37), [0, 1, 0x3ff, 0x400, 0x7bff, 0x7c00, 0x7e00, 0x8000, 0x8001, 0xfc00, 0xffff, 0x7f80, 0xff80, 0x7fc0]]).astype(np.uint16)
    h = torch.from_numpy(bits.view(np.int16).copy())
    t = {"f16": h.view(torch.float16), "bf16": h.view(torch.bfloat16), "f16_as_f32": h.view(torch.float16).float(),
         "bf16_as_f32": h.view(torch.bfloat16).float(), "bits_u16_as_i32": torch.from_numpy(bits.astype(np.int32))}
    save_pt({k: v.clone() for k, v in t.items()}, str(d / "halfprec.safetensors"))
    dump_json(d / "kernels.json", dict(matmul_shapes_mkn=opts["matmul"], bmm_shapes_bmkn=opts["bmm"], softmax_shapes_bqk=opts["softmax"],
                                       norm_shapes=opts["norm"], topk_shapes_rck=opts["topk"], notes=notes, versions=versions()))


# --------------------------------------------------------------------------------------------------------------------
# Verification (fresh process) and main
# --------------------------------------------------------------------------------------------------------------------


def verify(root):
    bad = 0

    def report(ok, what):
        nonlocal bad
        bad += not ok
        if not ok:
            print("  FAIL", what, flush=True)

    idx = json.loads((root / "INDEX.json").read_text()) if (root / "INDEX.json").exists() else dict(files={})
    for name, e in idx["files"].items():
        p = root / name
        report(p.exists() and hashlib.sha256(p.read_bytes()).hexdigest() == e["sha256"], f"sha256 {name}")
    worst = {}
    for d in sorted((root / "models").iterdir()):
        meta = json.loads((d / "expected.json").read_text())
        exp = load_np(d / "expected.safetensors")
        spec = fill_spec_from_dir(d, meta)
        try:
            model = load_model(d, meta["family"])
        except Exception as ex:  # noqa: BLE001
            report(False, f"{d.name}: does not load: {str(ex)[-160:]!r}")
            continue
        groups = sorted({k.split(".")[0] for k in exp if k.endswith("input_ids")})
        dmax = 0.0
        inputs = {}
        for gname in groups:
            b = {k.split(".", 1)[1]: v for k, v in exp.items()
                 if k.startswith(gname + ".") and v.dtype == np.int32}
            inputs[gname] = b
            o = run_forward(model, spec, b)
            for k, v in o.items():
                key = f"{gname}.{k}"
                if key in exp:
                    report(exp[key].shape == tuple(v.shape), f"{d.name} shape {key}")
                    dmax = max(dmax, float(np.abs(exp[key] - np32(v)).max()))
        report(dmax < 2e-5, f"{d.name}: forward differs by {dmax}")
        nc = 0
        for case in meta["cases"]:
            try:
                got, _ = run_case(model, spec, inputs, case["name"], case["input"], case["generate_kwargs"])
            except Exception as ex:  # noqa: BLE001
                report(False, f"{d.name}/{case['name']}: {type(ex).__name__}: {str(ex)[:120]}")
                continue
            ok = got["sequences"] == case["sequences"]
            for k in ("sequences_scores",):
                if k in case:
                    ok = ok and np.allclose(np.array(got[k], float), np.array(case[k], float), atol=1e-4)
            report(ok, f"{d.name}/{case['name']}")
            nc += ok
        if (d / "model_legacy_keys.safetensors").exists():
            import tempfile
            with tempfile.TemporaryDirectory() as tmp:
                for n in ("config.json", "generation_config.json"):
                    shutil.copy(d / n, tmp)
                shutil.copy(d / "model_legacy_keys.safetensors", Path(tmp) / "model.safetensors")
                o = run_forward(load_model(Path(tmp), meta["family"]), spec, inputs["main"])
                report(float(np.abs(np32(o["logits"]) - exp["main.logits"]).max()) < 2e-5, f"{d.name}: legacy keys")
        if "text" in meta:
            tok = transformers.MarianTokenizer.from_pretrained(str(d))
            for it in meta["text"]["entries"]:
                report(tok(it["text"])["input_ids"] == it["input_ids"], f"{d.name} text {it['text']!r}")
                if "default" in it:
                    report(tok.decode(it["default"]["ids"], skip_special_tokens=True) == it["default"]["text"], "decode")
        worst[d.name] = dmax
        print(f"  {d.name:26s} forward max|diff| {dmax:.2e}; {nc}/{len(meta['cases'])} cases equal", flush=True)
    for p in sorted((root / "sentencepiece").glob("*.expected.json")):
        e = json.loads(p.read_text())
        sp = spm.SentencePieceProcessor(model_file=str(root / "sentencepiece" / e["model"]))
        n = sum(sp.encode(i["text"], out_type=int) == i["ids"] and sp.encode(i["text"], out_type=str) == i["pieces"]
                and sp.decode(i["ids"]) == i["decoded"] for i in e["items"])
        report(n == len(e["items"]), p.name)
        print(f"  {p.name}: {n}/{len(e['items'])} strings, "
              f"{sum(sp.decode(i['ids']) == i['decoded'] for i in e['decode_only'])}/{len(e['decode_only'])} decode-only")
    for p in sorted((root / "tokenizers").glob("*.expected.json")):
        e = json.loads(p.read_text())
        t = tokenizers.Tokenizer.from_file(str(root / "tokenizers" / e["tokenizer"]))
        n = sum(t.encode(i["text"]).ids == i["ids"] for i in e["items"])
        report(n == len(e["items"]), p.name)
        print(f"  {p.name}: {n}/{len(e['items'])} strings")
    k = load_np(root / "kernels" / "matmul.safetensors")
    for key in [x for x in k if x.startswith("linear.") and x.endswith(".y")]:
        b = key[:-2]
        y = torch.nn.functional.linear(torch.from_numpy(k[b + ".x"]), torch.from_numpy(k[b + ".weight"]), torch.from_numpy(k[b + ".bias"]))
        report(float(np.abs(y.numpy() - k[key]).max()) < 1e-5, key)
    k = load_np(root / "kernels" / "norm.safetensors")
    for key in [x for x in k if ".layernorm_eps" in x and x.startswith("norm.")]:
        b = key.split(".layernorm")[0]
        y = torch.nn.functional.layer_norm(torch.from_numpy(k[b + ".x"]), (k[b + ".x"].shape[-1],), torch.from_numpy(k[b + ".weight"]),
                                           torch.from_numpy(k[b + ".bias"]), eps=float(key.split("eps")[1]))
        report(float(np.abs(y.numpy() - k[key]).max()) < 1e-5, key)
    k = load_np(root / "kernels" / "activations.safetensors")
    x = torch.from_numpy(k["x"])
    F = torch.nn.functional
    for key, y in dict(relu=F.relu(x), gelu_erf=F.gelu(x), gelu_tanh=F.gelu(x, approximate="tanh"), silu=F.silu(x)).items():
        report(float((np.abs(y.numpy() - k[key]) / np.maximum(1, np.abs(k[key]))).max()) < 2e-6, f"activation {key}")
    k = load_np(root / "kernels" / "softmax.safetensors")
    report(np.isnan(k["softmax.0.y_torch_neg_inf"][0, 0]).all() and (k["softmax.0.y_zeros"][0, 0] == 0).all(), "masked rows")
    print(f"verified with {versions()}: {'OK' if not bad else str(bad) + ' FAILURES'}")
    return bad


def fill_spec_from_dir(d, meta):
    cfg = json.loads((d / "config.json").read_text())
    gen = json.loads((d / "generation_config.json").read_text()) if (d / "generation_config.json").exists() else {}
    spec = dict(name=d.name, family=meta["family"], config=cfg, gen=gen)
    spec["eos"], spec["pad"] = cfg.get("eos_token_id"), cfg.get("pad_token_id", cfg.get("eos_token_id"))
    return spec


def index(out, args):
    files = {}
    for p in sorted(out.rglob("*")):
        if p.is_file():
            p.chmod(0o644)
        if p.is_file() and p.name not in ("INDEX.json", "README.md", "make_fixtures.py", "cross_check_transformers4.txt"):
            files[p.relative_to(out).as_posix()] = dict(bytes=p.stat().st_size, sha256=hashlib.sha256(p.read_bytes()).hexdigest())
    obj = dict(set=args.set, seed=args.seed, versions=versions(), total_bytes=sum(e["bytes"] for e in files.values()), files=files)
    (out / "INDEX.json").write_text(json.dumps(obj, indent=1) + "\n")
    print(f"{len(files)} files, {obj['total_bytes'] / 1e6:.1f} MB")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--out", type=Path)
    ap.add_argument("--seed", type=int)
    ap.add_argument("--set", choices=["public", "holdout"], default="public")
    ap.add_argument("--holdout-config", type=Path, help="default: holdout_config.py next to the --out directory")
    ap.add_argument("--only", default="", help="comma separated: model names, or spm / kernels / none")
    ap.add_argument("--verify", type=Path)
    args = ap.parse_args()
    if args.verify:
        sys.exit(1 if verify(args.verify) else 0)
    if not args.out:
        ap.error("--out is required")
    models, spms, opts = MODELS, SPM, OPTIONS
    exclude = set()
    if args.set == "holdout":
        path = args.holdout_config or args.out.parent / "holdout_config.py"
        modspec = importlib.util.spec_from_file_location("holdout_config", path)
        mod = importlib.util.module_from_spec(modspec)
        sys.dont_write_bytecode = True
        modspec.loader.exec_module(mod)
        models, spms, opts = mod.MODELS, mod.SPM, mod.OPTIONS
        args.seed = args.seed or mod.SEED
        exclude = set(fuzz_strings(PUBLIC_SEED, OPTIONS["n_strings"]))
    else:
        args.seed = args.seed or PUBLIC_SEED
    only = set(filter(None, args.only.split(",")))
    args.out.mkdir(parents=True, exist_ok=True)
    if not only or "spm" in only:
        strings = make_spm(spms, opts, args.seed, args.out, exclude)
        make_tokenizers(args.seed, args.out, opts, strings[: opts["n_tokenizer_strings"]], args.out / "sentencepiece", spms[0]["name"])
        print(f"  sentencepiece + tokenizers: {len(strings)} strings", flush=True)
    if not only or "kernels" in only:
        make_kernels(opts, args.seed, args.out)
    for spec in models:
        if not only or spec["name"] in only:
            make_model(spec, args.seed, args.out, marian_tokenizer)
    index(args.out, args)


if __name__ == "__main__":
    main()
