"""What every encoding must do. The suite runs over the registry: a new encoding is tested by being listed."""

import concurrent.futures

import darope
import pytest
import torch
from conftest import LEARNED, NAMES, ROTARY, SIZES, attend, inputs, make

DTYPES = [torch.float64, torch.float32, torch.bfloat16]
GROUPED = {str(row["name"]) for row in darope.encodings() if row["grouped_heads"]}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_shape_dtype_and_finiteness(name, dtype, device):
    q, k, v, x = inputs(dtype=dtype, device=device)
    out = attend(make(name, dtype, device), q, k, v, x)
    assert out.shape == q.shape and out.dtype == dtype and torch.isfinite(out).all()


@pytest.mark.parametrize("name", NAMES)
def test_low_precision_follows_float64(name, device):
    q, k, v, x = inputs(tokens=40, device=device)
    exact = attend(make(name, device=device), q, k, v, x)
    for dtype, tolerance in ((torch.float32, 2e-5), (torch.bfloat16, 6e-2)):
        got = attend(make(name, dtype, device), *(t.to(dtype) for t in (q, k, v, x)))
        assert (got.double() - exact).abs().max() < tolerance


@pytest.mark.parametrize("length", [10, 16, 24], ids=["below L", "at L", "beyond L"])
@pytest.mark.parametrize("name", NAMES)
def test_decoding_with_a_cache_equals_one_pass(name, length, device):
    module = make(name, device=device)
    q, k, v, x = inputs(tokens=length, device=device)
    whole = attend(module, q, k, v, x)
    for chunks in ([1] * length, [length - 1, 1], [3, length - 3]):
        cache, parts, start = module.new_cache(2, length), [], 0
        for size in chunks:
            part = slice(start, start + size)
            parts.append(attend(module, q[:, part], k[:, part], v[:, part], x[:, part], cache=cache))
            start += size
        assert cache.length == length
        assert (torch.cat(parts, 1) - whole).abs().max() < 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_decoding_leaves_the_choice_of_attention_kernels_as_it_was(name, device):
    """A cache that grows is kept from cuDNN, by a switch of the whole process: set back, also where
    threads decode side by side.
    """
    q, k, v, x = inputs(tokens=12, head_dim=16, d_model=16, dtype=torch.bfloat16, device=device)
    module = darope.create(name, d_model=16, heads=2, head_dim=16, train_length=16).to(device, torch.bfloat16)

    def decode():
        cache = module.new_cache(2, 12)
        with torch.no_grad():
            return torch.cat(
                [
                    attend(
                        module,
                        q[:, i : i + 1],
                        k[:, i : i + 1],
                        v[:, i : i + 1],
                        x[:, i : i + 1],
                        cache=cache,
                    )
                    for i in range(12)
                ],
                1,
            )

    before, alone = torch.backends.cuda.cudnn_sdp_enabled(), decode()
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        together = [each.result() for each in [threads.submit(decode) for _ in range(8)]]
    assert torch.backends.cuda.cudnn_sdp_enabled() == before
    assert all(torch.equal(alone, each) for each in together)


@pytest.mark.parametrize("name", NAMES)
def test_the_future_does_not_reach_the_past(name, device):
    module = make(name, device=device)
    q, k, v, x = inputs(tokens=20, device=device)
    before = attend(module, q, k, v, x)
    for t in (0, 7, 19):
        changed = [tensor.clone() for tensor in (q, k, v, x)]
        for tensor in changed:
            tensor[:, t] += 1
        after = attend(module, *changed)
        assert torch.equal(before[:, :t], after[:, :t])
        assert not torch.equal(before[:, t:], after[:, t:])


