"""A language model's training step as a PyTorch user would write it: the opponent of `darope bench step`.

    python bench/opponents/language_step.py --size 124m --encodings rope,darope [--mode default] [--json]

The decoder of Lingua's style in float32 weights under bfloat16 autocast, torch.compile over the whole model,
cuDNN's attention, fused AdamW, clipping by norm; cosine and sine tabulated. --mode reduce-overhead adds CUDA
graphs; --chunks N computes the loss in N chunks of rows, each recomputed in the backward pass.
"""

import argparse
import json
import math
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

# layers, width, heads, batch, length
SIZES = {
    "124m": (12, 768, 12, 16, 4096),
    "350m": (24, 1024, 16, 8, 4096),
    "1b": (25, 2048, 16, 4, 4096),
}
VOCABULARY, BASE = 100_352, 500_000.0


def rotate(x, cosine, sine):
    """The interleaved bands of x [B, T, H, d]; cosine and sine are [T, 1, d/2] or [B, T, H, d/2]."""
    a, b = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((a * cosine - b * sine, a * sine + b * cosine), -1).flatten(-2).to(x.dtype)


class Block(torch.nn.Module):
    def __init__(self, width, heads, encoding):
        super().__init__()
        self.heads, self.encoding = heads, encoding
        hidden = 256 * math.ceil(int(8 * width / 3) / 256)
        self.norm1, self.norm2 = torch.nn.RMSNorm(width, 1e-5), torch.nn.RMSNorm(width, 1e-5)
        self.qkv = torch.nn.Linear(width, 3 * width, bias=False)
        self.out = torch.nn.Linear(width, width, bias=False)
        self.gate_up = torch.nn.Linear(width, 2 * hidden, bias=False)
        self.down = torch.nn.Linear(hidden, width, bias=False)
        if encoding == "darope":
            self.w = torch.nn.Parameter(0.02 * torch.randn(heads, width))
            self.alpha = torch.nn.Parameter(torch.full((heads,), 1.0))

    def forward(self, x, tables, length):
        y = self.norm1(x)
        q, k, v = self.qkv(y).unflatten(-1, (3, self.heads, -1)).unbind(2)
        if self.encoding != "nope":
            cosine, sine = tables["cosine"], tables["sine"]
            if self.encoding == "darope":
                logit = F.linear(y, self.w).float() + self.alpha * tables["beta"][:, None]
                slow = torch.sigmoid(logit)[..., None] * tables["factor"]
                wide = (*slow.shape[:-1], cosine.shape[-1])
                cosine = torch.cat((cosine.expand(wide), slow.cos()), -1)
                sine = torch.cat((sine.expand(wide), slow.sin()), -1)
            q, k = rotate(q, cosine, sine), rotate(k, cosine, sine)
        q, k, v = (z.transpose(1, 2) for z in (q, k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        gate, up = self.gate_up(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Decoder(torch.nn.Module):
    def __init__(self, layers, width, heads, length, encoding, chunks):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, width)
        self.blocks = torch.nn.ModuleList(Block(width, heads, encoding) for _ in range(layers))
        self.norm, self.head = torch.nn.RMSNorm(width, 1e-5), torch.nn.Linear(width, VOCABULARY, bias=False)
        self.length, self.chunks = length, chunks
        d = width // heads
        theta = BASE ** (-2 * torch.arange(d // 2, dtype=torch.float64) / d)
        fast = int((theta >= 2 * math.pi / length).sum()) if encoding == "darope" else d // 2
        m = torch.arange(length, dtype=torch.float64)
        angle = (m[:, None] * theta[:fast])[:, None]
        beta = torch.logit((m + 0.5) / length)
        factor = theta[fast:] * length
        for name, table in zip(
            ("cosine", "sine", "beta", "factor"), (angle.cos(), angle.sin(), beta, factor)
        ):
            self.register_buffer(name, table.float())

    def loss(self, x, targets):
        return F.cross_entropy(self.head(x).float(), targets, reduction="sum")

    def forward(self, tokens, targets):
        x, tables = self.embedding(tokens), dict(self.named_buffers())
        for block in self.blocks:
            x = block(x, tables, self.length)
        x, targets = self.norm(x).flatten(0, 1), targets.flatten()
        if self.chunks == 1:
            return self.loss(x, targets) / targets.numel()
        parts = zip(x.chunk(self.chunks), targets.chunk(self.chunks))
        return sum(checkpoint(self.loss, *part, use_reentrant=False) for part in parts) / targets.numel()


def make_step(size, encoding, mode, chunks):
    layers, width, heads, batch, length = SIZES[size]
    torch.manual_seed(0)
    model = Decoder(layers, width, heads, length, encoding, chunks).cuda()
    run = torch.compile(model, mode=mode)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True
    )
    tokens = torch.randint(VOCABULARY, (batch, length + 1), device="cuda")

    def step():
        with torch.autocast("cuda", torch.bfloat16), sdpa_kernel([SDPBackend.CUDNN_ATTENTION]):
            loss = run(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step, batch * length


def seconds_of(step, steps):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / steps


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--size", choices=SIZES, default="124m")
    parse.add_argument("--encodings", default="rope,darope")
    parse.add_argument("--mode", default="default")
    parse.add_argument("--chunks", type=int, default=1)
    parse.add_argument("--rounds", type=int, default=3)
    parse.add_argument("--steps", type=int, default=10)
    parse.add_argument("--json", action="store_true")
    a = parse.parse_args()
    torch.set_float32_matmul_precision("high")
    for encoding in a.encodings.split(","):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        step, tokens = make_step(a.size, encoding, a.mode, a.chunks)
        seconds_of(step, 5)
        rounds = [seconds_of(step, a.steps) for _ in range(a.rounds)]
        peak = torch.cuda.max_memory_reserved()
        if a.json:
            row = {"bench": "step", "who": f"torch.compile {a.mode}", "size": a.size, "encoding": encoding}
            print(
                json.dumps(
                    row | {"seconds": rounds, "tokens_per_second": tokens / min(rounds), "peak_bytes": peak}
                )
            )
        else:
            print(
                f"{encoding:20s} {min(rounds) * 1e3:10.2f} ms  {tokens / min(rounds) / 1e3:10.1f} ktokens/s"
                f"  {peak / 2**20:9.0f} MiB"
            )
        del step


if __name__ == "__main__":
    main()
