"""RoPE, YaRN, PoPE and CoPE against the packages people already run."""

import darope
import pytest
import torch
from conftest import inputs

SHAPES = [(64, 4096, 500000), (128, 4096, 10000), (32, 256, 10000), (8, 16, 20)]  # head width, L, base


def close(got, expected, tolerance):
    """tolerance: a number, or a tensor that broadcasts over the elements."""
    assert got.shape == expected.shape
    excess = ((got.double() - expected.double()).abs() - tolerance).max().item()
    assert excess <= 0, f"beyond the tolerance by {excess:.3g}"


def hugging_face(head_dim, length, base, q, k, positions, **scaling):
    """q and k [B, T, H, d] as transformers' Llama turns them."""
    llama = pytest.importorskip("transformers.models.llama.modeling_llama", reason="needs transformers")
    heads = q.shape[2]
    rope = dict(rope_type="default", rope_theta=base) | scaling
    config = llama.LlamaConfig(
        hidden_size=heads * head_dim,
        num_attention_heads=heads,
        head_dim=head_dim,
        max_position_embeddings=length,
        rope_parameters=rope,
    )
    cosine, sine = llama.LlamaRotaryEmbedding(config)(q, positions.expand(len(q), -1))
    return llama.apply_rotary_pos_emb(q, k, cosine, sine, unsqueeze_dim=2)


def turning_inputs(head_dim, length, kv_heads):
    """q, k and positions up to four times the training length, and what float32 angles cost there:
    transformers rounds theta and the angle.
    """
    positions = torch.tensor([0, 1, length // 2, length - 1, length, length + 5, 4 * length - 1])
    q, k, _, _ = inputs(
        tokens=len(positions), heads=4, kv_heads=kv_heads, head_dim=head_dim, dtype=torch.float32
    )
    tolerance = 4 * (1e-6 + 2e-7 * positions.double())[:, None, None]  # no element of q and k is beyond 4
    assert q.abs().max() < 4 and k.abs().max() < 4
    return q, k, positions, tolerance


@pytest.mark.parametrize("kv_heads", [4, 2])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rope_is_that_of_transformers(shape, kv_heads):
    head_dim, length, base = shape
    q, k, positions, tolerance = turning_inputs(head_dim, length, kv_heads)
    module = darope.create(
        "rope",
        d_model=16,
        heads=4,
        kv_heads=kv_heads,
        head_dim=head_dim,
        train_length=length,
        base=base,
        layout="half",
    )
    for got, expected in zip(
        module(q, k, None, positions), hugging_face(head_dim, length, base, q, k, positions)
    ):
        close(got, expected, tolerance)


@pytest.mark.parametrize("factor", [1, 2.5, 4, 16])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_yarn_is_that_of_transformers(shape, factor):
    head_dim, length, base = shape
    q, k, positions, tolerance = turning_inputs(head_dim, length, 4)
    module = darope.create(
        "yarn",
        d_model=16,
        heads=4,
        head_dim=head_dim,
        train_length=length,
        base=base,
        layout="half",
        factor=factor,
    )
    expected = hugging_face(
        head_dim,
        length,
        base,
        q,
        k,
        positions,
        rope_type="yarn",
        factor=float(factor),
        original_max_position_embeddings=length,
    )
    for ours, theirs in zip(module(q, k, None, positions), expected):
        close(ours, theirs, 1.3 * tolerance)  # the temperature multiplies the error, too


@pytest.mark.parametrize("delta", ["zero", "uniform"])
@pytest.mark.parametrize("shape", [(8, 10000), (32, 10000), (64, 500)], ids=str)
def test_pope_is_that_of_pope_pytorch(shape, delta):
    head_dim, base = shape
    PoPE = pytest.importorskip("PoPE_pytorch.pope", reason="needs PoPE-pytorch").PoPE
    attention = pytest.importorskip(
        "PoPE_pytorch.attention", reason="needs PoPE-pytorch"
    ).flash_attn_with_pope
    positions = torch.tensor([0, 1, 2, 9, 15, 16, 40, 100], dtype=torch.float64)  # L is 16
    q, k, v, _ = inputs(tokens=len(positions), heads=3, head_dim=head_dim, grad=True)
    ours = darope.create(
        "pope", d_model=16, heads=3, head_dim=head_dim, train_length=16, base=base, delta_init=delta
    ).double()
    theirs = PoPE(
        head_dim,
        heads=3,
        theta=base,
        inv_freqs=base ** -(torch.arange(head_dim, dtype=torch.float64) / head_dim),
    ).double()
    rounded = PoPE(head_dim, heads=3, theta=base)  # its own frequencies are float32
    assert torch.allclose(rounded.inv_freqs.double(), theirs.inv_freqs, rtol=1e-6, atol=0)
    with torch.no_grad():
        theirs.bias.copy_(ours.delta)
    got = ours.attend(q, k, v, None, positions)
    expected = attention(
        q, k, v, pos_emb=theirs(positions), causal=True, fused=False, head_dimension_at_first=False
    )
    close(got, expected, 1e-12)
    upstream = torch.randn_like(got)
    gradients = torch.autograd.grad(got, [q, k, v, ours.delta], upstream)
    for a, b in zip(gradients, torch.autograd.grad(expected, [q, k, v, theirs.bias], upstream)):
        close(a, b, 1e-11)


@pytest.mark.parametrize("shape", [(8, 4, 7), (16, 64, 40), (32, 16, 33)], ids=str)
def test_cope_is_that_of_x_transformers(shape):
    head_dim, npos, tokens = shape
    CoPE = pytest.importorskip("x_transformers.x_transformers", reason="needs x-transformers").CoPE
    Attend = pytest.importorskip("x_transformers.attend", reason="needs x-transformers").Attend
    q, k, v, _ = inputs(tokens=tokens, heads=3, head_dim=head_dim, grad=True)
    ours = darope.create(
        "cope", d_model=16, heads=3, head_dim=head_dim, train_length=16, npos_max=npos, scaling="listing"
    ).double()
    theirs = CoPE(head_dim, heads=3, max_pos=npos).double()
    with torch.no_grad():
        theirs.pos_emb.copy_(ours.embedding.normal_())
    got = ours.attend(q, k, v)
    attention = Attend(causal=True, heads=3, scale=head_dim**-0.5, cope=theirs)
    expected = attention(*(t.transpose(1, 2) for t in (q, k, v)))[0].transpose(1, 2)
    close(got, expected, 1e-5)  # its softmax is in float32
    upstream = torch.randn_like(got)
    gradients = torch.autograd.grad(got, [q, k, v, ours.embedding], upstream)
    for a, b in zip(gradients, torch.autograd.grad(expected, [q, k, v, theirs.pos_emb], upstream)):
        close(a, b, 1e-4)
