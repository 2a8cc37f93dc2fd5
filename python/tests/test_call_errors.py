"""Bad tensors, positions, documents and caches. One sentence names the argument, what was
got and what is allowed. Nothing crashes, nothing passes silently.
"""

import pytest
import torch
from conftest import NAMES, ROTARY, inputs
from refusals import Call, create, refuses

NAN, INF = float("nan"), float("inf")


def both(kind, words, **changes):
    """attend and the call on q and k refuse alike."""
    call = Call()
    refuses(kind, words, lambda: call.attend(**changes))
    if "v" not in changes:
        refuses(kind, words, lambda: call.encode(**changes))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "bad, words", [(-1.0, ["negative", "-1"]), (NAN, ["finite", "NaN"]), (INF, ["finite", "infinity"])]
)
def test_values_of_positions(name, bad, words):
    for positions in (torch.tensor([0, 1, 2, 3, bad]), torch.tensor([[0, 1, 2, 3, 4], [0, 1, bad, 3, 4]])):
        refuses(ValueError, ["positions", *words], lambda: Call(name).attend(positions=positions))


def test_shapes_of_positions():
    for positions in (
        torch.arange(4),
        torch.arange(6),
        torch.arange(10).view(5, 2),
        torch.arange(5).view(1, 5),
        torch.tensor(3),
        torch.zeros(2, 5, 1),
    ):
        both(
            ValueError,
            ["positions must be [T] or [B, T]", "2, 5", f"got {list(positions.shape)}"],
            positions=positions,
        )


def test_types_of_positions():
    both(TypeError, ["positions", "dtype Bool"], positions=torch.ones(5, dtype=torch.bool))
    both(TypeError, ["positions", "dtype ComplexFloat"], positions=torch.arange(5) + 0j)
    for positions in ([0, 1, 2, 3, 4], 3, "abcde"):
        both(TypeError, ["positions must be a tensor", type(positions).__name__], positions=positions)


SHAPES = {
    "q": [(5, 2, 8), (3,), (), (2, 5, 3, 8), (2, 5, 2, 6)],
    "k": [(5, 2, 8), (1, 5, 2, 8), (2, 4, 2, 8), (2, 5, 1, 8), (2, 5, 2, 6)],
    "v": [(5, 2, 8), (1, 5, 2, 8), (2, 4, 2, 8), (2, 5, 1, 8), (2, 5, 2, 4)],
    "x": [(5, 16), (1, 5, 16), (2, 4, 16), (2, 5, 15), (2, 5, 16, 1)],
}


@pytest.mark.parametrize(
    "argument, shape", [(argument, shape) for argument, shapes in SHAPES.items() for shape in shapes], ids=str
)
def test_shapes_of_tensors(argument, shape):
    both(ValueError, [argument, "must", list(shape)], **{argument: torch.zeros(shape)})


@pytest.mark.parametrize("argument", "qkvx")
def test_tensors_must_be_tensors(argument):
    if argument != "x":
        both(TypeError, [f"{argument} must be a tensor", "NoneType"], **{argument: None})
    both(TypeError, [f"{argument} must be a tensor", "list"], **{argument: [1.0]})


def test_darope_needs_x():
    both(ValueError, ["x", "None"], x=None)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int32], ids=str)
@pytest.mark.parametrize("argument", "qkvx")
def test_mixed_dtypes(argument, dtype):
    both(TypeError, [argument, "dtype"], **{argument: Call().given[argument].to(dtype)})


@pytest.mark.parametrize("argument", ["q", "k", "v", "x", "positions"])
def test_mixed_devices(argument):
    given = {**Call().given, "positions": torch.arange(5)}
    both(ValueError, [argument, "device", "meta", "cpu"], **{argument: given[argument].to("meta")})


@pytest.mark.parametrize("name", [name for name in NAMES if list(create(name).parameters())])
def test_parameters_of_another_dtype_or_device(name):
    call = Call(name)
    parameter = next(iter(dict(call.module.named_parameters())))
    doubles = {key: tensor.double() for key, tensor in call.given.items()}
    refuses(TypeError, [f"parameter {parameter}", "dtype", "Float", "Double"], lambda: call.attend(**doubles))
    on_meta = {key: tensor.to("meta") for key, tensor in call.given.items()}
    refuses(ValueError, [f"parameter {parameter}", "device", "cpu", "meta"], lambda: call.attend(**on_meta))


