"""The decoder's loss and every gradient against the same decoder in PyTorch, written here from the papers'
equations and
differentiated by autograd, in float64. Weights come from the program's own checkpoint, under Hugging Face
names."""

import math
import subprocess

import pytest
import torch
import torch.nn.functional as F
from programs import BUILD
from safetensors.torch import load_file

HEADS, WIDTH, HEAD, LAYERS, LENGTH = 3, 24, 8, 2, 16


def tokens():
    i = torch.arange(26)
    ids = ((5 * i + i * i) % 13).view(2, 13)
    return ids[:, :-1], ids[:, 1:]


def theta(base):
    return base ** (-2 * torch.arange(HEAD // 2, dtype=torch.float64) / HEAD)


def turn(x, angle):
    """Half-split pairs (j, j + d/2) of x [B, T, H, d] turned by angle [..., d/2]."""
    a, b = x.chunk(2, -1)
    return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)


def softmax_attention(logits, v):
    future = torch.ones(logits.shape[-2:], dtype=torch.bool).triu(1)
    return torch.einsum("bhij,bjhd->bihd", logits.masked_fill(future, -math.inf).softmax(-1), v)


def rotary(q, k, v, angle):
    return softmax_attention(
        torch.einsum("bihd,bjhd->bhij", turn(q, angle), turn(k, angle)) / math.sqrt(HEAD), v
    )


def attend(name, p, q, k, v, x):
    """p: the layer's learned tensors under the paper's letters."""
    m = torch.arange(q.shape[1], dtype=torch.float64)
    frequencies = theta(500_000.0)
    fast = frequencies >= 2 * math.pi / LENGTH
    index = (m[:, None] * frequencies)[None, :, None, :]  # [1, T, 1, d/2]
    if name in ("nope", "sinusoidal", "learned"):
        return rotary(q, k, v, torch.zeros_like(index))
    if name == "rope":
        return rotary(q, k, v, index)
    if name == "hope":
        return rotary(q, k, v, index * fast)
    if name == "pope":
        channel = 10_000.0 ** (-torch.arange(HEAD, dtype=torch.float64) / HEAD)
        phase = m[:, None] * channel
        difference = phase[:, None] - phase[None]  # [Tq, Tk, d]: the query's phase less the key's
        logits = torch.einsum(
            "bihc,bjhc,ijhc->bhij",
            F.softplus(q, threshold=50),
            F.softplus(k, threshold=50),
            (difference[:, :, None] - p["delta"]).cos(),
        )
        return softmax_attention(logits / math.sqrt(HEAD), v)
    if name == "cope":
        content = torch.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(HEAD)
        allowed = torch.ones(content.shape[-2:], dtype=torch.bool).tril()
        gates = content.sigmoid() * allowed
        top = p["embedding"].shape[0] - 1
        counted = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=top)  # from each key up to the query
        by_place = torch.einsum("bihd,pd->bhip", q, p["embedding"])
        low = counted.floor().detach().long()
        share = counted - low
        near, far = by_place.gather(-1, low), by_place.gather(-1, (low + 1).clamp(max=top))
        return softmax_attention(content + (1 - share) * near + share * far, v)
    beta = torch.logit((m + 0.5) / LENGTH)[None, :, None]  # [1, T, 1]
    logit = torch.einsum("btc,hc->bth", x, p["w"])
    if name == "darope":
        logit = logit + p["alpha"] * beta
    elif name == "darope-fixed-alpha":
        logit = logit + 0.5 * beta
    elif name == "darope-per-band":
        logit = logit[..., None] + p["alpha"] * beta[..., None]
    elif name == "darope-dynamic":
        strength = p["a"] + torch.einsum("btc,hc->bth", x, p["u"])
        logit = logit + strength * beta
    coordinate = LENGTH * logit.sigmoid()
    if name != "darope-per-band":
        coordinate = coordinate[..., None]
        return rotary(q, k, v, torch.where(fast, index, coordinate * frequencies))
    slow = torch.cat(
        [torch.zeros(*coordinate.shape[:-1], int(fast.sum()), dtype=torch.float64), coordinate], -1
    )
    return rotary(q, k, v, torch.where(fast, index, slow * frequencies))


def embedded(name, w, inputs):
    x, m = F.embedding(inputs, w["model.embed_tokens.weight"]), torch.arange(inputs.shape[1])
    if name == "sinusoidal":
        channel = torch.arange(WIDTH)
        angle = m[:, None].double() / 10_000.0 ** (2 * (channel // 2).double() / WIDTH)
        x = x + torch.where(channel % 2 == 0, angle.sin(), angle.cos()) / math.sqrt(WIDTH)
    if name == "learned":
        x = x + w["model.embed_positions.learned.table"][m]
    return x


def decode(style, name, w, inputs, targets):
    x = embedded(name, w, inputs)

    def norm(t, weight):
        return t / (t.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight

    for i in range(LAYERS):
        at = f"model.layers.{i}."
        p = {
            key.rsplit(".", 1)[1]: value
            for key, value in w.items()
            if key.startswith(at + "self_attn.") and "proj" not in key
        }
        y = norm(x, w[at + "input_layernorm.weight"])
        q, k, v = (
            F.linear(y, w[f"{at}self_attn.{c}_proj.weight"]).unflatten(-1, (HEADS, HEAD)) for c in "qkv"
        )
        x = x + F.linear(attend(name, p, q, k, v, y).flatten(2), w[at + "self_attn.o_proj.weight"])
        y = norm(x, w[at + "post_attention_layernorm.weight"])
        up = F.linear(y, w[at + "mlp.up_proj.weight"])
        inner = F.silu(F.linear(y, w[at + "mlp.gate_proj.weight"])) * up if style == "lingua" else F.gelu(up)
        x = x + F.linear(inner, w[at + "mlp.down_proj.weight"])
    head = w.get("lm_head.weight", w["model.embed_tokens.weight"])
    return F.cross_entropy(F.linear(norm(x, w["model.norm.weight"]), head).flatten(0, 1), targets.flatten())


@pytest.mark.parametrize("style", ["lingua", "nanogpt"])
@pytest.mark.parametrize(
    "name",
    [
        "nope",
        "sinusoidal",
        "learned",
        "rope",
        "hope",
        "pope",
        "cope",
        "darope",
        "darope-no-prior",
        "darope-fixed-alpha",
        "darope-per-band",
        "darope-dynamic",
    ],
)
def test_gradients(tmp_path, style, name):
    spec = "pope:delta_init=uniform" if name == "pope" else "cope:npos_max=6" if name == "cope" else name
    done = subprocess.run([BUILD / "gradient_probe", style, spec, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    weights = {
        key: value.requires_grad_() for key, value in load_file(tmp_path / "model.safetensors").items()
    }
    theirs = load_file(tmp_path / "gradients.safetensors")
    loss = decode(style, name, weights, *tokens())
    assert abs(loss.item() - float(done.stdout)) < 1e-10
    loss.backward()
    assert weights.keys() == theirs.keys()
    for key, value in weights.items():
        torch.testing.assert_close(
            theirs[key], value.grad, rtol=1e-8, atol=1e-10, msg=lambda text, key=key: f"{key}: {text}"
        )
        assert value.grad.abs().max() > 0 or key.endswith("embedding"), key
