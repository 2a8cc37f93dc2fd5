"""What is added to the embeddings, against the papers' formulas and the packages people already run."""

import math

import darope
import pytest
import torch
from conftest import SIZES
from refusals import create, refuses


def added(module, positions, dtype=torch.float64):
    """To embeddings of zero, [T, D]."""
    zeros = torch.zeros(1, len(positions), module.shape[0], dtype=dtype)
    return module.embed(zeros, positions)[0]


@pytest.mark.parametrize("base", [10000, 20.5])
@pytest.mark.parametrize("width", [1, 2, 7, 16, 384])
def test_sinusoidal_is_the_formula(width, base):
    """PE(m, 2i) = sin(m / base^(2i/D)) and PE(m, 2i + 1) = cos of the same, far beyond L and in between."""
    positions = torch.tensor([0, 1, 2.5, 15, 16, 17, 1000, 1_000_000], dtype=torch.float64)
    module = create("sinusoidal", d_model=width, base=base, scale=1)
    for m, row in zip(positions.tolist(), added(module, positions)):
        for channel, value in enumerate(row.tolist()):
            angle = m / base ** (2 * (channel // 2) / width)
            expected = math.cos(angle) if channel % 2 else math.sin(angle)
            # The power and the angle are rounded, each by some units in the last place.
            assert abs(value - expected) < (1 + angle) * 2e-15, (m, channel)


def test_sinusoidal_is_that_of_transformers():
    """XLM has sines and cosines in turn, in float64 until the end."""
    xlm = pytest.importorskip("transformers.models.xlm.modeling_xlm", reason="needs transformers")
    table = torch.zeros(500, 48)
    xlm.create_sinusoidal_embeddings(500, 48, table)
    ours = added(create("sinusoidal", d_model=48, scale=1), torch.arange(500), torch.float32)
    assert (ours - table).abs().max() < 1.2e-7  # both are rounded to float32


def test_sinusoidal_has_the_scale_of_x_transformers():
    """Which has the sines before the cosines, and float32 angles."""
    package = pytest.importorskip("x_transformers.x_transformers", reason="needs x-transformers")
    theirs = package.ScaledSinusoidalEmbedding(48)(torch.zeros(1, 300, 48))
    ours = added(create("sinusoidal", d_model=48), torch.arange(300), torch.float32)
    assert (ours.unflatten(-1, (24, 2)).transpose(-1, -2).flatten(-2) - theirs).abs().max() < 1e-5


@torch.no_grad()
def test_learned_is_that_of_gpt2():
    """The stock model's first hidden state, from its own tables; positions start at 0 or are given."""
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=31, n_positions=16)
    gpt2 = transformers.GPT2Model(config).eval()
    module = create("learned")
    module.load_state_dict({"table": gpt2.wpe.weight})
    ids = torch.randint(31, (2, 12))
    for positions in (None, torch.arange(4, 16)):
        ids_at = None if positions is None else positions.expand(2, -1)
        stock = gpt2(ids, position_ids=ids_at, output_hidden_states=True).hidden_states[0]
        assert torch.equal(module.embed(gpt2.wte(ids), positions), stock)


def test_learned_beyond_the_training_length_and_between_positions():
    """The last row; and the row below. Rows that are read twice get both gradients, others none."""
    module = create("learned").double()
    positions = torch.tensor([0, 0.5, 2.99, 3, 14, 15, 15.5, 16, 1e6], dtype=torch.float64)
    rows = torch.tensor([0, 0, 2, 3, 14, 15, 15, 15, 15])
    x = torch.randn(2, 9, 16, dtype=torch.float64, requires_grad=True)
    plain = torch.nn.Embedding(16, 16, _weight=module.table.detach().clone())
    ours, theirs = module.embed(x, positions), x + plain(rows)
    assert torch.equal(ours, theirs)
    upstream = torch.randn_like(ours)
    gradients = torch.autograd.grad(ours, [x, module.table], upstream)
    for a, b in zip(gradients, torch.autograd.grad(theirs, [x, plain.weight], upstream)):
        assert (a - b).abs().max() < 1e-14
    assert not gradients[1][[1, *range(4, 14)]].any()


def test_learned_starts_as_nanogpts():
    table = create("learned", d_model=64, train_length=512).table
    assert table.shape == (512, 64)
    assert abs(table.mean().item()) < 5e-4 and table.std().item() == pytest.approx(0.02, rel=0.03)


@pytest.mark.parametrize("name", ["sinusoidal", "learned"])
def test_only_embed_acts(name):
    """Called as those that turn q and k, it would do nothing unseen: it says what to call."""
    module, q = create(name), torch.randn(2, 5, 2, 8)
    assert module.embeds and not module.rotary
    refuses(TypeError, [name, "token embeddings", "call embed(x)"], lambda: module(q, q))


@pytest.mark.parametrize("name", ["rope", "sinusoidal", "learned"])
def test_bad_arguments_of_embed(name):
    embed, x = create(name).embed, torch.randn(2, 5, 16)
    refuses(TypeError, ["x must be a tensor", "list"], lambda: embed([1.0]))
    refuses(TypeError, ["x", "floating point", "Long"], lambda: embed(x.long()))
    for shape in ((2, 5, 15), (5, 16), ()):
        refuses(ValueError, ["x must be [B, T, 16]", list(shape)], lambda: embed(torch.zeros(shape)))
    refuses(ValueError, ["positions must be [T] or [B, T]", "[4]"], lambda: embed(x, torch.arange(4)))
    refuses(ValueError, ["positions", "negative", "-4"], lambda: embed(x, -torch.arange(5)))
    refuses(ValueError, ["positions", "finite"], lambda: embed(x, torch.full((5,), math.nan)))
    refuses(TypeError, ["cache", "new_cache", "int"], lambda: embed(x, cache=3))


def test_parameters_beside_embeddings_of_another_type():
    embed, x = create("learned").embed, torch.randn(2, 5, 16)
    assert embed(x.bfloat16()).dtype == torch.bfloat16
    refuses(TypeError, ["parameter table", "Float", "Double"], lambda: embed(x.double()))
    refuses(ValueError, ["parameter table", "meta"], lambda: embed(x.to("meta")))


@pytest.mark.parametrize("scale", [0, -1, math.inf, math.nan])
def test_bad_scales(scale):
    refuses(ValueError, ["'scale'", "above 0", f"got {scale:g}"], lambda: create("sinusoidal", scale=scale))


@pytest.mark.parametrize("name", ["sinusoidal", "learned"])
def test_transforms_of_embed_are_refused(name):
    embed, x = darope.create(name, **SIZES).embed, torch.randn(1, 5, 16)
    for transformed in (
        lambda: torch.func.vmap(embed)(x[None]),
        lambda: torch.func.jvp(embed, (x,), (x,)),
        lambda: torch.func.grad(lambda x: embed(x).sum())(x),
    ):
        with pytest.raises(NotImplementedError, match="darope::embed cannot be called under torch.func"):
            transformed()
    with torch.autograd.forward_ad.dual_level():
        with pytest.raises(NotImplementedError, match="no derivative forward"):
            embed(torch.autograd.forward_ad.make_dual(x, x))
