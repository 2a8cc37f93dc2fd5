"""A DaRoPE training step of `darope train` against PyTorch, eager and compiled, interleaved in one run.

    python bench/train_step.py --shape jsb [--device cuda] [--compile] [--rounds 3] [--steps 60]

Shapes: jsb (8 layers, 192 wide, 6 heads, batch 4 x 2048), task (4, 256, 4, 64 x 256), sleep (6, 256, 8, 16 x
1024),
small (4, 256, 4, 32 x 256), quick (2, 64, 2, 16 x 32; one thread). bf16 with float32 weights on a GPU,
float32 on a CPU.
The opponent is the same decoder written in PyTorch: fused AdamW, fused attention, the fast bands' cosine and
sine tabulated,
one fixed batch on the device. Ours reads its batches as in any run. Best of the rounds; ratios are what
counts.
"""

import argparse
import json
import math
import os
import pathlib
import resource
import subprocess
import tempfile
import time

import numpy
import torch
import torch.nn.functional as F
from rotation import opponent as rotate

SHAPES = {
    "jsb": (8, 192, 6, 4, 2048),
    "task": (4, 256, 4, 64, 256),
    "sleep": (6, 256, 8, 16, 1024),
    "small": (4, 256, 4, 32, 256),
    "quick": (2, 64, 2, 16, 32),
}
VOCABULARY, BASE = 256, 500_000.0


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()

        def linear(i, o):
            return torch.nn.Linear(i, o, bias=False)

        self.heads, self.norm1, self.norm2 = (
            heads,
            torch.nn.RMSNorm(width, 1e-5),
            torch.nn.RMSNorm(width, 1e-5),
        )
        self.qkv, self.out, self.up, self.down = (
            linear(width, 3 * width),
            linear(width, width),
            linear(width, 4 * width),
            linear(4 * width, width),
        )
        self.w, self.alpha = (
            torch.nn.Parameter(0.1 * torch.randn(heads, width)),
            torch.nn.Parameter(torch.full((heads,), 0.5)),
        )

    def forward(self, x, tables, length):
        y = self.norm1(x)
        q, k, v = self.qkv(y).unflatten(-1, (3, self.heads, -1)).unbind(2)
        q, k = rotate(q, k, y, self.w, self.alpha, *tables, length)
        mixed = F.scaled_dot_product_attention(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True
        )
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Decoder(torch.nn.Module):
    def __init__(self, layers, width, heads, length):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, width)
        self.blocks = torch.nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.length = torch.nn.RMSNorm(width, 1e-5), length
        d = width // heads
        theta = BASE ** (-2 * torch.arange(d // 2, dtype=torch.float64) / d)
        fast = int((theta >= 2 * math.pi / length).sum())
        m = torch.arange(length, dtype=torch.float64)
        angle = m[:, None] * theta[:fast]
        for name, table in (
            ("cosine", angle.cos()),
            ("sine", angle.sin()),
            ("beta", torch.logit((m + 0.5) / length)),
            ("factor", theta[fast:] * length),
        ):
            self.register_buffer(name, table.float())

    def forward(self, tokens, targets):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, (self.cosine, self.sine, self.beta, self.factor), self.length)
        return F.cross_entropy(
            F.linear(self.norm(x), self.embedding.weight).float().flatten(0, 1), targets.flatten()
        )


def pytorch_step(shape, device, compiled):
    layers, width, heads, batch, length = shape
    torch.manual_seed(0)
    model = Decoder(layers, width, heads, length).to(device)
    run = torch.compile(model, fullgraph=True) if compiled else model
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True
    )
    tokens = torch.randint(VOCABULARY, (batch, length + 1), device=device)

    def step():
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            loss = run(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def seconds_of(step, device, steps):
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
    synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    synchronize()
    return (time.perf_counter() - start) / steps


def ours(binary, shape, device, steps, threads, folder, extra):
    """Seconds per step and peak bytes of `darope train`, from its own metrics and run.json."""
    layers, width, heads, batch, length = shape
    data, run = folder / "tokens.npy", folder / f"run-{time.time_ns()}"
    if not data.exists():
        numpy.save(
            data, numpy.random.default_rng(0).integers(0, VOCABULARY, 40 * 9 * length, dtype=numpy.uint16)
        )
    settings = [
        f"dump_dir={run}",
        f"device={device}",
        f"threads={threads}",
        f"steps={2 * steps}",
        f"logging.freq={steps}",
        f"data.path={data}",
        f"data.batch_size={batch}",
        f"data.seq_len={length}",
        "data.test_examples=8",
        "model.style=nanogpt",
        f"model.n_layers={layers}",
        f"model.dim={width}",
        f"model.n_heads={heads}",
        "model.encoding=darope",
        "model.base=500000",
        "model.tied=true",
        f"model.vocab_size={VOCABULARY}",
        "optim.lr=1e-4",
    ]
    subprocess.run(
        [binary, "train", "configs/quick/train.yaml", "data.task=", *settings, *extra],
        check=True,
        capture_output=True,
    )
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return lines[-1]["speed/curr_iter_time"], json.loads((run / "run.json").read_text())["peak_memory_bytes"]


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--shape", choices=SHAPES, default="quick")
    parse.add_argument("--device", default="cpu")
    parse.add_argument("--compile", action="store_true", help="torch.compile as a second opponent")
    parse.add_argument("--rounds", type=int, default=3)
    parse.add_argument("--steps", type=int, default=20, help="timed in a round; as many run before")
    parse.add_argument("--binary", default=os.environ.get("DAROPE_BINARY", "build/darope"))
    parse.add_argument("--no-graph", action="store_true", help="darope train --no-graph")
    a = parse.parse_args()
    shape, threads = SHAPES[a.shape], 1 if a.shape == "quick" else torch.get_num_threads()
    torch.set_num_threads(threads)
    opponents = {"PyTorch, eager": pytorch_step(shape, a.device, False)}
    if a.compile:
        opponents["PyTorch, compiled"] = pytorch_step(shape, a.device, True)
    best, peak = dict.fromkeys(["darope train", *opponents], math.inf), 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(a.rounds):
            seconds, peak = ours(
                a.binary, shape, a.device, a.steps, threads, pathlib.Path(folder), ["--no-graph"] * a.no_graph
            )
            best["darope train"] = min(best["darope train"], seconds)
            for name, step in opponents.items():
                seconds_of(step, a.device, 3)
                best[name] = min(best[name], seconds_of(step, a.device, a.steps))
    layers, width, heads, batch, length = shape
    print(
        f"training step, {a.device}, {layers} layers, {width} wide, {heads} heads, batch {batch} x {length}, "
        f"{threads} threads, best of {a.rounds} rounds of {a.steps}"
    )
    for name, seconds in best.items():
        print(f"  {name:18s} {seconds * 1e3:9.2f} ms   {seconds / best['darope train']:5.2f} x ours")
    other = (
        torch.cuda.max_memory_reserved()
        if a.device == "cuda"
        else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    )
    print(
        f"  peak memory: ours {peak / 1e6:.0f} MB, "
        f"PyTorch{' (with compile)' if a.compile else ''} {other / 1e6:.0f} MB"
    )


if __name__ == "__main__":
    main()
