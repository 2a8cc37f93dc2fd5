"""Bad names, sizes and options of an encoding. One sentence names the argument, what was
got and what is allowed. Nothing crashes, nothing passes silently.
"""

import pytest
import torch
from conftest import NAMES, SIZES
from refusals import create, refuses

NAN, INF = float("nan"), float("inf")


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
