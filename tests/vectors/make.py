"""Numbers that the encodings are tested against, from their definitions: small cases in float64, gradients by
PyTorch's own differentiation. Nothing of this project is imported.

    python tests/vectors/make.py            writes encodings.json beside this file
    python tests/vectors/make.py --check    says whether that file is what would be written

Arrays are [head][token][channel] unless a name says otherwise. Scores carry 1/sqrt(d) and no mask; `out` is
causal attention over the order of the tokens. Inputs are multiples of 1/64, exact in every type.
"""

import json
import math
import pathlib
import random
import sys

import torch

FILE = pathlib.Path(__file__).with_name("encodings.json")
HEADS, WIDTH, MODEL, LENGTH, EPSILON = 2, 8, 16, 16, 1e-6
POSITIONS = [0, 7, 21]  # inside the window of 16 and beyond it
torch.set_default_dtype(torch.float64)


def draw(seed, *shape, largest=96):
    rng = random.Random(f"{seed}")
    values = [rng.randint(-largest, largest) / 64 for _ in range(math.prod(shape))]
    return torch.tensor(values).reshape(shape)


def inputs():
    tokens = len(POSITIONS)
    return {
        **{name: draw(name, HEADS, tokens, WIDTH) for name in "qkv"},
        "x": draw("x", tokens, MODEL),
    }


