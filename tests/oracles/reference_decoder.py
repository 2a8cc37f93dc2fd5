"""A decoder in float64 from the papers' equations, over a checkpoint's weights, with all it has inside."""

import math

import torch
import torch.nn.functional as F
import yaml
from safetensors.torch import load_file


def frequencies(width, base):
    return base ** (-2 * torch.arange(width // 2, dtype=torch.float64) / width)


def yarn(theta, base, length, factor):
    """Frequencies and the scale of cosines and sines (Peng et al. 2024, as its code has them)."""
    width = 2 * len(theta)

    def band(turns):
        return width * math.log(length / (2 * math.pi * turns)) / (2 * math.log(base))

    low, high = max(math.floor(band(32)), 0), min(math.ceil(band(1)), width - 1)
    ramp = ((torch.arange(len(theta)) - low) / max(high - low, 0.001)).clamp(0, 1)
    return theta * (1 - ramp + ramp / factor), 0.1 * math.log(factor) + 1


def turn(x, angle):
    a, b = x.chunk(2, -1)
    return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)


class Reference:
    """`coordinates(layer, c)` may change DaRoPE's coordinates c [B, T, H]."""

    def __init__(self, run, encoding=None, coordinates=lambda layer, c: c):
        config = yaml.safe_load((run / "config.yaml").read_text())
        model = config["model"]
        checkpoint = sorted((run / "checkpoints").iterdir())[-1]
        loaded = load_file(checkpoint / "model.safetensors")
        self.w = {name: tensor.double() for name, tensor in loaded.items()}
        self.heads, self.layers, self.length = model["n_heads"], model["n_layers"], model["max_seqlen"]
        self.width, self.base = model["dim"] // model["n_heads"], model["base"]
        self.encoding, self.coordinates = encoding or model["encoding"], coordinates

    def angles(self, at, x):
        theta, scale = frequencies(self.width, self.base), 1
        m = torch.arange(x.shape[1], dtype=torch.float64)
        if self.encoding.startswith("yarn"):
            theta, scale = yarn(theta, self.base, self.length, 4)
        index = (m[:, None] * theta)[None, :, None]
        if self.encoding != "darope":
            return index, scale
        place = ((m + 0.5) / self.length).clamp(1e-6, 1 - 1e-6)
        w, alpha = self.w[at + "self_attn.darope.w"], self.w[at + "self_attn.darope.alpha"]
        logit = torch.einsum("btc,hc->bth", x, w) + alpha * torch.logit(place)[None, :, None]
        layer = int(at.split(".")[2])
        c = self.coordinates(layer, self.length * logit.sigmoid())
        fast = theta >= 2 * math.pi / self.length
        return torch.where(fast, index, c[..., None] * theta), scale

    def norm(self, x, name):
        return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * self.w[name]

    def __call__(self, tokens):
        """Logits of all rows; of each block the stream behind it and the last query's attention [B, H, T]."""
        x = F.embedding(tokens, self.w["model.embed_tokens.weight"])
        blocks, shares = [], []
        future = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).triu(1)
        for i in range(self.layers):
            at = f"model.layers.{i}."
            y = self.norm(x, at + "input_layernorm.weight")
            q, k, v = (
                F.linear(y, self.w[f"{at}self_attn.{c}_proj.weight"]).unflatten(-1, (self.heads, self.width))
                for c in "qkv"
            )
            angle, scale = self.angles(at, y)
            q, k = scale * turn(q, angle), scale * turn(k, angle)
            logits = torch.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(self.width)
            share = logits.masked_fill(future, -math.inf).softmax(-1)
            shares.append(share[:, :, -1])
            mixed = torch.einsum("bhij,bjhd->bihd", share, v).flatten(2)
            x = x + F.linear(mixed, self.w[at + "self_attn.o_proj.weight"])
            y = self.norm(x, at + "post_attention_layernorm.weight")
            inner = F.silu(F.linear(y, self.w[at + "mlp.gate_proj.weight"]))
            inner = inner * F.linear(y, self.w[at + "mlp.up_proj.weight"])
            x = x + F.linear(inner, self.w[at + "mlp.down_proj.weight"])
            blocks.append(x)
        return self.read(x), blocks, shares

    def read(self, x):
        head = self.w.get("lm_head.weight", self.w["model.embed_tokens.weight"])
        return F.linear(self.norm(x, "model.norm.weight"), head)


# --- the project's named random numbers, from their definition (Philox4x32-10 of Salmon et al. 2011)

MASK = (1 << 64) - 1


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def random_words(seed, purpose, index):
    """32-bit words without end."""
    name = 0xCBF29CE484222325
    for byte in purpose.encode():
        name = ((name ^ byte) * 0x100000001B3) & MASK
    key = mix(name ^ mix(seed))
    counter = 0
    while True:
        c = [counter & 0xFFFFFFFF, counter >> 32, index & 0xFFFFFFFF, index >> 32]
        k = [key & 0xFFFFFFFF, key >> 32]
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
            k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
        yield from c
        counter += 1


def shuffled(count, seed, purpose, index):
    """Fisher and Yates from the back, by Lemire's bounded numbers."""
    words, order = random_words(seed, purpose, index), list(range(count))
    for left in range(count, 1, -1):
        product = (next(words) << 32 | next(words)) * left
        while (product & MASK) < ((1 << 64) - left) % left:
            product = (next(words) << 32 | next(words)) * left
        at = product >> 64
        order[left - 1], order[at] = order[at], order[left - 1]
    return order
