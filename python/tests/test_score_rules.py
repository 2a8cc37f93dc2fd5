"""Encodings that change scores by a bias or a window, against their papers and the packages people run."""

import darope
import pytest
import torch
from conftest import inputs

HEADS = 3


def make(name, tokens, heads=HEADS, **options):
    """Heads so wide that values can say which key they are of."""
    module = darope.create(
        name, d_model=16, heads=heads, head_dim=tokens + tokens % 2, train_length=16, **options
    )
    return module.double()


def weights(module, tokens, **arguments):
    """What attention gives each key where q and k say nothing: the softmax of the bias alone, [H, T, T]."""
    _, heads, _, width, _ = module.shape
    nothing = torch.zeros(1, tokens, heads, width, dtype=torch.float64)
    values = torch.eye(tokens, width, dtype=torch.float64)[None, :, None].expand(1, -1, heads, -1)
    return module.attend(nothing, nothing, values, **arguments)[0, ..., :tokens].transpose(0, 1)


def causal(bias):
    """The softmax over keys up to the query's own, of a bias [H, T, T]."""
    return bias.double().masked_fill(torch.ones_like(bias, dtype=torch.bool).triu(1), -torch.inf).softmax(-1)


def distances(tokens):
    index = torch.arange(tokens, dtype=torch.float64)
    return index[:, None] - index


@pytest.mark.parametrize("heads", [1, 2, 8, 12, 16, 20])
def test_alibi_has_the_published_slopes(heads, vectors):
    slopes = vectors["score_rules"]["alibi_slopes"][str(heads)]
    expected = -torch.tensor(slopes, dtype=torch.float64)[:, None, None] * distances(30)
    assert (weights(make("alibi", 30, heads), 30) - causal(expected)).abs().max() < 1e-14


@pytest.mark.parametrize("heads", [2, 3, 8])
def test_alibi_is_that_of_x_transformers(heads):
    theirs = pytest.importorskip("x_transformers.x_transformers", reason="needs x-transformers")
    bias = theirs.AlibiPositionalBias(heads)(40, 40)
    got = weights(make("alibi", 40, heads), 40)
    assert (got - causal(bias)).abs().max() < 1e-6  # its slopes are float32
    both = weights(make("alibi", 40, heads), 40, causal=False)
    assert (both - bias.double().softmax(-1)).abs().max() < 1e-6


@pytest.mark.parametrize("sight", [True, False], ids=["causal", "both sides"])
def test_t5_is_that_of_x_transformers(sight):
    """With its gradient; 300 tokens are more than any bucket but the last holds."""
    theirs = pytest.importorskip("x_transformers.x_transformers", reason="needs x-transformers")
    tokens = 300
    other = theirs.RelativePositionBias(scale=1, causal=sight, heads=HEADS).double()
    ours = make("t5", tokens)
    with torch.no_grad():
        ours.table.copy_(other.relative_attention_bias.weight)
    bias = other(tokens, tokens)
    got, expected = weights(ours, tokens, causal=sight), causal(bias) if sight else bias.softmax(-1)
    assert (got - expected).abs().max() < 1e-14
    upstream = torch.randn(got.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    (a,) = torch.autograd.grad(got, ours.table, upstream)
    (b,) = torch.autograd.grad(expected, other.relative_attention_bias.weight, upstream)
    assert (a - b).abs().max() < 1e-12


def test_t5_buckets_are_the_published_ones(vectors):
    case = vectors["score_rules"]["t5_causal_buckets_32_128"]
    tokens = max(case["distance"]) + 1
    module = darope.create("t5", d_model=16, heads=1, head_dim=2, train_length=16).double()
    with torch.no_grad():
        module.table.copy_(torch.arange(32.0)[:, None])
    q = torch.zeros(1, 1, 1, 2, dtype=torch.float64)
    k = torch.zeros(1, tokens, 1, 2, dtype=torch.float64)
    for distance, bucket in zip(case["distance"], case["bucket"]):
        # a query that sees its own key and one more, whose share tells the difference of their biases
        positions = torch.tensor([0.0, distance], dtype=torch.float64)
        v = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64).view(1, 2, 1, 2)
        cache = module.new_cache(1, 2)
        module.attend(q, k[:, :1], v[:, :1], positions=positions[:1], cache=cache)
        far, own = module.attend(q, k[:, :1], v[:, 1:], positions=positions[1:], cache=cache).flatten()
        assert torch.log(far / own).item() == pytest.approx(bucket, abs=1e-9), distance


def test_kerple_has_the_published_values(vectors):
    case = vectors["score_rules"]["kerple"]
    module = make("kerple", 18, heads=1)
    with torch.no_grad():
        module.r1.fill_(case["r1"])
        module.r2.fill_(case["r2"])
    got = weights(module, 18)[0, -1]
    for distance, value in zip(case["distance"], case["log"]):
        assert torch.log(got[17 - distance] / got[17]).item() == pytest.approx(value, abs=1e-12)


