"""PoPE's coordinates in one launch against the equation, and as torch wants operators to behave."""

import pytest
import torch
import torch.nn.functional as F
from test_cope import as_exact
from test_operators import poison

polar = torch.ops.darope.polar
BASE = 10_000.0


def equation(x, positions, delta):
    """Eq. 7 in the type of x, but for the angle m theta, which is formed in float64."""
    kind = torch.float64 if x.dtype == torch.float64 else torch.float32
    theta = BASE ** (-torch.arange(x.shape[-1], dtype=torch.float64, device=x.device) / x.shape[-1])
    angle = positions.double()[..., None, None] * theta
    angle = angle - 2 * torch.pi * (angle / (2 * torch.pi)).round()
    phase = angle.to(kind) if delta is None else angle.to(kind) + delta.to(kind)
    magnitude = F.softplus(x.to(kind), threshold=50)
    return torch.cat([magnitude * phase.cos(), magnitude * phase.sin()], -1).to(x.dtype)


def case(shape, dtype, device, by_row=False):
    batch, tokens, heads, width = shape
    generator = torch.Generator().manual_seed(tokens + width)

    def draw(*size):
        return torch.randn(*size, generator=generator).to(dtype).to(device)

    positions = torch.arange(tokens, dtype=torch.float64, device=device) + 1000
    positions = (
        positions + torch.arange(batch, dtype=torch.float64, device=device)[:, None] if by_row else positions
    )
    packed = 3 * draw(batch, tokens, 3, heads, width)  # x is a slice of a packed projection
    return (
        packed[:, :, 1],
        positions,
        -6 * torch.rand(heads, width, generator=generator).to(device),
        draw(batch, tokens, heads, 2 * width),
    )


def values_and_grads(function, x, positions, delta, grad, kind):
    leaves = [t.to(kind).requires_grad_() for t in (x,) + (() if delta is None else (delta,))]
    out = function(leaves[0], positions, *leaves[1:])
    return [out, *torch.autograd.grad(out, leaves, grad.to(kind))]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize(
    "shape",
    [
        (2, 70, 4, 64),
        (3, 33, 6, 32),
        (1, 1, 1, 8),
        (2, 1100, 2, 16),
        (2, 9, 12, 128),
        (2, 5, 32, 128),
        (2, 5, 40, 128),
        (2, 5, 3, 12),
    ],
    ids=str,
)
@pytest.mark.parametrize("with_delta, by_row", [(True, False), (False, True)])
def test_fused_is_as_exact_as_the_equation(shape, dtype, with_delta, by_row, device):
    x, positions, delta, grad = case(shape, dtype, device, by_row)
    delta = delta if with_delta else None
    poison(grad.shape, dtype, device)
    fused = values_and_grads(lambda x, p, d=None: polar(x, p, BASE, d), x, positions, delta, grad, dtype)

    def plain(kind):
        return values_and_grads(
            lambda x, p, d=None: equation(x, p, d),
            x,
            positions,
            delta.to(dtype).to(kind) if with_delta else None,
            grad,
            kind,
        )

    for got, low, exact, what in zip(
        fused, plain(dtype), plain(torch.float64), ("value", "grad x", "grad delta")
    ):
        as_exact(got, low, exact, what)


def test_delta_may_stay_in_float32_beside_lower_tensors(device):
    x, positions, delta, grad = case((2, 40, 4, 16), torch.bfloat16, device)
    delta.requires_grad_()
    (got,) = torch.autograd.grad(polar(x, positions, BASE, delta), delta, grad)
    exact = values_and_grads(
        lambda x, p, d: equation(x, p, d), x, positions, delta.detach(), grad, torch.float64
    )[2]
    assert got.dtype == torch.float32 and (got.double() - exact).abs().max() <= 1e-4 * exact.abs().max()


