"""The parts that are no products, as functions of tensors that a compiler may fuse: the opponent of `darope
bench kernels`. `what` names a part and a pass, as darope does."""

import torch
import torch._functorch.config
import torch.nn.functional as F
from decoder import Block, encode, tables
from rounds import answer

torch._functorch.config.donated_buffer = False  # the backward pass runs again and again


def tensor(asked, *size, grad=True):
    return torch.randn(*size, device=asked.device, dtype=asked.dtype, requires_grad=grad)


def encoding(asked, batch, length):
    shape = asked.shape
    heads, d = shape["heads"], shape["width"] // shape["heads"]
    learned = dict(Block(shape, asked.encoding).learned.to(asked.device))
    t = {name: x.float().to(asked.device) for name, x in tables(asked.encoding, d, length).items()}
    qkv, x = tensor(asked, batch, length, 3 * heads, d, grad=False), tensor(asked, batch, length, heads * d)
    q, k, _ = (part.detach().requires_grad_() for part in qkv.chunk(3, 2))
    function = asked.compiled(lambda q, k, x: encode(q, k, x, learned, t, asked.encoding))
    return function, [q, k, x], list(learned.values())


def norm(asked, batch, length):
    x, delta = (tensor(asked, batch, length, asked.shape["width"]) for _ in range(2))
    weight = tensor(asked, asked.shape["width"])

    def add_norm(x, delta, weight):
        total = x + delta
        return total, F.rms_norm(total, weight.shape, weight, 1e-5)

    return asked.compiled(add_norm), [x, delta, weight], []


def swiglu(asked, batch, length):
    def gated(up):
        gate, up = up.chunk(2, -1)
        return F.silu(gate) * up

    return asked.compiled(gated), [tensor(asked, batch * length, 2 * asked.shape["hidden"])], []


def head_loss(asked, batch, length):
    shape = asked.shape
    hidden, head = (tensor(asked, n, shape["width"]) for n in (batch * length, shape["vocabulary"]))
    targets = torch.randint(shape["vocabulary"], (batch * length,), device=asked.device)

    def loss(hidden, head):
        return F.cross_entropy(F.linear(hidden, head).float(), targets)

    return asked.compiled(loss), [hidden, head], []


PARTS = {"encode": encoding, "add and norm": norm, "swiglu": swiglu, "head loss": head_loss}


def make(asked):
    part, run = asked.what.split(", ")
    function, inputs, parameters = PARTS[part](asked, asked.batch, asked.shape["length"])

    def outputs():
        out = function(*inputs)
        return out if isinstance(out, tuple) else (out,)

    def forward():
        with torch.no_grad():
            outputs()

    def both():
        torch.autograd.backward(outputs())
        for x in inputs:
            x.grad = None

    if run != "backward":
        return {"forward": forward, "both": both}[run]
    made = outputs()
    upstream, wanted = [torch.randn_like(x) for x in made], [*inputs, *parameters]
    return lambda: torch.autograd.grad(made, wanted, upstream, retain_graph=True, allow_unused=True)


if __name__ == "__main__":
    answer(make)