@pytest.mark.parametrize("dtype", [torch.int64, torch.complex64, torch.float8_e4m3fn], ids=str)
@pytest.mark.parametrize(
    "name", [name for name in ROTARY if name != "nope"]
)  # nope hands q and k on as they are
def test_types_that_cannot_turn(name, dtype):
    q, k, _, x = inputs(dtype=torch.float32)
    refuses(TypeError, ["dtype"], lambda: create(name)(q.to(dtype), k.to(dtype), x.to(dtype)))


@pytest.mark.parametrize("causal", [None, 2, "yes"], ids=repr)
def test_causal_is_yes_or_no(causal):
    refuses(TypeError, ["causal", repr(causal)], lambda: Call().attend(causal=causal))


def test_cope_is_causal():
    refuses(ValueError, ["cope", "causal=True"], lambda: Call("cope").attend(causal=False))


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(ROTARY)))
def test_no_rotation_without_attention(name):
    for text in (name, f"{name}:base=300"):
        refuses(TypeError, [name, "attend(q, k, v, x)"], lambda: Call(text).encode())


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("darope")])
def test_no_coordinate(name):
    refuses(
        ValueError,
        [name, "no learned coordinate", "darope"],
        lambda: create(name).coordinate(torch.zeros(2, 5, 16)),
    )


def test_input_of_the_coordinate():
    coordinate = create().coordinate
    refuses(TypeError, ["x must be a tensor", "NoneType"], lambda: coordinate(None))
    refuses(
        TypeError,
        ["x", "floating point", "dtype", "int32"],
        lambda: coordinate(torch.zeros(2, 5, 16, dtype=torch.int32)),
    )
    refuses(
        TypeError, ["w", "dtype", "Double"], lambda: coordinate(torch.zeros(2, 5, 16, dtype=torch.float64))
    )
    refuses(ValueError, ["w", "device", "meta"], lambda: coordinate(torch.zeros(2, 5, 16, device="meta")))
    for shape in ((2, 5, 15), (5, 16), (3,)):
        refuses(ValueError, ["x must be [B, T, 16]", list(shape)], lambda: coordinate(torch.zeros(shape)))
    refuses(ValueError, ["positions", "[4]"], lambda: coordinate(torch.zeros(2, 5, 16), torch.arange(4)))
    refuses(
        ValueError,
        ["positions", "negative", "-4"],
        lambda: coordinate(torch.zeros(2, 5, 16), -torch.arange(5)),
    )


@pytest.mark.parametrize("name", NAMES)
def test_documents(name):
    call = Call(name)
    for shape in ((5,), (1, 5), (2, 4), (2, 5, 1)):
        refuses(
            ValueError,
            ["documents must be [B, T] = [2, 5]", f"got {list(shape)}"],
            lambda: call.attend(documents=torch.zeros(shape, dtype=torch.long)),
        )
    refuses(TypeError, ["documents", "float32"], lambda: call.attend(documents=torch.zeros(2, 5)))
    refuses(TypeError, ["documents", "bool"], lambda: call.attend(documents=torch.zeros(2, 5).bool()))
    refuses(TypeError, ["documents must be a tensor", "list"], lambda: call.attend(documents=[[0] * 5] * 2))
    ids = torch.zeros(2, 5, dtype=torch.long)
    refuses(ValueError, ["documents", "device", "meta"], lambda: call.attend(documents=ids.to("meta")))
    refuses(TypeError, ["q must be a tensor"], lambda: call.attend(q=3, documents=ids))


@pytest.mark.parametrize("first", [True, False], ids=["with and then without", "without and then with"])
def test_documents_come_with_every_call_on_a_cache(first):
    call, ids = Call("alibi"), torch.zeros(2, 5, dtype=torch.long)
    cache = call.module.new_cache(2, 12)
    given, missing = (ids, None) if first else (None, ids)
    call.attend(documents=given, cache=cache)
    refuses(
        ValueError,
        ["documents must come with every call"],
        lambda: call.attend(documents=missing, cache=cache),
    )
    assert cache.length == 5
    call.attend(documents=given, cache=cache)
    assert cache.length == 10


