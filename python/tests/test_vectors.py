"""Every case of tests/vectors, values and gradients, to 1e-9 in float64."""

import re
import subprocess
import sys

import darope
import pytest
import torch
from conftest import ROOT

TOLERANCE = 1e-9
ROTARY_CASES = [
    "rope_base10000",
    "rope_base500000",
    "hope_base10000",
    "hope_base500000",
    "hope_base20",
    "yarn_base500000_s4",
    "yarn_base20_s4",
    "yarn_base20_s4_paper_ramp",
    "yarn_base20_s4_no_temperature",
]
KINDS = {
    "canonical": "darope",
    "no_beta": "darope-no-prior",
    "fixed_alpha": "darope-fixed-alpha",
    "per_band_alpha": "darope-per-band",
    "dynamic_alpha": "darope-dynamic",
}
LEARNED_CASES = [
    f"darope_base{base}{suffix}"
    for base in (500000, 20)
    for suffix in ("", "_no_beta", "_fixed_alpha", "_per_band_alpha", "_dynamic_alpha")
]


def tensor(values, device):
    return torch.tensor(values, dtype=torch.float64, device=device)


def heads_last(values, device):
    """[H, T, d] of the file to the operators' [1, T, H, d]."""
    return tensor(values, device).transpose(0, 1).unsqueeze(0)


def heads_first(x):
    return x[0].transpose(0, 1)


def close(got, expected, what):
    expected = torch.as_tensor(expected, dtype=torch.float64)
    got = got.detach().cpu()
    assert got.shape == expected.shape, what
    assert (got - expected).abs().max().item() <= TOLERANCE, what


@pytest.fixture
def given(vectors, device):
    i = vectors["inputs"]
    sizes = dict(d_model=i["d_model"], heads=i["H"], head_dim=i["d"], train_length=i["L"])
    return (
        sizes,
        [heads_last(i[name], device) for name in "qkv"],
        tensor(i["x"], device).unsqueeze(0),
        torch.tensor(i["positions"], device=device),
    )


def options_of(case):
    if "factor" not in case:
        return {}
    return dict(factor=case["factor"], ramp=case["ramp"])


def scores(q, k, width):
    return torch.einsum("bthd,bshd->bhts", q, k)[0] / width**0.5


@pytest.mark.parametrize("name", ROTARY_CASES)
def test_rotary(vectors, given, device, name):
    sizes, (q, k, v), x, positions = given
    case = vectors["cases"][name]
    temperature = {"temperature": "off"} if name.endswith("no_temperature") else {}
    module = darope.create(name.split("_")[0], **sizes, base=case["base"], **options_of(case), **temperature)
    q_rot, k_rot = module(q, k, x, positions)
    close(heads_first(q_rot), case["q_rot"], "q")
    close(heads_first(k_rot), case["k_rot"], "k")
    close(scores(q_rot, k_rot, sizes["head_dim"]), case["scores"], "scores")
    close(heads_first(module.attend(q, k, v, x, positions)), case["out"], "out")


def test_half_split_layout(vectors, given):
    sizes, (q, k, _), x, positions = given
    case = vectors["cases"]["rope_base10000_rotate_half"]
    q_rot, k_rot = darope.create("rope-10k", **sizes, layout="half")(q, k, x, positions)
    close(heads_first(q_rot), case["q_rot_half"], "q")
    close(heads_first(k_rot), case["k_rot_half"], "k")
    close(scores(q_rot, k_rot, sizes["head_dim"]), case["scores"], "scores")


def test_nope(vectors, given):
    sizes, (q, k, v), x, positions = given
    case = vectors["cases"]["nope"]
    module = darope.create("nope", **sizes)
    close(scores(*module(q, k, x, positions), sizes["head_dim"]), case["scores"], "scores")
    close(heads_first(module.attend(q, k, v, x, positions)), case["out"], "out")


def learned_module(case, sizes, device, **options):
    module = darope.create(KINDS[case["kind"]], **sizes, base=case["base"], **options).double().to(device)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(tensor(case["params"][name], device))
    return module


@pytest.mark.parametrize("name", LEARNED_CASES)
def test_learned(vectors, given, device, name):
    sizes, (q, k, v), x, positions = given
    case = vectors["cases"][name]
    module = learned_module(case, sizes, device)
    leaves = [t.clone().requires_grad_() for t in (q, k, x)]
    q_rot, k_rot = module(*leaves, positions)
    close(heads_first(q_rot), case["q_rot"], "q")
    close(heads_first(k_rot), case["k_rot"], "k")
    close(scores(q_rot, k_rot, sizes["head_dim"]), case["scores"], "scores")
    close(heads_first(module.attend(q, k, v, x, positions)), case["out"], "out")
    close(module.coordinate(x, positions)[0].transpose(0, 1), case["coord"], "coordinate")
    names = [n for n, _ in module.named_parameters()]
    grads = torch.autograd.grad(
        (q_rot, k_rot),
        [*leaves, *module.parameters()],
        (heads_last(case["G_q_rot"], device), heads_last(case["G_k_rot"], device)),
    )
    close(heads_first(grads[0]), case["grad_q"], "grad q")
    close(heads_first(grads[1]), case["grad_k"], "grad k")
    close(grads[2][0], case["grad_x_coordinate_path"], "grad x")
    for parameter, grad in zip(names, grads[3:]):
        close(grad, case[f"grad_{parameter}"], f"grad {parameter}")