@pytest.mark.parametrize("name", NAMES)
def test_positions_by_row_and_by_batch(name, device):
    module = make(name, device=device)
    q, k, v, x = inputs(tokens=6, device=device)
    packed = torch.tensor(
        [[0, 1, 2, 0, 1, 2], [4, 5, 6, 7, 40, 41]], device=device
    )  # two documents; a jump beyond L
    both = attend(module, q, k, v, x, packed)
    for row in range(2):
        alone = attend(module, *(t[row : row + 1] for t in (q, k, v, x)), packed[row])
        assert (both[row : row + 1] - alone).abs().max() < 1e-12
    default = attend(module, q, k, v, x)
    for positions in (
        torch.arange(6),
        torch.arange(6, dtype=torch.int32),
        torch.arange(6, dtype=torch.float32),
    ):
        assert torch.equal(default, attend(module, q, k, v, x, positions.to(device)))


@pytest.mark.parametrize("name", NAMES)
def test_embeddings_get_positions_where_an_encoding_embeds_and_nowhere_else(name, device):
    """The same vector for every token of a position, another at every other up to L; q and k stay."""
    module, (q, k, _, x) = make(name, device=device), inputs(tokens=16, device=device)
    added = module.embed(x) - x
    if not module.embeds:
        assert not added.any()
        return
    assert all(torch.equal(*pair) for pair in zip(module.encode(q, k, x), (q, k)))
    assert (added[0] - added[1]).abs().max() < 1e-14  # x differs, and so does its rounding
    assert torch.pdist(added[0]).min() > 1e-3
    backwards = module.embed(x, torch.arange(15, -1, -1, device=device)) - x
    assert (backwards - added.flip(1)).abs().max() < 1e-14


DOCUMENTS = [[5, 5, 5, 5, 2, 2, 2, 5, 5, 9, 9, 9], [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]]  # ids come back


def packed(device):
    """Documents [2, 12], and positions that begin at 0 with each of them."""
    starts = [
        max(j for j in range(i + 1) if j == 0 or row[j] != row[j - 1]) for row in DOCUMENTS for i in range(12)
    ]
    positions = torch.arange(12).repeat(2) - torch.tensor(starts)
    return torch.tensor(DOCUMENTS, device=device), positions.view(2, 12).to(device)


def one_by_one(module, q, k, v, x):
    """Every document of DOCUMENTS alone, one behind the other."""
    rows = []
    for row, ids in enumerate(DOCUMENTS):
        edges = [0, *(i for i in range(1, 12) if ids[i] != ids[i - 1]), 12]
        parts = [slice(a, b) for a, b in zip(edges, edges[1:])]
        rows.append(
            torch.cat([attend(module, *(t[row : row + 1, part] for t in (q, k, v, x))) for part in parts], 1)
        )
    return torch.cat(rows)


@pytest.mark.parametrize("kv_heads", [4, 2])
@pytest.mark.parametrize("name", NAMES)
def test_packed_documents_are_the_documents_alone(name, kv_heads, device):
    """With all gradients: nothing reaches from one document into another."""
    if kv_heads < 4 and name not in GROUPED:
        pytest.skip("needs as many key as query heads")
    module = make(name, device=device, heads=4, kv_heads=kv_heads)
    q, k, v, x = inputs(tokens=12, heads=4, kv_heads=kv_heads, device=device, grad=True)
    documents, positions = packed(device)
    together = attend(module, q, k, v, x, positions, documents=documents)
    alone = one_by_one(module, q, k, v, x)
    assert (together - alone).abs().max() < 1e-12
    leaves, upstream = [q, k, v, *module.parameters()], torch.randn_like(together)
    for a, b in zip(
        torch.autograd.grad(together, leaves, upstream), torch.autograd.grad(alone, leaves, upstream)
    ):
        assert (a - b).abs().max() < 1e-11


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_packed_documents_in_low_precision(name, dtype, device):
    q, k, v, x = inputs(tokens=12, device=device)
    documents, positions = packed(device)
    exact = attend(make(name, device=device), q, k, v, x, positions, documents=documents)
    low = attend(
        make(name, dtype, device), *(t.to(dtype) for t in (q, k, v, x)), positions, documents=documents
    )
    assert (low.double() - exact).abs().max() < (2e-5 if dtype == torch.float32 else 6e-2)


