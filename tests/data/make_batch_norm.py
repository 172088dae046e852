#!/usr/bin/env python3
"""Batch norm by torch's autograd in float64: the operator (batch_norm.json: tests/kernels/train/batch_norm.rs) and a model of
torch.nn with batch norms in place of its layer norms (batch_norm/: tests/training/runs.rs).

    python make_batch_norm.py     # made with torch 2.15
"""
import json
import math
import pathlib

import safetensors.torch
import torch
from torch import nn
from torch.nn import functional

EPSILON, MOMENTUM = 1e-5, 0.1


def case(rows, width, used, seed):
    """`used`: rows that belong to sentences; the others fill the batch."""
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator).double()
    x, dy, gamma, beta = draw(rows, width) + 0.5, draw(rows, width), draw(width) + 1, draw(width)
    mean, variance = draw(width), draw(width).abs() + 0.5
    dy[used:] = 0
    leaves = [value.clone().requires_grad_() for value in (x[:used], gamma, beta)]
    after = [mean.clone(), variance.clone()]
    y = functional.batch_norm(leaves[0], *after, leaves[1], leaves[2], True, MOMENTUM, EPSILON)
    y.backward(dy[:used])
    inference = functional.batch_norm(x, mean, variance, gamma, beta, False, MOMENTUM, EPSILON)
    values = dict(x=x, dy=dy, gamma=gamma, beta=beta, running_mean=mean, running_var=variance, y=y,
                  inference=inference, dx=leaves[0].grad, dgamma=leaves[1].grad, dbeta=leaves[2].grad,
                  new_mean=after[0], new_var=after[1])
    plain = lambda value: [float(f"{number:.9g}") for number in value.detach().flatten().tolist()]
    return dict(rows=rows, width=width, used=used, **{name: plain(value) for name, value in values.items()})


cases = [case(7, 5, 7, 1), case(40, 18, 33, 2), case(5, 3, 4, 3)]  # of two rows, dx is the rounding of a difference
path = pathlib.Path(__file__).parent / "batch_norm.json"
path.write_text(json.dumps(dict(epsilon=EPSILON, momentum=MOMENTUM, cases=cases), separators=(",", ":")) + "\n")


class TokenNorm(nn.BatchNorm1d):
    """Statistics over all tokens of the batch."""

    def forward(self, x):
        return super().forward(x.flatten(0, 1)).view_as(x)


CONFIG = dict(model_type="vanilla_transformer", architectures=["VanillaTransformer"], scale_embedding=True,
              position_embedding_type="sinusoidal_interleaved", pad_token_id=0, eos_token_id=2,
              decoder_start_token_id=1, attention_bias=True, d_model=12, nhead=2, num_encoder_layers=1,
              num_decoder_layers=1, dim_feedforward=20, activation="relu", norm_first=False, final_norm=True,
              normalization="batch", layer_norm_eps=EPSILON, vocab_size=23, tie_word_embeddings=True,
              max_position_embeddings=16)


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        d = c["d_model"]
        kw = dict(d_model=d, nhead=c["nhead"], dim_feedforward=c["dim_feedforward"], dropout=0.0, batch_first=True)
        self.transformer = nn.Module()
        self.transformer.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**kw), 1, norm=nn.LayerNorm(d), enable_nested_tensor=False)
        self.transformer.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**kw), 1, norm=nn.LayerNorm(d))
        self.embed = nn.Embedding(c["vocab_size"], d)
        for module in list(self.modules()):
            for name, child in module.named_children():
                if isinstance(child, nn.LayerNorm):
                    setattr(module, name, TokenNorm(d, eps=EPSILON, momentum=MOMENTUM))
        position = torch.arange(c["max_position_embeddings"])[:, None].double()
        angle = position * torch.exp(torch.arange(0, d, 2).double() * (-math.log(10000.0) / d))
        self.positions = torch.stack([torch.sin(angle), torch.cos(angle)], 2).flatten(1)
        self.d = d

    def embedded(self, ids):
        return self.embed(ids) * math.sqrt(self.d) + self.positions[: ids.shape[1]]

    def forward(self, source, target):
        causal = torch.triu(torch.ones(target.shape[1], target.shape[1], dtype=torch.bool), 1)
        memory = self.transformer.encoder(self.embedded(source))
        states = self.transformer.decoder(self.embedded(target), memory, tgt_mask=causal)
        return states @ self.embed.weight.T


def model_fixture(folder):
    torch.backends.mha.set_fastpath_enabled(False)  # it would compute layer norms with the weights of batch norms
    torch.manual_seed(5)
    model = Model(CONFIG).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_((parameter + 0.2 * torch.randn_like(parameter)).float().double())
        for name, buffer in model.named_buffers():
            if name.endswith(("running_mean", "running_var")):
                buffer.copy_((buffer + torch.rand_like(buffer)).float().double())
    kept = lambda: {name: value.detach().float().clone().contiguous() for name, value in model.state_dict().items()
                    if not name.endswith("num_batches_tracked")}
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
    safetensors.torch.save_file(kept(), folder / "model.safetensors")
    # sentences of one length, so that no row is padding: one passes on what its batch has, and nothing else
    source, labels = torch.randint(3, 23, (4, 6)), torch.randint(3, 23, (4, 5))
    target = torch.cat([torch.ones(4, 1, dtype=torch.long), labels[:, :-1]], 1)
    loss = lambda: functional.cross_entropy(model(source, target).flatten(0, 1), labels.flatten())
    model.eval()
    with torch.no_grad():
        before = loss().item()
    model.train()
    value = loss()
    value.backward()
    tensors = {f"grad.{name}": parameter.grad.float() for name, parameter in model.named_parameters()}
    tensors |= {f"after.{name}": buffer.float() for name, buffer in model.named_buffers()
                if name.endswith(("running_mean", "running_var"))}
    tensors |= dict(source=source.int(), labels=labels.int(), losses=torch.tensor([before, value.item()]).float())
    safetensors.torch.save_file({name: value.contiguous() for name, value in tensors.items()},
                                folder / "expected.safetensors")


model_fixture(pathlib.Path(__file__).parent / "batch_norm")
