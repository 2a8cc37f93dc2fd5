"""The trainer's decoder as a PyTorch user would write it: tables of cosine and sine made beforehand, q, k and
v in one product, gate and up in another, the library's attention. The programs beside it time it.
"""

import math

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

ROTARY = ("rope", "hope", "yarn", "darope")
ENCODINGS = ("nope", *ROTARY, "pope", "cope")
BASE, POPE_BASE, COPE_PLACES, YARN_FACTOR = 500_000.0, 10_000.0, 64, 4.0


def frequencies(encoding, d, length):
    """Of each band, and how many are fast: the others turn by DaRoPE's coordinate, or not at all."""
    theta = BASE ** (-2 * torch.arange(d // 2, dtype=torch.float64) / d)
    fast = int((theta >= 2 * math.pi / length).sum()) if encoding in ("hope", "darope") else d // 2
    if encoding == "hope":
        theta[fast:] = 0
    if encoding == "yarn":
        low, high = (d * math.log(length / (2 * math.pi * turns)) / (2 * math.log(BASE)) for turns in (32, 1))
        low, high = max(math.floor(low), 0), min(math.ceil(high), d - 1)
        ramp = ((torch.arange(d // 2) - low) / max(high - low, 0.001)).clamp(0, 1).double()
        theta = (1 - ramp) * theta + ramp * theta / YARN_FACTOR
    return theta, fast


def tables(encoding, d, length):
    m = torch.arange(length, dtype=torch.float64)
    if encoding == "pope":
        angle = m[:, None] * POPE_BASE ** (-torch.arange(d, dtype=torch.float64) / d)
        return {"cosine": angle.cos()[:, None], "sine": angle.sin()[:, None], "angle": angle[:, None]}
    if encoding not in ROTARY:
        return {}
    theta, fast = frequencies(encoding, d, length)
    scale = 0.1 * math.log(YARN_FACTOR) + 1 if encoding == "yarn" else 1
    bands = theta[:fast] if encoding == "darope" else theta
    angle = (m[:, None] * bands)[:, None]
    out = {"cosine": scale * angle.cos(), "sine": scale * angle.sin()}
    if encoding == "darope":
        out |= {"beta": torch.logit((m + 0.5) / length)[:, None], "factor": theta[fast:] * length}
    return out


def rotate(x, cosine, sine):
    """The pairs (j, j + d/2) of x [B, T, H, d]; cosine and sine are [T, 1, d/2] or [B, T, H, d/2]."""
    a, b = x.to(cosine.dtype).chunk(2, -1)
    return torch.cat((a * cosine - b * sine, a * sine + b * cosine), -1).to(x.dtype)


def polar(x, cosine, sine):
    size = F.softplus(x.to(cosine.dtype))
    return torch.cat((size * cosine, size * sine), -1).to(x.dtype)


def coordinate(x, w, alpha, beta, factor):
    """The angles of DaRoPE's slow bands [B, T, H, slow]."""
    logit = F.linear(x, w).to(factor.dtype) + alpha.to(factor.dtype) * beta
    return torch.sigmoid(logit)[..., None] * factor


def encode(q, k, x, learned, t, encoding):
    """t: tables of these tokens."""
    if encoding == "pope":
        angle = t["angle"] + learned["delta"].to(t["angle"].dtype)
        return polar(q, t["cosine"], t["sine"]), polar(k, angle.cos(), angle.sin())
    if encoding not in ROTARY:
        return q, k
    cosine, sine = t["cosine"], t["sine"]
    if encoding == "darope":
        slow = coordinate(x, learned["w"], learned["alpha"], t["beta"], t["factor"])
        wide = (*slow.shape[:-1], cosine.shape[-1])
        cosine = torch.cat((cosine.expand(wide), slow.cos()), -1)
        sine = torch.cat((sine.expand(wide), slow.sin()), -1)
    return rotate(q, cosine, sine), rotate(k, cosine, sine)


def cope(q, k, v, embedding, allowed):
    """The listing of Golovneva et al. 2024 over [B, H, T, d]; counted in float32 at least."""
    kind = torch.promote_types(q.dtype, torch.float32)
    content = (q @ k.transpose(-1, -2)).to(kind) / math.sqrt(q.shape[-1])
    most = embedding.shape[0] - 1
    gates = content.sigmoid().masked_fill(~allowed, 0)
    count = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=most)
    by_place = (q @ embedding.to(q.dtype).T).to(kind)
    low = count.detach().floor().long()
    part = count - low
    scores = (
        content
        + (1 - part) * by_place.gather(-1, low)
        + part * by_place.gather(-1, (low + 1).clamp(max=most))
    )
    return scores.masked_fill(~allowed, -math.inf).softmax(-1).to(v.dtype) @ v


class Block(torch.nn.Module):
    def __init__(self, shape, encoding):
        super().__init__()
        width, hidden, heads = shape["width"], shape["hidden"], shape["heads"]
        self.heads, self.encoding, self.gated = heads, encoding, shape["style"] == "lingua"
        self.norm1, self.norm2 = torch.nn.RMSNorm(width, 1e-5), torch.nn.RMSNorm(width, 1e-5)
        self.qkv = torch.nn.Linear(width, 3 * width, bias=False)
        self.out = torch.nn.Linear(width, width, bias=False)
        self.up = torch.nn.Linear(width, (1 + self.gated) * hidden, bias=False)
        self.down = torch.nn.Linear(hidden, width, bias=False)
        start = {
            "darope": {"w": 0.1 * torch.randn(heads, width), "alpha": torch.full((heads,), 0.5)},
            "pope": {"delta": torch.zeros(heads, width // heads)},
            "cope": {"embedding": torch.zeros(COPE_PLACES, width // heads)},
        }.get(encoding, {})
        self.learned = torch.nn.ParameterDict({name: torch.nn.Parameter(x) for name, x in start.items()})

    def attention(self, y, t, cache, at):
        """cache: keys and values [2][B, H, S, d], into which those of the tokens `at` go; None: there are no
        others."""
        q, k, v = self.qkv(y).unflatten(-1, (3, self.heads, -1)).unbind(2)
        scale = 1 / math.sqrt(q.shape[-1])
        q, k = encode(q, k, y, self.learned, t, self.encoding)
        q, k, v = (z.transpose(1, 2) for z in (q, k, v))
        allowed = None
        if cache is not None:
            k, v = cache[0].index_copy_(2, at, k), cache[1].index_copy_(2, at, v)
        if cache is not None or self.encoding == "cope":
            allowed = torch.arange(k.shape[2], device=k.device) <= at[:, None]
        if self.encoding == "cope":
            return cope(q, k, v, self.learned["embedding"], allowed).transpose(1, 2).flatten(2)
        mixed = F.scaled_dot_product_attention(
            q, k, v, attn_mask=allowed, is_causal=allowed is None, scale=scale
        )
        return mixed.transpose(1, 2).flatten(2)

    def forward(self, x, t, at, cache=None, last=False):
        mixed = self.attention(self.norm1(x), t, cache, at)
        if last:  # behind attention only the last token is asked for
            x, mixed = x[:, -1:], mixed[:, -1:]
        x = x + self.out(mixed)
        up = self.up(self.norm2(x))
        if not self.gated:
            return x + self.down(F.gelu(up))
        gate, up = up.chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Decoder(torch.nn.Module):
    """shape: layers, width, heads, hidden, vocabulary, length, style and tied, as darope hands them on.
    chunks: of the rows whose logits are there at a time in training; the backward pass makes them again."""

    def __init__(self, shape, encoding, chunks=1):
        super().__init__()
        width, self.encoding, self.chunks = shape["width"], encoding, chunks
        self.embedding = torch.nn.Embedding(shape["vocabulary"], width)
        self.blocks = torch.nn.ModuleList(Block(shape, encoding) for _ in range(shape["layers"]))
        self.norm = torch.nn.RMSNorm(width, 1e-5)
        self.head = torch.nn.Linear(width, shape["vocabulary"], bias=False)
        if shape["tied"]:
            self.head.weight = self.embedding.weight
        for name, table in tables(encoding, width // shape["heads"], shape["length"]).items():
            self.register_buffer(name, table.float())

    def for_reading(self, device, dtype):
        """Parameters in dtype; angles keep their digits."""
        tables = dict(self.named_buffers(recurse=False))
        self.to(device, dtype).eval()
        for name, table in tables.items():
            setattr(self, name, table.to(device))
        return self

    def tables_at(self, at):
        """The rows of the tokens `at`, a tensor or a slice; a factor serves all."""
        return {
            name: table if name == "factor" else table[at]
            for name, table in self.named_buffers(recurse=False)
        }

    def hidden(self, tokens, last=False):
        x, at = self.embedding(tokens), torch.arange(tokens.shape[1], device=tokens.device)
        t = self.tables_at(slice(tokens.shape[1]))
        for i, block in enumerate(self.blocks):
            x = block(x, t, at, last=last and i + 1 == len(self.blocks))
        return self.norm(x)

    def last_logits(self, tokens):
        return self.head(self.hidden(tokens, last=True)[:, -1]).float()

    def next_logits(self, tokens, at, caches):
        """Of tokens [B, N] at places [N] behind those in the caches, one for each block."""
        x, t = self.embedding(tokens), self.tables_at(at)
        for block, cache in zip(self.blocks, caches):
            x = block(x, t, at, cache)
        return self.head(self.norm(x)[:, -1]).float()

    def part_of_loss(self, x, targets):
        logits = self.head(x)
        kind = torch.promote_types(logits.dtype, torch.float32)
        return F.cross_entropy(logits.to(kind), targets, reduction="sum")

    def loss(self, tokens, targets):
        x, targets = self.hidden(tokens).flatten(0, 1), targets.flatten()
        if self.chunks == 1:
            return self.part_of_loss(x, targets) / targets.numel()
        parts = zip(x.chunk(self.chunks), targets.chunk(self.chunks))
        return (
            sum(checkpoint(self.part_of_loss, *part, use_reentrant=False) for part in parts) / targets.numel()
        )

    def caches(self, batch, capacity):
        """Zeros, as buffers, so that recorded graphs may write to them."""
        heads = self.blocks[0].heads
        width = self.embedding.embedding_dim // heads
        wide = 2 * width if self.encoding == "pope" else width
        like = self.embedding.weight

        def zeros(d):
            x = torch.zeros(batch, heads, capacity, d, device=like.device, dtype=like.dtype)
            torch._dynamo.mark_static_address(x)
            return x

        return [(zeros(wide), zeros(width)) for _ in self.blocks]