@pytest.mark.parametrize("name", NAMES)
def test_a_cache_keeps_positions_and_documents(name, device):
    module = make(name, device=device)
    q, k, v, x = inputs(tokens=12, device=device)
    documents, positions = packed(device)
    for given in (dict(positions=positions), dict(positions=positions, documents=documents)):
        whole = attend(module, q, k, v, x, **given)
        for size in (1, 5):
            cache = module.new_cache(2, 12)
            parts = [
                attend(
                    module,
                    *(t[:, i : i + size] for t in (q, k, v, x)),
                    **{name: t[:, i : i + size] for name, t in given.items()},
                    cache=cache,
                )
                for i in range(0, 12, size)
            ]
            assert (torch.cat(parts, 1) - whole).abs().max() < 1e-12


@pytest.mark.parametrize("shape", [(2, 1), (1, 13), (0, 5), (3, 0)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_awkward_shapes(name, shape, device):
    batch, tokens = shape
    module = make(name, device=device)
    q, k, v, x = inputs(batch, tokens, device=device, grad=True)
    out = attend(module, q, k, v, x)
    assert out.shape == (batch, tokens, 2, 8)
    documents = torch.zeros(batch, tokens, dtype=torch.long, device=device)
    assert (out - attend(module, q, k, v, x, documents=documents)).abs().sum() < 1e-10
    out.sum().backward()
    assert q.grad is not None and torch.isfinite(q.grad).all()


@pytest.mark.parametrize("layout", ["interleaved", "half"])
@pytest.mark.parametrize("width", [2, 6, 24])
@pytest.mark.parametrize("name", NAMES)
def test_odd_head_widths(name, width, layout, device):
    module = make(name, device=device, head_dim=width, layout=layout)
    q, k, v, x = inputs(tokens=7, head_dim=width, device=device)
    out = attend(module, q, k, v, x)
    assert out.shape == q.shape and torch.isfinite(out).all()


@pytest.mark.parametrize("name", ROTARY)
def test_layouts_differ_by_a_permutation(name, device):
    """Half-split on channels permuted evens-first equals interleaved."""
    order = torch.cat([torch.arange(0, 8, 2), torch.arange(1, 8, 2)]).to(device)
    q, k, _, x = inputs(device=device)
    interleaved, half = (
        make(name, device=device)(q, k, x),
        make(name, device=device, layout="half")(q[..., order], k[..., order], x),
    )
    for a, b in zip(interleaved, half):
        assert (a[..., order] - b).abs().max() < 1e-12


@pytest.mark.parametrize("name", ROTARY)
def test_strided_inputs(name, device):
    """q and k as slices of one packed projection, as most models have them."""
    module = make(name, device=device)
    packed = torch.randn(2, 5, 3, 2, 8, dtype=torch.float64, device=device)
    _, _, _, x = inputs(device=device)
    q, k, _ = packed.unbind(2)
    given = (q, k)
    for got, own, expected in zip(module(q, k, x), given, module(q.contiguous(), k.contiguous(), x)):
        unchanged = got.data_ptr() == own.data_ptr()  # what does nothing hands on what it got
        assert torch.equal(got, expected) and (got.is_contiguous() or unchanged)
    wide = q.transpose(-1, -2).contiguous().transpose(-1, -2)  # channels not contiguous
    assert torch.equal(module(wide, k, x)[0], module(q, k, x)[0])


@pytest.mark.parametrize("name", NAMES)
def test_fewer_key_heads(name, device):
    sizes = dict(heads=4, kv_heads=2, d_model=16)
    if name not in GROUPED:
        with pytest.raises(ValueError, match="as many key as query heads"):
            make(name, device=device, **sizes)
        return
    module = make(name, device=device, **sizes)
    q, k, v, x = inputs(heads=4, kv_heads=2, device=device)
    out = attend(module, q, k, v, x)
    # As many key heads as queries, each key head written twice, gives the same.
    full = make(name, device=device, heads=4, d_model=16)
    with torch.no_grad():
        for target, source in zip(full.parameters(), module.parameters()):
            alike = target.shape == source.shape  # a bias belongs to query heads
            target.copy_(source if alike else source.repeat_interleave(2, 0))
    expected = attend(full, q, k.repeat_interleave(2, 2), v.repeat_interleave(2, 2), x)
    assert (out - expected).abs().max() < 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_and_input_gets_a_gradient(name, device):
    module = make(name, device=device)
    q, k, v, x = inputs(tokens=9, device=device, grad=True)
    out = attend(module, q, k, v, x)
    out.square().sum().backward()

    def changes_nothing(parameter):
        """What moves all scores of a query by as much, as FIRE's last bias does."""
        with torch.no_grad():
            parameter.add_(0.5)
            moved = attend(module, q, k, v, x)
            parameter.sub_(0.5)
        return (moved - out).abs().max() < 1e-12

    for parameter_name, parameter in module.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.abs().max() > 0 or changes_nothing(parameter), parameter_name
    for tensor in (q, k, v):
        assert tensor.grad.abs().max() > 0
    if name in LEARNED:
        assert x.grad.abs().max() > 0


@pytest.mark.parametrize("layout", ["interleaved", "half"])
@pytest.mark.parametrize("name", NAMES)
def test_gradcheck(name, layout, device):
    module = make(name, device=device, layout=layout)
    q, k, v, x = inputs(batch=1, tokens=4, device=device, grad=True)
    positions = torch.tensor([0, 3, 15, 21], device=device)
    names = [n for n, _ in module.named_parameters()]

    def run(q, k, v, x, *parameters):
        return torch.func.functional_call(
            Attend(module), {f"module.{n}": p for n, p in zip(names, parameters)}, (q, k, v, x, positions)
        )

    assert torch.autograd.gradcheck(
        run,
        (q, k, v, x, *(p.detach().requires_grad_() for p in module.parameters())),
        check_undefined_grad=False,
    )


class Attend(torch.nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *arguments):
        return attend(self.module, *arguments)


@pytest.mark.parametrize("name", NAMES)
def test_compiles_whole(name, device):
    torch._dynamo.reset()
    layer = Attend(make(name, device=device))
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    for tokens in (5, 9, 12):  # the second length makes shapes symbolic
        q, k, v, x = inputs(tokens=tokens, device=device, grad=True)
        documents = torch.arange(tokens, device=device).expand(2, -1) // 4
        more = (None, True, documents) if tokens == 12 else ()
        eager, got = layer(q, k, v, x, *more), compiled(q, k, v, x, *more)
        assert (eager - got).abs().max() < 1e-12
        gradient = torch.ones_like(eager)
        leaves = [q, k, v, *layer.parameters()]
        for a, b in zip(
            torch.autograd.grad(eager, leaves, gradient), torch.autograd.grad(got, leaves, gradient)
        ):
            assert (a - b).abs().max() < 1e-12


STARTS = {
    "fire": {"c": 0.1, "threshold": 1},
    "cope": {"embedding": 0},
    "pope": {"delta": 0},
    "darope": {"alpha": 0.5},
    "darope-per-band": {"alpha": 0.5},
    "darope-dynamic": {"u": 0, "a": 0.5},
}


@pytest.mark.parametrize("name", NAMES)
def test_state_round_trip_and_initial_values(name):
    torch.manual_seed(3)
    module = darope.create(name, **SIZES)
    twin = darope.create(name, **SIZES)
    twin.load_state_dict(module.state_dict())
    q, k, v, x = inputs(dtype=torch.float32)
    assert torch.equal(attend(module, q, k, v, x), attend(twin, q, k, v, x))
    for parameter_name, value in STARTS.get(name, {}).items():
        assert (getattr(module, parameter_name) == value).all()
    if name in LEARNED:
        assert darope.create(
            name, d_model=512, heads=64, head_dim=8, train_length=16
        ).w.std().item() == pytest.approx(0.1, rel=0.03)


@pytest.mark.parametrize("name", NAMES)
def test_mixed_precision_parameters(name, device):
    """float32 parameters beside bfloat16 activations, as mixed-precision training has them."""
    q, k, v, x = inputs(dtype=torch.bfloat16, device=device)
    out = attend(make(name, torch.float32, device), q, k, v, x)
    assert out.dtype == torch.bfloat16 and torch.isfinite(out).all()
