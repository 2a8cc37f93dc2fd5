"""DaRoPE's rotation, forward and backward, against eager PyTorch and torch.compile, interleaved in one run.

    python bench/rotation.py [--device cuda --dtype bfloat16 --batch 4 --tokens 4096 --heads 16 --head-dim
    128] [--rounds 30]

The opponent writes out the paper's equations with the fast bands' cosine and sine tabulated beforehand, so
that it forms no
angle it need not. Best of the rounds; ratios are what counts, machines are noisy.
"""

import argparse
import math
import time

import torch


def opponent(q, k, x, w, alpha, cosine, sine, beta, factor, length):
    """q, k [B, T, H, d]; cosine, sine [T, fast]; beta [T]; factor = L theta of the slow bands."""
    share = torch.sigmoid((x @ w.T).float() + beta[:, None] * alpha.float())  # [B, T, H]
    angle = share[..., None] * factor
    shape = (*angle.shape[:-1], cosine.shape[-1])
    c = torch.cat([cosine[:, None].expand(shape), angle.cos()], -1)
    s = torch.cat([sine[:, None].expand(shape), angle.sin()], -1)

    def turn(t):
        first, second = t.float().unflatten(-1, (-1, 2)).unbind(-1)
        return torch.stack([first * c - second * s, first * s + second * c], -1).flatten(-2).to(t.dtype)

    return turn(q), turn(k)


def main() -> None:
    import darope

    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--device", default="cpu")
    parse.add_argument("--dtype", default="float32")
    for name, value in (("batch", 1), ("tokens", 2048), ("heads", 8), ("head-dim", 64), ("rounds", 30)):
        parse.add_argument(f"--{name}", type=int, default=value)
    a = parse.parse_args()
    dtype, width = getattr(torch, a.dtype), a.heads * a.head_dim

    torch.manual_seed(0)
    ours = darope.create(
        "darope", d_model=width, heads=a.heads, head_dim=a.head_dim, train_length=a.tokens
    ).to(a.device, dtype)

    def leaf(*shape):
        return torch.randn(*shape, device=a.device, dtype=dtype, requires_grad=True)

    q, k, x = (
        leaf(a.batch, a.tokens, a.heads, a.head_dim),
        leaf(a.batch, a.tokens, a.heads, a.head_dim),
        leaf(a.batch, a.tokens, width),
    )
    gq, gk = torch.randn_like(q), torch.randn_like(k)

    theta = 500_000.0 ** (-2 * torch.arange(a.head_dim // 2, dtype=torch.float64) / a.head_dim)
    fast = int((theta >= 2 * math.pi / a.tokens).sum())
    m = torch.arange(a.tokens, dtype=torch.float64)
    table = m[:, None] * theta[:fast]
    constants = [
        t.float().to(a.device)
        for t in (table.cos(), table.sin(), torch.logit((m + 0.5) / a.tokens), theta[fast:] * a.tokens)
    ]
    positions = m.to(a.device)

    compiled = torch.compile(opponent, fullgraph=True)
    inputs = [q, k, x, *ours.parameters()]
    contestants = {
        "darope (fused)": lambda: ours(q, k, x, positions),
        "eager PyTorch": lambda: opponent(q, k, x, ours.w, ours.alpha, *constants, a.tokens),
        "torch.compile": lambda: compiled(q, k, x, ours.w, ours.alpha, *constants, a.tokens),
    }
    synchronize = torch.cuda.synchronize if a.device == "cuda" else lambda: None

    def once(run) -> float:
        synchronize()
        start = time.perf_counter()
        torch.autograd.grad(run(), inputs, [gq, gk])
        synchronize()
        return time.perf_counter() - start

    for run in contestants.values():
        for _ in range(5):
            once(run)
    best = dict.fromkeys(contestants, math.inf)
    for _ in range(a.rounds):
        for name, run in contestants.items():
            best[name] = min(best[name], once(run))

    elements = 2 * a.batch * a.tokens * width
    source = torch.empty(
        5 * elements // 2, device=a.device, dtype=dtype
    )  # forward: q, k in and out; backward: those, and q, k kept
    target = torch.empty_like(source)
    moving = math.inf
    for _ in range(a.rounds):
        synchronize()
        start = time.perf_counter()
        target.copy_(source)
        synchronize()
        moving = min(moving, time.perf_counter() - start)

    ours_time = best["darope (fused)"]
    print(
        f"rotation forward + backward, {a.device} {a.dtype}, B={a.batch} T={a.tokens} H={a.heads} "
        f"d={a.head_dim}, {torch.get_num_threads()} threads, best of {a.rounds}"
    )
    for name, seconds in best.items():
        print(f"  {name:16s} {seconds * 1e3:8.3f} ms   {seconds / ours_time:5.2f} x ours")
    print(f"  {'moving the bytes':16s} {moving * 1e3:8.3f} ms   {moving / ours_time:5.2f} x ours")


if __name__ == "__main__":
    main()
