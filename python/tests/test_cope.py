"""CoPE's fused weights against the composed equations, and as torch wants operators to behave."""

import darope
import pytest
import torch
from conftest import inputs
from test_operators import poison

weights = torch.ops.darope.cope_weights
ARGUMENTS = ("weights", "grad q", "grad k", "grad embedding")


def plain_weights(q, k, embedding, scale, position_scale):
    """Golovneva et al.'s listing: gates, counts from each key to the query, and a logit between two
    learned vectors.
    """
    kind = torch.float64 if q.dtype == torch.float64 else torch.float32
    wide_q, wide_k = q.to(kind).transpose(1, 2), k.to(kind).transpose(1, 2)
    queries, keys, most = q.shape[1], k.shape[1], embedding.shape[0] - 1
    future = torch.ones(queries, keys, dtype=torch.bool, device=q.device).triu(keys - queries + 1)
    content = scale * wide_q @ wide_k.transpose(-1, -2)
    count = content.sigmoid().masked_fill(future, 0).flip(-1).cumsum(-1).flip(-1).clamp(max=most)
    z = position_scale * wide_q @ embedding.to(kind).T
    low = count.detach().floor().long()
    part = count - low
    logits = content + (1 - part) * z.gather(-1, low) + part * z.gather(-1, (low + 1).clamp(max=most))
    return logits.masked_fill(future, float("-inf")).softmax(-1).to(q.dtype)


def as_exact(fused, plain, exact, what):
    """At most twice the plain version's own error, its rounding, and a few units in the last place of
    float32: sums have their own order.
    """
    exact = exact.double()
    rounding = (exact.to(fused.dtype).double() - exact).abs().max()
    assert torch.isfinite(fused).all(), what
    assert (fused.double() - exact).abs().max() <= 2 * (
        plain.double() - exact
    ).abs().max() + 2 * rounding + 5e-7 * exact.abs().max().clamp(min=1), what


def case(queries, keys, places, dtype, device, heads=3, width=16, batch=2):
    generator = torch.Generator().manual_seed(queries + keys + places)

    def draw(*shape):
        return torch.randn(*shape, generator=generator).to(dtype).to(device)

    return (
        draw(batch, queries, heads, width),
        draw(batch, keys, heads, width),
        draw(places, width),
        draw(batch, heads, queries, keys),
    )


def values_and_grads(function, q, k, embedding, grad, kind):
    leaves = [t.to(kind).requires_grad_() for t in (q, k, embedding)]
    out = function(*leaves)
    return [out, *torch.autograd.grad(out, leaves, grad.to(kind))]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize(
    "queries, keys, places",
    [(70, 70, 64), (33, 33, 5), (257, 257, 8), (1, 1, 4), (3, 40, 16), (1, 100, 64), (20, 20, 1)],
)
def test_fused_is_as_exact_as_plain(queries, keys, places, dtype, device):
    *given, grad = case(queries, keys, places, dtype, device)
    poison(grad.shape, dtype, device)
    fused = values_and_grads(lambda *a: weights(*a, 0.25, 0.5)[0], *given, grad, dtype)

    def plain(kind):
        return values_and_grads(lambda *a: plain_weights(*a, 0.25, 0.5), *given, grad, kind)

    for got, low, exact, what in zip(fused, plain(dtype), plain(torch.float64), ARGUMENTS):
        as_exact(got, low, exact, what)


