"""attend in two steps, encode and attend_encoded, and what padding may be."""

import darope
import pytest
import torch
from conftest import NAMES, SIZES, inputs, make


@pytest.mark.parametrize("name", NAMES)
def test_two_steps_are_attend(name):
    module, (q, k, v, x) = make(name), inputs(tokens=20)
    for documents in (None, torch.tensor([[0] * 7 + [1] * 13, [3] * 20])):
        whole = module.attend(q, k, v, x, documents=documents)
        encoded = module.encode(q, k, x)
        assert torch.equal(whole, module.attend_encoded(*encoded, v, documents=documents))
    last = module.attend_encoded(encoded[0][:, -3:], encoded[1], v)
    assert torch.allclose(last, module.attend(q, k, v, x)[:, -3:], atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64])
@pytest.mark.parametrize("name", NAMES)
def test_a_padded_sequence_is_the_sequence(name, dtype):
    """Positions are those of the tokens, and what stands in the padding is seen by no token."""
    module, tokens, before, behind = make(name), 9, 4, 3
    q, k, v, x = inputs(tokens=tokens, grad=True)

    def padded(t):
        noise = torch.randn(len(t), before + behind, *t.shape[2:], dtype=t.dtype)
        return torch.cat([noise[:, :before], t, noise[:, before:]], 1)

    mask = torch.zeros(2, before + tokens + behind, dtype=dtype)
    mask[:, before : before + tokens] = 1
    positions = (mask.long().cumsum(1) - 1).clamp(min=0)
    encoded = module.encode(padded(q), padded(k), padded(x), positions)
    out = module.attend_encoded(*encoded, padded(v), mask, positions)[:, before : before + tokens]
    alone = module.attend(q, k, v, x)
    assert torch.allclose(out, alone, atol=1e-12)
    inner = torch.randn(alone.shape, dtype=alone.dtype)
    for a, b in zip(*(torch.autograd.grad(each, (q, k, v), inner) for each in (out, alone))):
        assert torch.allclose(a, b, atol=1e-11)


def test_padding_and_documents_together():
    module, (q, k, v, x) = make("cope"), inputs(tokens=12)
    mask = torch.ones(2, 12, dtype=torch.bool)
    mask[:, :3] = False
    documents = torch.tensor([[0] * 6 + [1] * 6] * 2)
    out = module.attend_encoded(*module.encode(q, k, x), v, mask, documents=documents)
    for first, last in ((3, 6), (6, 12)):
        part = module.attend(*(t[:, first:last] for t in (q, k, v, x)))
        assert torch.allclose(out[:, first:last], part, atol=1e-12)


def test_base_name_is_the_plain_name():
    assert [darope.base_name(name) for name in ("rope", "rope-10k", "rope:base=7", "yarn:factor=2")] == [
        "rope",
        "rope",
        "rope",
        "yarn",
    ]
    assert darope.create("rope-10k", **SIZES).base_name == "rope"
    with pytest.raises(ValueError, match="did you mean 'darope'"):
        darope.base_name("dorape")


HOLE = torch.tensor([[1, 1, 1, 1, 1], [1, 0, 1, 1, 1]])
BAD = {
    "a hole": (HOLE, ValueError, "hole in row 1"),
    "a row too few": (HOLE[:1], ValueError, r"mask must be \[B, T\] = \[2, 5\]"),
    "numbers to add": (torch.zeros(2, 5), ValueError, "true for tokens and false for padding"),
    "one for each pair": (torch.ones(2, 1, 5, 5, dtype=torch.bool), ValueError, r"mask must be \[B, T\]"),
    "a list": ([[1] * 5] * 2, TypeError, "mask must be a tensor"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_mask_gets_one_sentence(what):
    mask, kind, sentence = BAD[what]
    module, (q, k, v, x) = make("darope"), inputs(tokens=5)
    with pytest.raises(kind, match=sentence):
        module.attend_encoded(*module.encode(q, k, x), v, mask)