# ------------------------------------------------------------------ bands and rotation
def frequencies(width, base):
    return [base ** (-2 * band / width) for band in range(width // 2)]


def fast_bands(width, length, base):
    """Bands that turn at least once in the window."""
    return sum(theta * length >= 2 * math.pi for theta in frequencies(width, base))


def rotate(x, angles):
    """Band j is the channels 2j and 2j + 1; angles are [token][band] or [head][token][band]."""
    cos, sin = angles.cos(), angles.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


def score(q, k):
    return q @ k.transpose(-1, -2) / math.sqrt(WIDTH)


def attend(scores, v):
    tokens = scores.shape[-1]
    ahead = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
    return scores.masked_fill(ahead, -math.inf).softmax(-1) @ v


def rotary_case(thetas, scale=1.0, **facts):
    given = inputs()
    angles = torch.tensor(POSITIONS, dtype=torch.float64)[:, None] * torch.tensor(thetas)
    q, k = (scale * rotate(given[name], angles) for name in "qk")
    return {**facts, "q_rot": q, "k_rot": k, "scores": score(q, k), "out": attend(score(q, k), given["v"])}


def rope(base):
    return rotary_case(frequencies(WIDTH, base), base=base)


def rope_half(base):
    """Band j is the channels j and j + d/2: interleaved rotation of channels in another order."""
    given = inputs()
    order = [channel for band in range(WIDTH // 2) for channel in (band, band + WIDTH // 2)]
    angles = torch.tensor(POSITIONS)[:, None] * torch.tensor(frequencies(WIDTH, base))
    turned = {}
    for name in "qk":
        turned[name] = torch.empty_like(given[name])
        turned[name][..., order] = rotate(given[name][..., order], angles)
    scores = score(turned["q"], turned["k"])
    return {"base": base, "q_rot_half": turned["q"], "k_rot_half": turned["k"], "scores": scores}


def nope():
    given = inputs()
    scores = score(given["q"], given["k"])
    return {"scores": scores, "out": attend(scores, given["v"])}


def hope(base):
    thetas, fast = frequencies(WIDTH, base), fast_bands(WIDTH, LENGTH, base)
    return rotary_case(thetas[:fast] + [0.0] * (len(thetas) - fast), base=base)


def yarn_frequencies(width, length, base, factor, ramp):
    def band_of(turns):
        return width * math.log(length / (2 * math.pi * turns)) / (2 * math.log(base))

    low, high = max(math.floor(band_of(32)), 0), min(math.ceil(band_of(1)), width - 1)
    if low == high:
        high += 0.001
    out = []
    for band, theta in enumerate(frequencies(width, base)):
        by_band = 1 - (band - low) / (high - low)
        by_turns = (length * theta / (2 * math.pi) - 1) / (32 - 1)
        keep = min(max(by_band if ramp == "code" else by_turns, 0), 1)
        out.append(keep * theta + (1 - keep) * theta / factor)
    return out


def yarn(base, factor, ramp="code", temperature=True):
    scale = 0.1 * math.log(factor) + 1 if temperature else 1.0
    thetas = yarn_frequencies(WIDTH, LENGTH, base, factor, ramp)
    return rotary_case(thetas, scale, base=base, factor=factor, ramp=ramp)


# ------------------------------------------------------------------ DaRoPE
def prior(position, length):
    place = min(max(position + 0.5, EPSILON * length), (1 - EPSILON) * length)
    return math.log(place / (length - place))


PARAMETERS = {
    "canonical": lambda slow: {"alpha": torch.tensor([0.5, 0.75])},
    "no_beta": lambda slow: {},
    "fixed_alpha": lambda slow: {},
    "per_band_alpha": lambda slow: {"alpha": draw("alpha", HEADS, slow, largest=48) + 0.5},
    "dynamic_alpha": lambda slow: {"u": draw("u", HEADS, MODEL, largest=16), "a": torch.tensor([0.5, 0.75])},
}


def coordinates(kind, x, parameters, slow):
    """[head][token][slow band], L times a sigmoid of content and prior."""
    content = (parameters["w"] @ x.T)[..., None]
    beta = torch.tensor([prior(m, LENGTH) for m in POSITIONS])[:, None]
    strength = {
        "canonical": lambda: parameters["alpha"][:, None, None],
        "no_beta": lambda: 0.0,
        "fixed_alpha": lambda: 0.5,
        "per_band_alpha": lambda: parameters["alpha"][:, None, :],
        "dynamic_alpha": lambda: (parameters["u"] @ x.T + parameters["a"][:, None])[..., None],
    }[kind]()
    return (LENGTH * torch.sigmoid(content + strength * beta)).expand(-1, -1, slow)


def darope(base, kind="canonical", slow=None):
    thetas = torch.tensor(frequencies(WIDTH, base))
    slow = WIDTH // 2 - fast_bands(WIDTH, LENGTH, base) if slow is None else slow
    fast = WIDTH // 2 - slow
    given = inputs()
    parameters = {"w": draw("w", HEADS, MODEL, largest=32), **PARAMETERS[kind](slow)}
    leaves = {name: t.clone().requires_grad_() for name, t in {**given, **parameters}.items()}
    learned = coordinates(kind, leaves["x"], leaves, slow)
    index = torch.tensor(POSITIONS, dtype=torch.float64)[None, :, None].expand(HEADS, -1, fast)
    angles = torch.cat([index, learned], -1) * thetas
    q, k = rotate(leaves["q"], angles), rotate(leaves["k"], angles)
    upstream = {"G_q_rot": draw("G_q", *q.shape), "G_k_rot": draw("G_k", *k.shape)}
    wanted = ["q", "k", "x", *parameters]
    grads = torch.autograd.grad((q, k), [leaves[name] for name in wanted], list(upstream.values()))
    names = {"x": "grad_x_coordinate_path"}
    return {
        **{"kind": kind, "base": base, "n_slow": slow, "params": parameters},
        **{"q_rot": q, "k_rot": k, "scores": score(q, k), "out": attend(score(q, k), given["v"])},
        "coord": learned if kind == "per_band_alpha" else learned[..., 0],
        **upstream,
        **{names.get(name, f"grad_{name}"): grad for name, grad in zip(wanted, grads)},
    }


# ------------------------------------------------------------------ PoPE and CoPE
def differentiate(case, out, leaves):
    d_out = draw("d_out", *out.shape)
    grads = torch.autograd.grad(out, list(leaves.values()), d_out)
    named = {f"grad_{name}": grad for name, grad in zip(leaves, grads)}
    return {**case, "out": out, "d_out": d_out, **named}


def pope(base, delta):
    """A frequency for every channel; magnitudes are softplus, phases the offset and a learned constant."""
    leaves = {name: t.requires_grad_() for name, t in {**inputs(), "delta": delta}.items() if name != "x"}
    theta = torch.tensor([base ** (-channel / WIDTH) for channel in range(WIDTH)])
    places = torch.tensor(POSITIONS, dtype=torch.float64)
    offset = (places[None, :] - places[:, None])[..., None] * theta  # [query][key][channel]
    mu = torch.nn.functional.softplus
    products = mu(leaves["q"])[:, :, None] * mu(leaves["k"])[:, None]
    scores = (products * (offset + leaves["delta"][:, None, None]).cos()).sum(-1) / math.sqrt(WIDTH)
    return differentiate({"base": base, "delta": delta}, attend(scores, leaves["v"]), leaves)


def cope(scaling, places=4, tokens=5):
    """Distances are sums of gates, clamped, and choose between learned vectors."""
    given = {name: draw(f"cope {name}", HEADS, tokens, WIDTH) for name in "qkv"}
    given["E"] = draw("cope E", places, WIDTH, largest=64)
    leaves = {name: t.clone().requires_grad_() for name, t in given.items()}
    q, k = leaves["q"], leaves["k"]
    content = score(q, k)
    gates = torch.sigmoid(content).tril()
    distance = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=places - 1)
    below = distance.detach().floor()
    part = distance - below
    vectors = q @ leaves["E"].T  # [head][query][place]
    lower = vectors.gather(-1, below.long())
    upper = vectors.gather(-1, (below.long() + 1).clamp(max=places - 1))
    bias = (1 - part) * lower + part * upper
    logits = content + (bias if scaling == "listing" else bias / math.sqrt(WIDTH))
    return differentiate({"npos_max": places, **given}, attend(logits, leaves["v"]), leaves)


# ------------------------------------------------------------------ the file
SETTINGS = [  # of the paper's models: head width, training length
    *[("LM 124M", 64, 4096), ("LM 1B", 128, 4096), ("JSB", 32, 2048), ("MAESTRO", 64, 2048)],
    *[("HRG", 64, 1000), ("Sleep-EDF", 32, 1024), ("tasks", 64, 256), ("tasks", 32, 256)],
]


def band_counts():
    rows = []
    for setting, width, length in SETTINGS:
        for base in (10000, 500000):
            fast = fast_bands(width, length, base)
            sizes = {"d": width, "L": length, "base": base}
            rows.append({"setting": setting, **sizes, "fast": fast, "slow": width // 2 - fast})
    return rows


def edges(length):
    """The coordinate without content, at half the prior, where the window begins and ends."""
    places = {"m=0": 0, "m=L/2": length // 2, "m=L-1": length - 1, "m=L": length, "m=4L": 4 * length}

    def coordinate(position):
        return length / (1 + math.exp(-0.5 * prior(position, length)))

    return {"L": length, **{name: {"coord_w0_alpha0.5": coordinate(m)} for name, m in places.items()}}


def cases():
    out = {f"rope_base{base}": rope(base) for base in (10000, 500000)}
    out["rope_base10000_rotate_half"] = rope_half(10000)
    out["nope"] = nope()
    out |= {f"hope_base{base}": hope(base) for base in (10000, 500000, 20)}
    out |= {f"yarn_base{base}_s4": yarn(base, 4) for base in (500000, 20)}
    out["yarn_base20_s4_paper_ramp"] = yarn(20, 4, "paper")
    out["yarn_base20_s4_no_temperature"] = yarn(20, 4, temperature=False)
    out["pope_base10000_delta0"] = pope(10000, torch.zeros(HEADS, WIDTH))
    out["pope_base10000"] = pope(10000, -2 * math.pi * draw("delta", HEADS, WIDTH, largest=32).abs())
    out |= {f"cope_{scaling}": cope(scaling) for scaling in ("listing", "scaled")}
    for base in (500000, 20):
        for kind in PARAMETERS:
            out[f"darope_base{base}" + ("" if kind == "canonical" else f"_{kind}")] = darope(base, kind)
    out["darope_base20_forced_split"] = darope(20, slow=1)
    return out


def everything():
    sizes = {"H": HEADS, "d": WIDTH, "d_model": MODEL, "L": LENGTH, "positions": POSITIONS}
    yarns = {}
    for width in (64, 128):
        ramps = {r: yarn_frequencies(width, 4096, 500000, 4, r) for r in ("code", "paper")}
        name = f"d{width}_L4096_base500000_s4"
        yarns[name] = {f"inv_freq_{ramp}_ramp": values for ramp, values in ramps.items()}
    return {
        "inputs": {**sizes, **inputs()},
        "cases": cases(),
        "band_counts": band_counts(),
        "beta_edges": [edges(length) for length in (16, 256, 1000, 4096)],
        "yarn_real_configs": yarns,
        "score_rules": score_rules(),
    }


# ------------------------------------------------------------------ rules of scores
def alibi_slopes(heads):
    """As its paper has them: 2^(-8/H), its powers; between powers of two, every other one of the next."""
    below = 2 ** int(math.log2(heads))
    slopes = [2 ** (-8 * (h + 1) / below) for h in range(below)]
    between = [2 ** (-8 * (h + 1) / (2 * below)) for h in range(0, 2 * below, 2)]
    return slopes + between[: heads - below]


def t5_bucket(distance, count=32, far=128):
    """A distance to itself up to half the buckets, the others by its logarithm."""
    near = count // 2
    if distance < near:
        return distance
    step = math.log2(distance / near) / math.log2(far / near) * (count - near)
    return min(count - 1, near + math.floor(step))


def fire_case(i, j, case):
    u = math.log(case["c"] * (i - j) + 1) / (math.log(case["c"] * max(i, case["L"]) + 1) + EPSILON)
    hidden = [max(0.0, w * u + b) for w, b in zip(case["W1"], case["b1"])]
    bias = [sum(w * h for w, h in zip(row, hidden)) + b for row, b in zip(case["W2"], case["b2"])]
    return {"i": i, "j": j, "u": u, "bias": bias}


def score_rules():
    near_and_far = [0, 1, 7, 15, 16, 17, 18, 20, 23, 24, 31, 32, 46, 63, 64, 91, 112, 113, 127, 128, 1000]
    kerple = {"distance": [0, 1, 5, 17], "r1": 1.5, "r2": 0.25}
    kerple["log"] = [-kerple["r1"] * math.log1p(kerple["r2"] * d) for d in kerple["distance"]]
    fire = {"c": 0.125, "L": 16.0, "W1": [0.5, -1.0, 2.0, 0.25], "b1": [0.0, 0.5, -0.25, 0.125]}
    fire |= {"W2": [[1.0, 0.5, -0.5, 0.25], [-0.25, 1.0, 0.5, 2.0]], "b2": [0.125, -0.5]}
    places = [(3, 3), (7, 2), (15, 0), (21, 0), (21, 20)]
    return {
        "alibi_slopes": {str(heads): alibi_slopes(heads) for heads in (1, 2, 8, 12, 16, 20)},
        "t5_causal_buckets_32_128": {
            "distance": near_and_far,
            "bucket": [t5_bucket(distance) for distance in near_and_far],
        },
        "kerple": kerple,
        "fire": fire | {"cases": [fire_case(i, j, fire) for i, j in places]},
    }


def main():
    text = json.dumps(everything(), default=lambda tensor: tensor.tolist())
    if "--check" in sys.argv:
        # Another machine's exp and cos may differ in the last place.
        same = compare(json.loads(text), json.loads(FILE.read_text()))
        return print("vectors: encodings.json is another file") or 1 if not same else 0
    FILE.write_text(text + "\n")
    return 0


def compare(a, b):
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(compare(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(compare, a, b))
    return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-13) if isinstance(a, float) else a == b


if __name__ == "__main__":
    sys.exit(main())
