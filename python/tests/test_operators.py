"""The fused operators against their plain versions, and as torch wants operators to behave."""

import darope
import pytest
import torch
from conftest import inputs

THETA = [10000.0 ** (-2 * j / 64) for j in range(32)]
rotate, learned = torch.ops.darope.rotate, torch.ops.darope.rotate_learned


def plain_rotate(q, k, positions, theta, scale, half):
    """The equations, written once more in tensor operations of the inputs' own precision class."""
    kind = torch.float64 if q.dtype == torch.float64 else torch.float32
    angle = positions[..., None, None] * torch.tensor(theta, dtype=torch.float64, device=q.device)
    c, s = (angle.cos() * scale).to(kind), (angle.sin() * scale).to(kind)
    return turn(q, c, s, half), turn(k, c, s, half)


def turn(t, c, s, half):
    wide = t.to(c.dtype)
    first, second = wide.chunk(2, -1) if half else (wide[..., 0::2], wide[..., 1::2])
    a, b = first * c - second * s, first * s + second * c
    return (torch.cat([a, b], -1) if half else torch.stack([a, b], -1).flatten(-2)).to(t.dtype)


def plain_learned(q, k, x, w, alpha, positions, theta, fast, length, half):
    kind = torch.float64 if q.dtype == torch.float64 else torch.float32
    m = (positions + 0.5).clamp(1e-6 * length, (1 - 1e-6) * length)
    beta = torch.log(m / (length - m)).to(kind)
    share = torch.sigmoid(x.to(kind) @ w.to(kind).T + beta[..., None] * alpha.to(kind))
    bands = torch.tensor(theta, dtype=torch.float64, device=q.device)
    fast_angle = positions[..., None, None] * bands[:fast]
    slow_angle = share[..., None] * (bands[fast:] * length).to(kind)
    shape = (*k.shape[:3], -1)
    c = torch.cat([fast_angle.cos().to(kind).expand(shape), slow_angle.cos()], -1)
    s = torch.cat([fast_angle.sin().to(kind).expand(shape), slow_angle.sin()], -1)
    group = q.shape[2] // k.shape[2]
    return turn(q, c.repeat_interleave(group, 2), s.repeat_interleave(group, 2), half), turn(k, c, s, half)


def within_twice(fused, plain, exact, what):
    """The FlashAttention rule: at most twice the plain version's own error, plus the rounding of the exact
    result.
    """
    exact = exact.double()
    rounding = (exact.to(fused.dtype).double() - exact).abs().max()
    assert torch.isfinite(fused).all(), what
    assert (fused.double() - exact).abs().max() <= 2 * (plain.double() - exact).abs().max() + 2 * rounding, (
        what
    )


def poison(shape, dtype, device):
    """NaN into the memory the next allocation of this size will get, so that an element nobody writes
    shows.
    """
    torch.full(shape, float("nan"), dtype=dtype, device=device)


SHAPES = [
    dict(batch=2, tokens=129, heads=4, head_dim=64),
    dict(batch=1, tokens=33, heads=6, head_dim=64, kv_heads=2),
    dict(batch=3, tokens=1, heads=1, head_dim=64),
]


