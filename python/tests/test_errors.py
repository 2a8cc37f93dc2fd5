"""Bad input: one sentence that names the argument, what was got and what is allowed. Nothing crashes,
nothing passes silently.
"""

import darope
import pytest
import torch
from conftest import NAMES, ROTARY, SIZES, inputs

NAN, INF = float("nan"), float("inf")


def create(name="darope", **changes):
    return darope.create(name, **{**SIZES, **changes})


def refuses(kind, words, call):
    """call() raises `kind` with one line that holds all words."""
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    message = str(caught.value)
    assert "\n" not in message and len(message) < 400, message
    for word in words:
        assert str(word) in message, message


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("head_dim", [7, 0, -8, 4096])
def test_head_width(name, head_dim):
    refuses(
        ValueError, ["head_dim", "positive even", f"got {head_dim}"], lambda: create(name, head_dim=head_dim)
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("base", [1, 1.0, 0, -500000.0, INF, -INF, NAN])
def test_base(name, base):
    refuses(ValueError, ["base", "finite", "above 1", f"got {base:g}"], lambda: create(name, base=base))
    refuses(ValueError, ["base", "finite", "above 1", f"got {base:g}"], lambda: create(f"{name}:base={base}"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("length", [0, -1])
def test_training_length(name, length):
    refuses(
        ValueError,
        ["train_length", "between 1 and 2^53", f"got {length}"],
        lambda: create(name, train_length=length),
    )


@pytest.mark.parametrize("value", ["64", 64.0, None, True, [64]], ids=repr)
@pytest.mark.parametrize("argument", ["d_model", "heads", "head_dim", "train_length", "kv_heads"])
def test_types_of_sizes(argument, value):
    if argument == "kv_heads" and value is None:
        assert create(kv_heads=None).shape == create(kv_heads=SIZES["heads"]).shape  # the default
        return
    refuses(TypeError, [argument, "int", repr(value)], lambda: create(**{argument: value}))


@pytest.mark.parametrize("argument", ["d_model", "heads", "kv_heads"])
@pytest.mark.parametrize("value", [0, -2])
def test_sizes(argument, value):
    refuses(ValueError, [argument, "at least 1", f"got {value}"], lambda: create(**{argument: value}))


def test_sizes_beyond_the_machine():
    for argument in SIZES:
        refuses(ValueError, [argument, 2**70], lambda: create(**{argument: 2**70}))


@pytest.mark.parametrize("value", ["500000", "x", True, [1], 1 + 0j], ids=repr)
def test_type_of_base(value):
    refuses(TypeError, ["base", "number", repr(value)], lambda: create(base=value))


@pytest.mark.parametrize("layout", ["Half", "", None, 1], ids=repr)
def test_layout(layout):
    refuses(ValueError, ["layout", "'interleaved'", "'half'", repr(layout)], lambda: create(layout=layout))


@pytest.mark.parametrize("heads, kv_heads", [(4, 3), (2, 4)])
def test_key_heads_must_divide(heads, kv_heads):
    refuses(
        ValueError,
        ["kv_heads must divide heads", heads, kv_heads],
        lambda: create(heads=heads, kv_heads=kv_heads),
    )


@pytest.mark.parametrize("name", ["pope", "cope"])
def test_grouped_heads_are_refused(name):
    refuses(
        ValueError,
        [name, "as many key as query heads", "heads 4", "kv_heads 2"],
        lambda: create(name, heads=4, kv_heads=2),
    )


@pytest.mark.parametrize(
    "name, nearest",
    [
        ("ropee", "rope"),
        ("ROPE", "rope"),
        ("dareop", "darope"),
        ("darope-perband", "darope-per-band"),
        ("rope-10", "rope-10k"),
        ("yarrn:factor=4", "yarn"),
    ],
)
def test_unknown_names(name, nearest):
    refuses(
        ValueError,
        [f"unknown encoding '{name.partition(':')[0]}'", f"did you mean '{nearest}'", *NAMES],
        lambda: create(name),
    )


@pytest.mark.parametrize("name", [3, None, b"rope", ["rope"]], ids=repr)
def test_names_are_strings(name):
    refuses(TypeError, ["name", "string", type(name).__name__], lambda: create(name))


@pytest.mark.parametrize("name", ["rope:", "rope:base", "rope:base=", "rope:=3", "rope:base=3,", "rope:,"])
def test_malformed_options(name):
    refuses(ValueError, [f"'{name}'", "option=value"], lambda: create(name))


def test_options_given_twice():
    refuses(ValueError, ["'base'", "twice", "10000", "20"], lambda: create("rope-10k", base=20))
    refuses(ValueError, ["'factor'", "twice", "2", "4"], lambda: create("yarn:factor=2", factor=4))


UNKNOWN_OPTIONS = [
    ("rope", "bse", "base"),
    ("yarn", "factr", "factor"),
    ("yarn", "temprature", "temperature"),
    ("cope", "npos_mx", "npos_max"),
    ("pope", "delta_int", "delta_init"),
    ("darope", "slow_band", "slow_bands"),
]
FAR_OPTIONS = [("nope", "slow_bands", "base"), ("cope", "slow_bands", "npos_max"), ("rope", "factor", "base")]


@pytest.mark.parametrize("name, option, nearest", UNKNOWN_OPTIONS)
def test_unknown_options(name, option, nearest):
    words = [f"unknown option of {name} '{option}'", f"did you mean '{nearest}'"]
    refuses(ValueError, words, lambda: create(name, **{option: 2}))
    refuses(ValueError, words, lambda: create(f"{name}:{option}=2"))


@pytest.mark.parametrize("name, option, known", FAR_OPTIONS)
def test_options_far_from_any_are_told_what_there_is(name, option, known):
    with pytest.raises(ValueError) as raised:
        create(name, **{option: 2})
    message = str(raised.value)
    assert (
        f"unknown option of {name} '{option}'. Known:" in message
        and known in message
        and "did you mean" not in message
    )


WRONG_VALUES = [
    ("yarn", "factor", 0.5, ["at least 1", "0.5"]),
    ("yarn", "factor", NAN, ["finite", "nan"]),
    ("yarn", "factor", INF, ["finite", "inf"]),
    ("yarn", "factor", "two", ["number", "'two'"]),
    ("yarn", "ramp", "cod", ["'cod'", "did you mean 'code'", "paper"]),
    ("yarn", "temperature", "yes", ["'yes'", "on, off"]),
    ("yarn", "ramp", "code,base=3", ["comma", "'code,base=3'"]),
    ("cope", "npos_max", 0, ["between 1 and 65536", "got 0"]),
    ("cope", "npos_max", -4, ["between 1 and 65536", "got -4"]),
    ("cope", "npos_max", 1.5, ["whole number", "1.5"]),
    ("cope", "npos_max", 10**30, ["whole number", 10**30]),
    ("cope", "scaling", "list", ["'list'", "did you mean 'listing'", "scaled"]),
    ("pope", "delta_init", "zeros", ["'zeros'", "did you mean 'zero'", "uniform"]),
    ("darope", "slow_bands", 5, ["between 0 and the number of bands, 4", "got 5"]),
    ("darope", "slow_bands", -1, ["between 0 and the number of bands, 4", "got -1"]),
    ("hope", "slow_bands", "few", ["whole number", "'few'"]),
]


@pytest.mark.parametrize("name, option, value, words", WRONG_VALUES)
def test_wrong_values_of_options(name, option, value, words):
    refuses(ValueError, [f"'{option}'", *words], lambda: create(name, **{option: value}))


@pytest.mark.parametrize("value", [True, None, [4], torch.tensor(4)], ids=repr)
def test_types_of_options(value):
    refuses(TypeError, ["'factor'", "number or a string"], lambda: create("yarn", factor=value))


class Call:
    """An encoding and good arguments, of which a call may replace some."""

    def __init__(self, name="darope", dtype=torch.float32, **sizes):
        self.module = create(name, **sizes).to(dtype)
        self.given = dict(zip("qkvx", inputs(dtype=dtype)))

    def attend(self, **changes):
        return self.module.attend(**{**self.given, **changes})

    def encode(self, **changes):
        return self.module(**{**{name: self.given[name] for name in "qkx"}, **changes})


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
