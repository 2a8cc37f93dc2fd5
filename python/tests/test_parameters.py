"""What each encoding of this repository learns: shapes, and the spread of what starts at random."""

import darope
import pytest
import torch
from conftest import LEARNED, SIZES


def test_parameter_shapes():
    shapes = {
        name: {
            n: tuple(p.shape)
            for n, p in darope.create(
                name, d_model=12, heads=4, kv_heads=2, head_dim=8, train_length=16, base=20
            ).named_parameters()
        }
        for name in LEARNED
    }
    assert shapes["darope"] == {"w": (2, 12), "alpha": (2,)}
    assert shapes["darope-no-prior"] == shapes["darope-fixed-alpha"] == {"w": (2, 12)}
    assert shapes["darope-per-band"] == {"w": (2, 12), "alpha": (2, 2)}
    assert shapes["darope-dynamic"] == {"w": (2, 12), "u": (2, 12), "a": (2,)}
    assert tuple(darope.create("pope", **SIZES).delta.shape) == (2, 8)
    assert tuple(darope.create("cope", **SIZES, npos_max=7).embedding.shape) == (7, 8)
    assert tuple(darope.create("t5", **SIZES).table.shape) == (32, 2)
    assert tuple(darope.create("kerple", **SIZES).r1.shape) == (2,)
    assert tuple(darope.create("fire", **SIZES).w2.shape) == (2, 32)
    table = darope.create("t5", d_model=64, heads=64, head_dim=8, train_length=16).table
    assert table.std().item() == pytest.approx(1 / 8, rel=0.05)
    delta = darope.create(
        "pope", d_model=64, heads=64, head_dim=64, train_length=16, delta_init="uniform"
    ).delta
    assert -2 * torch.pi <= delta.min() < -6.2 and -0.05 < delta.max() <= 0