@pytest.mark.parametrize("queries, keys, places", [(40, 40, 64), (37, 70, 6)])
def test_in_float64_it_is_the_listing(queries, keys, places, device):
    *given, grad = case(queries, keys, places, torch.float64, device)
    fused = values_and_grads(lambda *a: weights(*a, 0.25, 1.0)[0], *given, grad, torch.float64)
    for got, expected, what in zip(
        fused,
        values_and_grads(lambda *a: plain_weights(*a, 0.25, 1.0), *given, grad, torch.float64),
        ARGUMENTS,
    ):
        assert (got - expected).abs().max() <= 1e-12 * expected.abs().max().clamp(min=1), what


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("size", [10.0, 30.0])
def test_large_logits_and_a_common_gradient(size, dtype, device):
    """What all keys of a query share of the gradient must cancel: with logits of hundreds, a rounded norm
    alone does not see to it.
    """
    q, k, embedding, grad = case(40, 40, 8, dtype, device)
    given = (size * q, k, embedding)
    fused = values_and_grads(lambda *a: weights(*a, 0.25, 0.5)[0], *given, grad + 100, dtype)

    def plain(kind):
        return values_and_grads(lambda *a: plain_weights(*a, 0.25, 0.5), *given, grad + 100, kind)

    for got, low, exact, what in zip(fused, plain(dtype), plain(torch.float64), ARGUMENTS):
        scale = exact.abs().max().clamp(min=1)
        assert (got.double() - exact).abs().max() <= 4 * (
            low.double() - exact
        ).abs().max() + 1e-12 * scale + 4 * torch.finfo(dtype).eps * scale, what


def counts_of_a_scan(gates):
    """Sums of [rows, 32] gates from each to the last, as 32 lanes that double their reach form them."""
    sums = gates.clone()
    for offset in (1, 2, 4, 8, 16):
        sums[:, : 32 - offset] += sums[:, offset:].clone()
    return sums


def test_places_that_rise_again_count_once(device):
    """A key that counts nothing has the count of the key behind it, but for the rounding of a scan: beside a
    whole number its place may be the one below. The place then comes back a key on, and what the first key
    of it gives must not be added twice.
    """
    generator = torch.Generator().manual_seed(2)
    shape = (20000, 32)
    full = 36 + torch.rand(shape, generator=generator, dtype=torch.float64)  # gates next to 1
    content = torch.where(torch.rand(shape, generator=generator) < 0.5, -38.0, full)  # and next to 0
    # a key that counts half, one that counts nothing, and one behind which counts are next to whole numbers
    content[:, 10] = 37.5
    content[:, 8], content[:, 9] = 0.0, -38.0
    place = counts_of_a_scan(content.sigmoid()).floor()
    again = (place[:, 8] == place[:, 10]) & (place[:, 9] < place[:, 10])
    content = content[again]
    assert len(content) > 200
    q = torch.tensor([1.0, 0.0], dtype=torch.float64).expand(len(content), 1, 1, 2)
    k = torch.stack([content, torch.zeros_like(content)], -1)[:, :, None]
    embedding = torch.randn(40, 2, generator=generator, dtype=torch.float64)
    grad = torch.randn(len(content), 1, 1, 32, generator=generator, dtype=torch.float64)
    grad[..., 8] = 1e12  # the others outweigh its key by e^37 in the softmax
    given = [t.contiguous().to(device) for t in (q, k, embedding, grad)]
    got, expected = (
        values_and_grads(lambda *a: function(*a), *given, torch.float64)[3]
        for function in (lambda *a: weights(*a, 1.0, 1.0)[0], lambda *a: plain_weights(*a, 1.0, 1.0))
    )
    assert (got - expected).abs().max() <= 1e-9 * expected.abs().max()


def test_queries_see_from_their_first_key_on(device):
    """As if what lies before it were not there; a first key out of reach is the nearest that is."""
    q, k, embedding, grad = case(9, 12, 5, torch.float64, device)
    first = torch.tensor([[0, 0, 3, 3, 3, 7, 7, 7, 11], [-5, 4, 4, 4, 0, 8, 9, 50, 11]], device=device)
    got = values_and_grads(lambda *a: weights(*a, 0.25, 0.5, first)[0], q, k, embedding, grad, torch.float64)

    def row_by_row(q, k, embedding):
        out = q.new_zeros(2, 3, 9, 12)
        for b in range(2):
            for i in range(9):
                own = 3 + i
                begin = min(max(int(first[b, i]), 0), own)
                seen = k[b : b + 1, begin : own + 1]
                out[b, :, i, begin : own + 1] = plain_weights(
                    q[b : b + 1, i : i + 1], seen, embedding, 0.25, 0.5
                )[0, :, 0]
        return out

    for a, b, what in zip(got, values_and_grads(row_by_row, q, k, embedding, grad, torch.float64), ARGUMENTS):
        assert (a - b).abs().max() < 1e-12, what