@pytest.mark.parametrize("half", [False, True], ids=["interleaved", "half"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rotate_is_as_exact_as_plain(shape, dtype, half, device):
    q, k, _, _ = inputs(**shape, dtype=dtype, device=device)
    positions = (
        torch.randint(
            0, 1_000_000, (shape["batch"], shape["tokens"]), generator=torch.Generator().manual_seed(1)
        )
        .double()
        .to(device)
    )
    poison(q.shape, dtype, device)
    fused = rotate(q, k, positions, THETA, 1.1, half)
    plain, exact = (
        plain_rotate(q, k, positions, THETA, 1.1, half),
        plain_rotate(q.double(), k.double(), positions, THETA, 1.1, half),
    )
    for i, what in enumerate("qk"):
        within_twice(fused[i], plain[i], exact[i], what)


@pytest.mark.parametrize("half", [False, True], ids=["interleaved", "half"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("fast", [0, 9, 32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_learned_is_as_exact_as_plain(shape, fast, dtype, half, device):
    q, k, _, x = inputs(**shape, d_model=96, dtype=dtype, device=device)
    kv = k.shape[2]
    generator = torch.Generator().manual_seed(2)
    w = (0.1 * torch.randn(kv, 96, generator=generator)).to(dtype).to(device)
    alpha = (0.5 + 0.1 * torch.randn(kv, generator=generator)).to(dtype).to(device)
    gq, gk = (torch.randn(t.shape, generator=generator).to(dtype).to(device) for t in (q, k))
    positions = torch.arange(shape["tokens"], dtype=torch.float64, device=device) * 3

    def run(function, kind):
        leaves = [t.to(kind).requires_grad_() for t in (q, k, x, w, alpha)]
        out = function(*leaves)[:2]
        return [*out, *torch.autograd.grad(out, leaves, (gq.to(kind), gk.to(kind)), materialize_grads=True)]

    def plain(q, k, x, w, alpha):
        return plain_learned(q, k, x, w, alpha, positions, THETA, fast, 256.0, half)

    poison(q.shape, dtype, device)
    fused = run(
        lambda q, k, x, w, alpha: learned(q, k, x, w, alpha, None, positions, THETA, fast, 256.0, half), dtype
    )
    for got, low, exact, what in zip(
        fused,
        run(plain, dtype),
        run(plain, torch.float64),
        ("q", "k", "grad q", "grad k", "grad x", "grad w", "grad alpha"),
    ):
        within_twice(got, low, exact, what)


@pytest.mark.parametrize("half", [False, True], ids=["interleaved", "half"])
@pytest.mark.parametrize("heads, kv_heads", [(0, 2), (3, 0), (0, 0)])
def test_rotate_without_heads_on_one_side(heads, kv_heads, half, device):
    """The other side is turned all the same, forward and back."""
    full, _, _, _ = inputs(tokens=7, heads=3, head_dim=64, device=device)
    positions = torch.arange(7, dtype=torch.float64, device=device)
    q, k = full[:, :, :heads].clone().requires_grad_(), full[:, :, :kv_heads].clone().requires_grad_()
    for side in (q, k):
        poison(side.shape, torch.float64, device)
    turned = rotate(q, k, positions, THETA, 1.1, half)
    expected = plain_rotate(q, k, positions, THETA, 1.1, half)
    upstream = [torch.randn_like(t) for t in turned]
    grads, exact = (torch.autograd.grad(out, (q, k), upstream) for out in (turned, expected))
    for got, want in zip((*turned, *grads), (*expected, *exact)):
        assert got.shape == want.shape and torch.allclose(got, want, rtol=0, atol=1e-13)


def test_saturated_coordinates_have_no_nan(device):
    q, k, _, x = inputs(device=device, dtype=torch.float32, grad=True)
    w = torch.full((2, 16), 40.0, device=device, requires_grad=True)
    out = learned(
        q,
        k,
        x,
        w,
        None,
        None,
        torch.arange(5.0, dtype=torch.float64, device=device),
        [1.0, 0.1, 0.01, 0.001],
        1,
        16.0,
        False,
    )
    (out[0].sum() + out[1].sum()).backward()
    for tensor in (out[0], out[1], q.grad, w.grad, x.grad):
        assert torch.isfinite(tensor).all()


def test_slow_bands_of_hope_pass_through_bit_for_bit(device):
    q, k, _, _ = inputs(dtype=torch.bfloat16, device=device)
    module = darope.create("hope", d_model=16, heads=2, head_dim=8, train_length=16, base=20)
    turned, _ = module(q, k)
    assert torch.equal(turned[..., 4:], q[..., 4:]) and not torch.equal(turned[..., :4], q[..., :4])


def test_backward_is_deterministic(device):
    q, k, _, x = inputs(tokens=257, heads=4, head_dim=32, dtype=torch.float32, device=device, grad=True)
    module = darope.create("darope", d_model=16, heads=4, head_dim=32, train_length=64).to(device)

    def run():
        return torch.autograd.grad(
            sum(t.square().sum() for t in module(q, k, x)), [q, k, x, *module.parameters()]
        )

    first = run()
    for _ in range(5):
        assert all(torch.equal(a, b) for a, b in zip(first, run()))


def arguments(device, grouped=False, per_band=False):
    q, k, _, x = inputs(heads=4, kv_heads=2 if grouped else 4, device=device, grad=True)
    kv = k.shape[2]

    def leaf(*shape):
        return torch.randn(*shape, dtype=torch.float64, device=device, requires_grad=True)

    positions = torch.arange(5, dtype=torch.float64, device=device)
    bands = [1.0, 0.4, 0.1, 0.01]
    return (
        q,
        k,
        x,
        leaf(kv, 16),
        leaf(kv, 2) if per_band else leaf(kv),
        leaf(2, 5, kv),
        positions,
        bands,
        2,
        16.0,
        False,
    ), (q, k, positions, bands, 1.0, True)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("per_band", [False, True])
def test_opcheck(device, grouped, per_band):
    torch.manual_seed(0)
    for_learned, for_rotate = arguments(device, grouped, per_band)
    torch.library.opcheck(torch.ops.darope.rotate.default, for_rotate)
    torch.library.opcheck(torch.ops.darope.rotate_learned.default, for_learned)
    without = (*for_learned[:4], None, None, *for_learned[6:])
    torch.library.opcheck(torch.ops.darope.rotate_learned.default, without)


def test_operators_gradcheck(device):
    torch.manual_seed(0)
    for_learned, for_rotate = arguments(device, grouped=True)
    assert torch.autograd.gradcheck(lambda *a: learned(*a)[:2], for_learned)
    assert torch.autograd.gradcheck(rotate, for_rotate) and torch.autograd.gradgradcheck(rotate, for_rotate)


def test_second_derivative_is_refused_clearly():
    for_learned, _ = arguments("cpu")
    out = learned(*for_learned)[0].square().sum()
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(out, for_learned[0], create_graph=True)


def test_compiles_with_inductor(device):
    torch._dynamo.reset()
    module = darope.create("darope", d_model=16, heads=2, head_dim=8, train_length=16).to(device)
    q, k, _, x = inputs(dtype=torch.float32, device=device)
    compiled = torch.compile(module, fullgraph=True)
    for got, expected in zip(compiled(q, k, x), module(q, k, x)):
        assert torch.allclose(got, expected, atol=1e-6)


def test_meta_tensors_give_shapes_without_memory():
    module = darope.create("darope", d_model=4096, heads=32, head_dim=128, train_length=4096).to("meta")
    q = torch.empty(8, 4096, 32, 128, device="meta")
    turned, _ = module(q, q, torch.empty(8, 4096, 4096, device="meta"), torch.empty(4096, device="meta"))
    assert turned.shape == q.shape and turned.device.type == "meta"


def test_float16(device):
    q, k, v, x = inputs(dtype=torch.float16, device=device)
    module = darope.create("darope", d_model=16, heads=2, head_dim=8, train_length=16).to(
        device=device, dtype=torch.float16
    )
    exact = module.double()
    got = [
        t.double() for t in darope.create("rope", d_model=16, heads=2, head_dim=8, train_length=16)(q, k, x)
    ]
    want = darope.create("rope", d_model=16, heads=2, head_dim=8, train_length=16)(
        q.double(), k.double(), x.double()
    )
    assert all((a - b).abs().max() < 4e-3 for a, b in zip(got, want))
    low, high = (
        exact.to(torch.float16)(q, k, x)[0].double(),
        exact.double()(q.double(), k.double(), x.double())[0],
    )
    assert (low - high).abs().max() < 5e-2


def test_autocast_takes_the_norms_float32(device):
    """Under autocast projections give bfloat16 while norms leave x in float32: the same as casting x by
    hand.
    """
    q, k, v, x = inputs(dtype=torch.bfloat16, device=device)
    module = darope.create("darope", d_model=16, heads=2, head_dim=8, train_length=16).to(device)
    with pytest.raises(TypeError, match="dtype"):
        module(q, k, x.float())
    with torch.autocast(device, torch.bfloat16):
        got = module.attend(q, k, v, x.float())
    assert torch.equal(got, module.attend(q, k, v, x))


@pytest.mark.parametrize("name", [row["name"] for row in darope.encodings()])
def test_what_has_no_rule_is_refused_by_name(name):
    """vmap, jvp, torch.func.grad, dual numbers and second derivatives, of every encoding."""
    encoding = darope.create(name, d_model=32, heads=2, head_dim=16, train_length=16)
    q, k, v = (torch.randn(1, 6, 2, 16) for _ in range(3))
    x = torch.randn(1, 6, 32)

    def run(q):
        return encoding.attend(q, k, v, x)

    for transformed in (
        lambda: torch.func.vmap(run)(q[None]),
        lambda: torch.func.jvp(run, (q,), (q,)),
        lambda: torch.func.grad(lambda q: run(q).sum())(q),
    ):
        with pytest.raises(NotImplementedError, match=r"darope::\w+ cannot be called under torch.func"):
            transformed()
    with torch.autograd.forward_ad.dual_level():
        with pytest.raises(NotImplementedError, match="darope has no derivative forward"):
            run(torch.autograd.forward_ad.make_dual(q, q))
    for leaf in (q.requires_grad_(), q.detach().double().requires_grad_()):  # short and flash attention
        k, v, x = (each.to(leaf.dtype) for each in (k, v, x))
        out = encoding.to(leaf.dtype).attend(leaf, k, v, x).square().sum()
        with pytest.raises(RuntimeError, match="has no second derivative"):
            torch.autograd.grad(out, leaf, create_graph=True)


@pytest.mark.parametrize("operator", ["rotate", "polar", "cope_weights"])
def test_operators_called_by_name_are_refused_under_transforms(operator):
    x, positions = torch.randn(1, 6, 2, 16), torch.arange(6, dtype=torch.float64)
    embedding = torch.randn(3, 16)
    calls = {
        "rotate": lambda x: torch.ops.darope.rotate(x, x, positions, [1.0] * 8, 1.0, False)[0],
        "polar": lambda x: torch.ops.darope.polar(x, positions, 10000.0, None),
        "cope_weights": lambda x: torch.ops.darope.cope_weights(x, x, embedding, 0.25, 1.0)[0],
    }
    with pytest.raises(NotImplementedError, match=f"darope::{operator} cannot be called under torch.func"):
        torch.func.vmap(calls[operator])(x[None])


@pytest.mark.parametrize("name", [row["name"] for row in darope.encodings()])
def test_positions_beyond_what_float64_tells_apart_are_refused(name):
    encoding = darope.create(name, d_model=32, heads=2, head_dim=16, train_length=16)
    q, x = torch.randn(1, 2, 2, 16), torch.randn(1, 2, 32)
    last = torch.tensor([0.0, 2.0**53], dtype=torch.float64)
    assert encoding.attend(q, q, q, x, positions=last).isfinite().all()
    with pytest.raises(ValueError, match=r"at most 2\*\*53; got 1e\+30"):
        encoding.attend(q, q, q, x, positions=torch.tensor([0.0, 1e30], dtype=torch.float64))