def test_sizes_of_the_cache():
    new_cache = create().new_cache
    refuses(ValueError, ["batch >= 0", "-1"], lambda: new_cache(-1, 4))
    refuses(ValueError, ["length >= 1", "0"], lambda: new_cache(2, 0))
    refuses(TypeError, ["batch", "int", "'2'"], lambda: new_cache("2", 4))
    refuses(TypeError, ["length", "int", "4.0"], lambda: new_cache(2, 4.0))
    refuses(TypeError, ["cache", "new_cache", "dict"], lambda: Call().attend(cache={}))


@pytest.mark.parametrize("name", NAMES)
def test_what_does_not_fit_leaves_the_cache_as_it_was(name):
    call = Call(name)
    q, k, v, x = call.given.values()
    cache = call.module.new_cache(2, 12)
    call.attend(cache=cache)
    held = cache.k.clone(), cache.v.clone()
    wide = {key: torch.zeros(2, 8, *tensor.shape[2:]) for key, tensor in call.given.items()}
    refuses(
        ValueError,
        ["the cache holds 12 tokens", "5 are in it", "got 8 more"],
        lambda: call.attend(**wide, cache=cache),
    )
    refuses(
        ValueError,
        ["the cache holds a batch of 2", "got 1"],
        lambda: call.attend(**{key: tensor[:1] for key, tensor in call.given.items()}, cache=cache),
    )
    for shape in ((2, 1, 2, 8), (1, 5, 2, 8), (2, 5, 1, 8), (2, 5, 2, 1), (2, 5, 16)):  # some would broadcast
        refuses(
            ValueError,
            ["v must be", "[2, 5, 2, 8]", list(shape)],
            lambda: call.attend(v=torch.zeros(shape), cache=cache),
        )
    refuses(TypeError, ["v", "dtype", "float64"], lambda: call.attend(v=v.double(), cache=cache))
    refuses(ValueError, ["v", "device", "meta"], lambda: call.attend(v=v.to("meta"), cache=cache))
    refuses(
        TypeError,
        ["the cache", "dtype", "float64", "float32"],
        lambda: Call(name, torch.float64).attend(cache=cache),
    )
    other = Call("rope" if name == "pope" else "pope")
    refuses(ValueError, ["another layer's"], lambda: other.attend(cache=cache))
    assert (
        cache.length == 5
        and torch.equal(cache.k[:, :5], held[0][:, :5])
        and torch.equal(cache.v[:, :5], held[1][:, :5])
    )
    call.attend(cache=cache)
    assert cache.length == 10


def test_torchs_own_words_for_dtypes_work():
    """The module's settings do not hide torch's methods."""
    module = create()
    assert (
        module.half().w.dtype == torch.float16
        and module.bfloat16().w.dtype == torch.bfloat16
        and module.double().w.dtype == torch.float64
    )


def backward_arguments(**changes):
    """What torch.ops.darope.rotate_learned_backward takes: B 1, T 4, H 2, d 8, D 16, two of four bands
    slow.
    """
    q = torch.randn(1, 4, 2, 8)
    given = dict(
        q_grad=q,
        k_grad=q,
        q=q,
        k=q,
        x=torch.randn(1, 4, 16),
        w=torch.randn(2, 16),
        alpha=torch.ones(2),
        share=torch.rand(1, 4, 2),
        prior=torch.zeros(4),
        positions=torch.arange(4.0).double(),
        theta=[1.0, 0.5, 0.1, 0.01],
        fast=2,
        length=4.0,
        half=False,
    )
    return list({**given, **changes}.values())


def test_the_backward_operator_by_hand():
    call = torch.ops.darope.rotate_learned_backward
    assert len(call(*backward_arguments())) == 6
    for words, changes in {
        ("theta", "5000"): dict(theta=[1.0] * 5000),
        ("share", "[1, 9, 2]"): dict(share=torch.rand(1, 9, 2)),
        ("prior", "positions"): dict(prior=torch.zeros(3)),
        ("q_grad", "q"): dict(q_grad=torch.randn(1, 3, 2, 8)),
        ("alpha", "[]"): dict(alpha=torch.ones(())),
        ("fast", "9"): dict(fast=9),
    }.items():
        refuses(ValueError, words, lambda: call(*backward_arguments(**changes)))
    refuses(
        TypeError, ["share", "dtype"], lambda: call(*backward_arguments(share=torch.rand(1, 4, 2).double()))
    )