def test_gradients_are_the_same_in_every_run(device):
    x, positions, delta, grad = case((3, 700, 4, 32), torch.float32, device)

    def run():
        return values_and_grads(
            lambda x, p, d: polar(x, p, BASE, d), x, positions, delta, grad, torch.float32
        )

    first = run()
    for _ in range(3):
        assert all(torch.equal(a, b) for a, b in zip(first, run()))


def test_large_magnitudes_pass_as_they_are(device):
    x = torch.tensor([-200.0, -60, 0, 49, 60, 3e4, 1e38, 2], device=device).view(1, 1, 1, 8).requires_grad_()
    out = polar(x, torch.zeros(1, dtype=torch.float64, device=device), BASE, None)[..., :8]
    assert (
        torch.allclose(out, F.softplus(x, threshold=50))
        and torch.isfinite(torch.autograd.grad(out.sum(), x)[0]).all()
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("with_delta", [True, False])
@pytest.mark.parametrize("width", [8, 12])
def test_layout_and_dtypes_are_those_the_compiler_expects(width, with_delta, dtype, device):
    x, positions, delta, grad = case((2, 5, 3, width), dtype, device)
    delta = delta if with_delta else None

    def meta(t):
        return t if t is None else torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta")

    off = (
        torch.empty(x.numel() + 1, dtype=dtype, device=device)[1:].view(x.shape).copy_(x)
    )  # not on a boundary of 16 bytes
    for each in (
        x,
        x.contiguous().transpose(1, 2).contiguous().transpose(1, 2),
        x.contiguous(memory_format=torch.channels_last),
        off,
    ):
        for g in (grad, grad.transpose(1, 2).contiguous().transpose(1, 2), grad[:, :1].expand_as(grad)):
            got = (
                polar(each, positions, BASE, delta),
                *torch.ops.darope.polar_backward(g, each, positions, BASE, delta),
            )
            expected = (
                polar(meta(each), meta(positions), BASE, meta(delta)),
                *torch.ops.darope.polar_backward(meta(g), meta(each), meta(positions), BASE, meta(delta)),
            )
            assert [(t.shape, t.stride(), t.dtype) for t in got] == [
                (t.shape, t.stride(), t.dtype) for t in expected
            ]
            same = torch.ops.darope.polar_backward(g.contiguous(), x.contiguous(), positions, BASE, delta)
            assert all(
                torch.allclose(a, b, atol=2e-2 if dtype == torch.bfloat16 else 1e-4)
                for a, b in zip(got[1:], same)
            )


@pytest.mark.parametrize("with_delta", [True, False])
def test_opcheck_and_gradcheck(with_delta, device):
    x, positions, delta, _ = case((1, 3, 2, 4), torch.float64, device)
    leaves = (x.clone().requires_grad_(), delta.double().requires_grad_() if with_delta else None)
    torch.library.opcheck(polar.default, (leaves[0], positions, BASE, leaves[1]))
    assert torch.autograd.gradcheck(lambda x, d: polar(x, positions, BASE, d), leaves)


def test_second_derivative_is_refused_clearly(device):
    x, positions, delta, _ = case((1, 3, 2, 8), torch.float32, device)
    x = x.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(polar(x, positions, BASE, delta).square().sum(), x, create_graph=True)


@pytest.mark.parametrize(
    "change, error, words",
    [
        (lambda x, p, d: (x[0], p, d), ValueError, "must be \\[B, T, H, d\\]"),
        (lambda x, p, d: (x, p[:-1], d), ValueError, "positions must be"),
        (lambda x, p, d: (x, p.float(), d), TypeError, "float64"),
        (lambda x, p, d: (x, p, d[:1]), ValueError, "delta must be"),
        (lambda x, p, d: (x.long(), p, d), TypeError, "floating point"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(change, error, words, device):
    x, positions, delta, grad = case((2, 5, 2, 8), torch.float32, device)
    x, positions, delta = change(x, positions, delta)
    with pytest.raises(error, match=words):
        polar(x, positions, BASE, delta)
    with pytest.raises(error, match=words):
        torch.ops.darope.polar_backward(grad, x, positions, BASE, delta)