def test_kerple_starts_and_stays_where_its_paper_has_it():
    module = darope.create("kerple", d_model=16, heads=4096, head_dim=2, train_length=16)
    least = torch.tensor(0.01)
    assert module.r1.min() == least and 1.9 < module.r1.max().item() <= 2
    assert module.r1.mean().item() == pytest.approx(1, abs=0.05)
    assert module.r2.mean().item() == pytest.approx(0.5, abs=0.03)
    with torch.no_grad():
        module.r2.fill_(-3)
        module.r1.fill_(7)
    module.project_parameters()
    assert (module.r2 == least).all() and (module.r1 == 7).all()


def test_fire_has_the_published_values(vectors):
    case = vectors["score_rules"]["fire"]
    hidden = len(case["W1"])
    module = darope.create("fire", d_model=16, heads=2, head_dim=22, train_length=16).double()
    with torch.no_grad():
        module.c.fill_(case["c"])
        module.threshold.fill_(case["L"] / 512)
        for parameter in (module.w1, module.b1, module.w2):
            parameter.zero_()  # the published network is narrower
        module.w1[:hidden, 0] = torch.tensor(case["W1"], dtype=torch.float64)
        module.b1[:hidden] = torch.tensor(case["b1"], dtype=torch.float64)
        module.w2[:, :hidden] = torch.tensor(case["W2"], dtype=torch.float64)
        module.b2.copy_(torch.tensor(case["b2"], dtype=torch.float64))
    got = weights(module, 22).log()
    bias = {(each["i"], each["j"]): torch.tensor(each["bias"]) for each in case["cases"]}
    difference = got[:, 21, 0] - got[:, 21, 20]
    assert torch.allclose(difference.float(), bias[21, 0] - bias[21, 20], atol=1e-6)
    # at distance 0 the network reads 0 wherever the query is, so the diagonal gives each row's own constant
    for (i, j), value in bias.items():
        assert torch.allclose((got[:, i, j] - got[:, i, i]).float(), value - bias[3, 3], atol=1e-6), (i, j)


def test_fire_is_a_function_of_the_distance_before_its_threshold():
    module = make("fire", 20)
    got = weights(module, 20).log()
    for shift in (1, 5):
        a = got[:, 19, 10:20] - got[:, 19, 19:20]
        b = got[:, 19 - shift, 10 - shift : 20 - shift] - got[:, 19 - shift, 19 - shift : 20 - shift]
        assert (a - b).abs().max() < 1e-12


@pytest.mark.parametrize("window", [1, 3, 8, 40])
@pytest.mark.parametrize("sight", [True, False], ids=["causal", "both sides"])
def test_a_window_is_nope_of_those_near(window, sight):
    q, k, v, _ = inputs(tokens=21)
    module = darope.create("nope-window", d_model=16, heads=2, head_dim=8, train_length=16, window=window)
    distance = distances(21)
    seen = ((distance >= 0) | (not sight)) & (distance.abs() < window)
    expected = torch.nn.functional.scaled_dot_product_attention(
        *(t.transpose(1, 2) for t in (q, k, v)), attn_mask=seen
    ).transpose(1, 2)
    assert (module.attend(q, k, v, causal=sight) - expected).abs().max() < 1e-13


def test_a_window_as_long_as_the_text_is_nope_bit_for_bit():
    q, k, v, _ = inputs(tokens=33, dtype=torch.float32)
    sizes = dict(d_model=16, heads=2, head_dim=8, train_length=16)
    plain = darope.create("nope", **sizes).attend(q, k, v)
    assert torch.equal(darope.create("nope-window:window=33", **sizes).attend(q, k, v), plain)
    assert not torch.equal(darope.create("nope-window:window=32", **sizes).attend(q, k, v), plain)


@pytest.mark.parametrize("name", ["alibi", "t5", "kerple"])
def test_positions_given_or_not_are_the_same_bias(name):
    """One row for all queries, or every pair by itself; scaled positions are other distances."""
    module = make(name, 24)
    implied, given = weights(module, 24), weights(module, 24, positions=torch.arange(24))
    assert (implied - given).abs().max() < 1e-14
    assert (implied - weights(module, 24, positions=3 * torch.arange(24))).abs().max() > 1e-3


def test_fire_needs_a_past():
    q, k, v, x = inputs()
    with pytest.raises(ValueError, match="causal=True"):
        darope.create("fire", d_model=16, heads=2, head_dim=8, train_length=16).double().attend(
            q, k, v, x, causal=False
        )


@pytest.mark.parametrize("window", [0, -4])
def test_a_window_holds_the_query_at_least(window):
    with pytest.raises(ValueError, match=f"'window' must be at least 1.*got {window}"):
        darope.create("nope-window", d_model=16, heads=2, head_dim=8, train_length=16, window=window)