def test_forced_split(vectors, given, device):
    sizes, (q, k, v), x, positions = given
    case = vectors["cases"]["darope_base20_forced_split"]
    module = learned_module(case, sizes, device, slow_bands=case["n_slow"])
    q_rot, k_rot = module(q, k, x, positions)
    close(heads_first(q_rot), case["q_rot"], "q")
    close(heads_first(module.attend(q, k, v, x, positions)), case["out"], "out")


@pytest.mark.parametrize("name", ["pope_base10000_delta0", "pope_base10000"])
def test_pope(vectors, given, device, name):
    sizes, qkv, x, positions = given
    case = vectors["cases"][name]
    module = darope.create("pope", **sizes, base=case["base"]).double().to(device)
    with torch.no_grad():
        module.delta.copy_(tensor(case["delta"], device))
    q, k, v = (t.clone().requires_grad_() for t in qkv)
    out = module.attend(q, k, v, x, positions)
    close(heads_first(out), case["out"], "out")
    if "d_out" in case:
        grads = torch.autograd.grad(out, [q, k, v, module.delta], heads_last(case["d_out"], device))
        for grad, what in zip(grads, ("grad_q", "grad_k", "grad_v")):
            close(heads_first(grad), case[what], what)
        close(grads[3], case["grad_delta"], "grad_delta")


@pytest.mark.parametrize("variant", ["listing", "scaled"])
def test_cope(vectors, given, device, variant):
    case = vectors["cases"][f"cope_{variant}"]
    sizes = given[0]
    module = darope.create("cope", **sizes, npos_max=case["npos_max"], scaling=variant).double().to(device)
    with torch.no_grad():
        module.embedding.copy_(tensor(case["E"], device))
    q, k, v = (heads_last(case[name], device).requires_grad_() for name in "qkv")
    out = module.attend(q, k, v)
    close(heads_first(out), case["out"], "out")
    grads = torch.autograd.grad(out, [q, k, v, module.embedding], heads_last(case["d_out"], device))
    for grad, what in zip(grads, ("grad_q", "grad_k", "grad_v")):
        close(heads_first(grad), case[what], what)
    close(grads[3], case["grad_E"], "grad_E")


def test_every_case_is_tested(vectors):
    tested = {
        *ROTARY_CASES,
        *LEARNED_CASES,
        "rope_base10000_rotate_half",
        "nope",
        "darope_base20_forced_split",
        "pope_base10000_delta0",
        "pope_base10000",
        "cope_listing",
        "cope_scaled",
    }
    assert tested == set(vectors["cases"])


def test_the_vectors_are_what_their_definitions_make():
    maker = ROOT / "tests" / "vectors" / "make.py"
    done = subprocess.run([sys.executable, maker, "--check"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_coordinate_at_the_edges(vectors):
    """The prior is clipped in float64, the same constant for every m >= L."""
    for row in vectors["beta_edges"]:
        length = row["L"]
        module = darope.create("darope", d_model=4, heads=1, head_dim=8, train_length=length).double()
        with torch.no_grad():
            module.w.zero_()
        places = {"m=0": 0, "m=L/2": length // 2, "m=L-1": length - 1, "m=L": length, "m=4L": 4 * length}
        for place, position in places.items():
            got = module.coordinate(
                torch.zeros(1, 1, 4, dtype=torch.float64), torch.tensor([position])
            ).item()
            assert abs(got - row[place]["coord_w0_alpha0.5"]) <= 1e-9 * length


@pytest.mark.parametrize("ramp", ["code", "paper"])
def test_yarn_frequencies_of_real_models(vectors, ramp):
    """Read back from the angle of a unit vector one token from the origin."""
    assert vectors["yarn_real_configs"]
    for row_name, row in vectors["yarn_real_configs"].items():
        d, length, base, factor = (int(re.sub("[a-z]+", "", part)) for part in row_name.lower().split("_"))
        module = darope.create(
            "yarn",
            d_model=d,
            heads=1,
            head_dim=d,
            train_length=length,
            base=base,
            factor=factor,
            ramp=ramp,
            temperature="off",
        )
        unit = torch.zeros(1, 1, 1, d, dtype=torch.float64)
        unit[..., 0::2] = 1
        turned, _ = module(unit, unit, None, torch.tensor([1]))
        close(
            torch.atan2(turned[0, 0, 0, 1::2], turned[0, 0, 0, 0::2]), row[f"inv_freq_{ramp}_ramp"], row_name
        )
