#!/usr/bin/env python3
"""Which tokens, with which probabilities, transformers' warpers leave of random logits: `sampling.json`."""
import json
import sys

import numpy as np
import torch
import transformers
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

rng = np.random.Generator(np.random.PCG64(20261121))
cases = []
for vocabulary in (7, 60, 150):
    for temperature in (1.0, 0.3, 1.7):
        for top_k in (0, 1, 5, 50, 100):
            for top_p in (1.0, 0.9, 0.5, 0.05):
                if len(cases) % 3 and vocabulary == 150 and top_k not in (0, 100):
                    continue
                logits = np.round(rng.standard_normal(vocabulary) * 2.5, 3).astype(np.float32)
                scores = torch.from_numpy(logits.astype(np.float64))[None]
                if temperature != 1.0:
                    scores = TemperatureLogitsWarper(temperature)(None, scores)
                if top_k != 0:
                    scores = TopKLogitsWarper(top_k)(None, scores)
                if top_p < 1.0:
                    before = scores.softmax(-1)[0].sort(descending=True).values
                    mass = before.cumsum(-1) - before
                    assert (mass - top_p).abs().min() > 1e-6  # f32 decides the same
                    scores = TopPLogitsWarper(top_p)(None, scores)
                probabilities = scores.softmax(-1)[0]
                assert len(set(logits.tolist())) == vocabulary or top_k == 0 or int((scores > -1e30).sum()) <= top_k
                kept = [i for i in range(vocabulary) if scores[0, i] > -1e30]
                cases.append(dict(temperature=temperature, top_k=top_k, top_p=top_p,
                                  logits=[round(float(x), 3) for x in logits],
                                  tokens=kept, probabilities=[float(f"{probabilities[i]:.8g}") for i in kept]))
with open(sys.argv[1], "w") as f:
    f.write(json.dumps(dict(transformers=transformers.__version__, torch=torch.__version__)) [:-1] + ', "cases": [\n')
    f.write(",\n".join(json.dumps(c, separators=(",", ":")) for c in cases))
    f.write("\n]}\n")
print(len(cases))
