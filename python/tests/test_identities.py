"""Relations between the encodings that hold exactly, checked in float64."""

import darope
import torch
from conftest import inputs, make

SIZES = dict(d_model=16, heads=2, head_dim=8, train_length=16, base=20)  # two fast bands, two slow


def create(name, **options):
    return darope.create(name, **{**SIZES, **options}).double()


def scores(module, tokens=12, positions=None, seed=0):
    q, k, _, x = inputs(tokens=tokens, seed=seed)
    q, k = module(q, k, x, positions)
    return torch.einsum("bthd,bshd->bhts", q, k)


def with_values(module, **values):
    with torch.no_grad():
        for name, value in values.items():
            getattr(module, name).fill_(value) if not torch.is_tensor(value) else getattr(module, name).copy_(
                value
            )
    return module


def same(a, b, tolerance=1e-11):
    return (a - b).abs().max().item() < tolerance


def test_darope_without_content_is_rope_inside_the_window():
    module = with_values(create("darope"), w=0, alpha=1)
    assert same(scores(module), scores(create("rope")))
    _, _, _, x = inputs(tokens=12)
    assert same(module.coordinate(x), torch.arange(12.0)[None, :, None] + 0.5)
    beyond = torch.arange(12) + 10  # crosses L = 16, where the prior saturates
    assert not same(scores(module, positions=beyond), scores(create("rope"), positions=beyond), 1e-3)


def test_darope_without_content_and_prior_is_hope_everywhere():
    far = torch.arange(12) * 7
    assert same(
        scores(with_values(create("darope"), w=0, alpha=0), positions=far),
        scores(create("hope"), positions=far),
    )
    assert same(
        scores(with_values(create("darope-no-prior"), w=0), positions=far),
        scores(create("hope"), positions=far),
    )


def test_without_slow_bands_everything_is_rope():
    for name in (
        "hope",
        "darope",
        "darope-no-prior",
        "darope-fixed-alpha",
        "darope-per-band",
        "darope-dynamic",
    ):
        assert same(scores(create(name, slow_bands=0)), scores(create("rope"))), name


def test_hope_without_fast_bands_is_nope():
    assert same(scores(create("hope", train_length=1)), scores(create("nope")))
    assert same(scores(create("hope", train_length=10_000)), scores(create("rope")))


def test_the_ablations_start_as_one_function():
    w = 0.1 * torch.randn(2, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    expected = scores(with_values(create("darope"), w=w))
    for name in ("darope-fixed-alpha", "darope-per-band", "darope-dynamic"):
        assert same(scores(with_values(create(name), w=w)), expected), name


def test_yarn():
    assert torch.equal(scores(create("yarn", factor=1)), scores(create("rope")))
    on, off = scores(create("yarn", factor=4)), scores(create("yarn", factor=4, temperature="off"))
    assert same(on, off * (0.1 * torch.log(torch.tensor(4.0, dtype=torch.float64)) + 1) ** 2)


def test_scores_depend_on_offsets_alone():
    near, far = torch.arange(12), torch.arange(12) + 1000
    for name in ("rope", "hope", "yarn", "nope"):
        assert same(scores(create(name), positions=near), scores(create(name), positions=far)), name
    q, k, v, x = inputs(tokens=12)
    pope = make("pope")
    assert same(pope.attend(q, k, v, x, near), pope.attend(q, k, v, x, far))


def test_rotations_keep_lengths_and_the_origin():
    q, k, _, x = inputs(tokens=12)
    turned, _ = create("rope")(q, k, x)
    assert same(turned.unflatten(-1, (-1, 2)).norm(dim=-1), q.unflatten(-1, (-1, 2)).norm(dim=-1))
    assert torch.equal(turned[:, 0], q[:, 0])


def test_pope_phase_is_periodic():
    q, k, v, x = inputs()
    pope = create("pope", base=100)
    a, b = (
        with_values(pope, delta=-1.0).attend(q, k, v, x),
        with_values(pope, delta=-1.0 - 2 * torch.pi).attend(q, k, v, x),
    )
    assert same(a, b)


def test_cope():
    q, k, v, x = inputs(tokens=12)
    embedding = torch.randn(64, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(6))
    nope = create("nope").attend(q, k, v, x)
    assert same(create("cope").attend(q, k, v, x), nope)  # starts at zero
    scaled = with_values(create("cope", scaling="scaled"), embedding=embedding).attend(q, k, v, x)
    listing = with_values(create("cope"), embedding=embedding / 8**0.5).attend(q, k, v, x)
    assert same(scaled, listing)
    # Gates forced open by huge logits count every key, the query's own included: a relative embedding of the
    # distance plus one.
    big = torch.full_like(q, 30.0)
    module = with_values(create("cope", npos_max=5), embedding=embedding[:5])
    distance = (torch.arange(12)[:, None] - torch.arange(12)[None, :] + 1).clamp(0, 4)
    logits = (30.0 * embedding[:5].sum(-1))[distance].masked_fill(
        torch.ones(12, 12).triu(1).bool(), float("-inf")
    )  # q.k is the same everywhere
    expected = torch.einsum("ts,bshd->bthd", logits.softmax(-1), v)
    assert same(module.attend(big, big, v, x), expected)


def test_equal_tokens_get_equal_coordinates():
    module = create("darope-no-prior")
    x = torch.randn(1, 1, 16, dtype=torch.float64).expand(1, 6, 16)
    coordinate = module.coordinate(x, torch.arange(6) * 100)
    assert (
        torch.equal(coordinate, coordinate[:, :1].expand_as(coordinate))
        and (coordinate >= 0).all()
        and (coordinate <= 16).all()
    )


def test_projection_brings_pope_back_into_its_range():
    pope = with_values(create("pope"), delta=0.5)
    pope.project_parameters()
    assert (pope.delta == 0).all()
    with_values(pope, delta=-7.0).project_parameters()
    assert torch.allclose(pope.delta, torch.tensor(-2 * torch.pi, dtype=torch.float64))


def test_gradients_without_slow_bands_are_those_of_rope(device):
    def gradients(name, **options):
        tensors = [t.requires_grad_() for t in inputs(tokens=12, device=device)]
        create(name, **options).to(device).attend(*tensors).square().sum().backward()
        return [t.grad for t in tensors[:3]]

    for name in ("darope", "darope-no-prior", "darope-fixed-alpha", "darope-per-band", "darope-dynamic"):
        for mine, theirs in zip(gradients(name, slow_bands=0), gradients("rope")):
            assert same(mine, theirs), name
