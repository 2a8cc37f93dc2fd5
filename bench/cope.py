"""CoPE's attention, forward and backward, against eager PyTorch and torch.compile, interleaved in one run.

    python bench/cope.py [--device cuda --dtype bfloat16 --batch 64 --tokens 256 --heads 4 --head-dim 64]
    [--rounds 20]

The opponent is the listing of Golovneva et al. 2024 in tensor operations. Best of the rounds; ratios are what
counts.
"""

import argparse
import math
import time

import torch


def opponent(q, k, v, embedding):
    """q, k, v [B, T, H, d]; embedding [P, d]. Counted in float32: bfloat16 stops at 256."""
    kind, length, most = torch.float32, q.shape[1], embedding.shape[0] - 1
    q, k = q.transpose(1, 2), k.transpose(1, 2)
    future = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
    content = (q @ k.transpose(-1, -2)).to(kind) / math.sqrt(q.shape[-1])
    count = content.sigmoid().masked_fill(future, 0).flip(-1).cumsum(-1).flip(-1).clamp(max=most)
    z = (q @ embedding.T).to(kind)
    low = count.detach().floor().long()
    part = count - low
    logits = content + (1 - part) * z.gather(-1, low) + part * z.gather(-1, (low + 1).clamp(max=most))
    return (logits.masked_fill(future, float("-inf")).softmax(-1).to(v.dtype) @ v.transpose(1, 2)).transpose(
        1, 2
    )


def main() -> None:
    import darope

    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--device", default="cpu")
    parse.add_argument("--dtype", default="float32")
    for name, value in (("batch", 4), ("tokens", 256), ("heads", 4), ("head-dim", 64), ("rounds", 20)):
        parse.add_argument(f"--{name}", type=int, default=value)
    a = parse.parse_args()
    dtype, width = getattr(torch, a.dtype), a.heads * a.head_dim

    torch.manual_seed(0)
    ours = darope.create("cope", d_model=width, heads=a.heads, head_dim=a.head_dim, train_length=a.tokens).to(
        a.device, dtype
    )
    torch.nn.init.normal_(ours.embedding)

    def leaf():
        return torch.randn(
            a.batch, a.tokens, a.heads, a.head_dim, device=a.device, dtype=dtype, requires_grad=True
        )

    q, k, v = leaf(), leaf(), leaf()
    grad, inputs = torch.randn_like(v), [q, k, v, ours.embedding]
    compiled = torch.compile(opponent, fullgraph=True)
    contestants = {
        "darope (fused)": lambda: ours.attend(q, k, v),
        "eager PyTorch": lambda: opponent(q, k, v, ours.embedding),
        "torch.compile": lambda: compiled(q, k, v, ours.embedding),
    }
    synchronize = torch.cuda.synchronize if a.device == "cuda" else lambda: None

    def once(run) -> float:
        synchronize()
        start = time.perf_counter()
        torch.autograd.grad(run(), inputs, grad)
        synchronize()
        return time.perf_counter() - start

    best = dict.fromkeys(contestants, math.inf)
    for turn in range(a.rounds + 3):
        for name, run in contestants.items():
            seconds = once(run)
            best[name] = min(best[name], seconds if turn >= 3 else math.inf)
    print(
        f"CoPE's attention, forward and backward, {a.batch} x {a.tokens} x {a.heads} x {a.head_dim}, "
        f"{a.dtype} on {a.device}"
    )
    for name, seconds in best.items():
        print(f"  {name:<16} {seconds * 1e3:9.3f} ms   {seconds / best['darope (fused)']:6.2f}x ours")


if __name__ == "__main__":
    main()