def test_logits_far_below_zero_have_finite_gradients(device):
    q, k, embedding = torch.full((1, 3, 1, 4), 30.0), torch.full((1, 3, 1, 4), -30.0), torch.ones(3, 4)
    for dtype in (torch.float32, torch.float64):
        out = values_and_grads(
            lambda *a: weights(*a, 0.5, 1.0)[0],
            q.to(device),
            k.to(device),
            embedding.to(device),
            torch.ones(1, 1, 3, 3, device=device),
            dtype,
        )
        assert all(torch.isfinite(t).all() for t in out)


def test_keys_to_come_have_no_weight_and_rows_sum_to_one(device):
    q, k, embedding, _ = case(50, 60, 8, torch.float32, device)
    out = weights(q, k, embedding, 0.25, 1.0)[0]
    assert (out.triu(11) == 0).all() and torch.allclose(out.sum(-1), torch.ones((), device=device))


def test_gradients_are_the_same_in_every_run(device):
    *given, grad = case(257, 257, 64, torch.float32, device)

    def run():
        return values_and_grads(lambda *a: weights(*a, 0.25, 1.0)[0], *given, grad, torch.float32)

    first = run()
    for _ in range(5):
        assert all(torch.equal(a, b) for a, b in zip(first, run()))


def test_opcheck_and_gradcheck(device):
    q, k, embedding, _ = case(4, 6, 3, torch.float64, device, heads=1, width=4, batch=1)
    leaves = tuple(t.requires_grad_() for t in (q, k, embedding))
    torch.library.opcheck(weights.default, (*leaves, 0.5, 1.0))
    assert torch.autograd.gradcheck(lambda *a: weights(*a, 0.5, 1.0)[0], leaves)


def test_a_nan_stays_in_its_rows(device):
    q, k, embedding, _ = case(40, 40, 8, torch.float32, device, batch=1, heads=1)
    q[0, 7] = float("nan")
    out = weights(q, k, embedding, 0.25, 1.0)[0][0, 0]
    assert out[7, :8].isnan().all() and torch.isfinite(out[:7]).all() and torch.isfinite(out[8:]).all()


def test_second_derivative_is_refused_clearly():
    q, k, v, x = inputs(grad=True)
    out = (
        darope.create("cope", d_model=16, heads=2, head_dim=8, train_length=16)
        .double()
        .attend(q, k, v, x)
        .square()
        .sum()
    )
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(out, q, create_graph=True)
    linear = weights(q, k, torch.ones(3, 8, dtype=q.dtype), 0.5, 1.0)[0].sum()
    with pytest.raises(
        RuntimeError, match="no second derivative"
    ):  # where the gradient that comes in is a constant, too
        torch.autograd.grad(linear, q, create_graph=True)


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda q, k, e: (q[:, :, :1], k, e), "heads"),
        (lambda q, k, e: (k, q[:, :3], e), "last of k's tokens"),
        (lambda q, k, e: (q, k, e[:, :3]), "embedding must be"),
        (lambda q, k, e: (q[0], k, e), "must be \\[B, T, H, d\\]"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(change, words):
    q, k, embedding, _ = case(5, 5, 4, torch.float32, "cpu")
    with pytest.raises(ValueError, match=words):
        weights(*change(q, k, embedding), 0.25, 1.0)


@pytest.mark.parametrize(
    "argument, change, error",
    [
        (0, lambda t: t.double(), TypeError),
        (0, lambda t: t[..., :3], ValueError),
        (1, lambda t: t.bfloat16(), TypeError),
        (1, lambda t: t[:, :, :2], ValueError),
        (2, lambda t: t[..., :2], ValueError),
        (3, lambda t: t[:, :1], ValueError),
    ],
)
def test_a_gradient_called_by_hand_is_checked(argument, change, error):
    q, k, embedding, grad = case(5, 5, 4, torch.float32, "cpu")
    _, content, z, norm = weights(q, k, embedding, 0.25, 1.0)
    tensors = [grad, content, z, norm]
    tensors[argument] = change(tensors[argument])
    with pytest.raises(error):
        torch.ops.darope.cope_weights_backward(*tensors, q, k, embedding, 0.25, 1.0)
