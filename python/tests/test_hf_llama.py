"""examples/hf_llama.py: the encodings inside a Hugging Face Llama, judged by the stock model."""

import runpy
import subprocess
import sys

import pytest
import torch
from conftest import LEARNED, ROOT, ROTARY
from torch import nn

transformers = pytest.importorskip("transformers", reason="needs transformers")
EXAMPLE = ROOT / "examples" / "hf_llama.py"
use = runpy.run_path(str(EXAMPLE))["use"]
WINDOW = 32


def llama(dtype=torch.float32, kv_heads=2, **settings):
    """A small random model, the same at every call."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=61,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=kv_heads,
        head_dim=16,
        max_position_embeddings=WINDOW,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=0,
        initializer_range=0.3,
        **settings,
    )
    return transformers.LlamaForCausalLM(config).to(dtype).eval()


class ExactTables(nn.Module):
    """Llama's cosines and sines without its rounding of angles to float32."""

    def __init__(self, base, head_dim):
        super().__init__()
        self.theta = base ** -(torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)

    def forward(self, x, position_ids):
        angles = (position_ids[..., None] * self.theta).repeat(1, 1, 2)
        return angles.cos(), angles.sin()


def exact(model):
    """Without the two float32 islands of a float64 Llama: its angles and its norms."""
    config = model.config
    model.model.rotary_emb = ExactTables(config.rope_parameters["rope_theta"], config.head_dim)

    def norm():
        return nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps, dtype=torch.float64)

    model.model.norm = norm()
    for layer in model.model.layers:
        layer.input_layernorm, layer.post_attention_layernorm = norm(), norm()
    return model


def tokens(rows=2, length=WINDOW, seed=1):
    return torch.randint(1, 61, (rows, length), generator=torch.Generator().manual_seed(seed))


def as_rope(model):
    """DaRoPE at the point where its coordinate is the index, half a token on."""
    use(model, "darope")
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.encoding.w.zero_()
            layer.self_attn.encoding.alpha.fill_(1)
    return model


@torch.no_grad()
@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize(
    "encode", [lambda model: use(model, "rope"), as_rope], ids=["rope", "darope at w=0, alpha=1"]
)
def test_logits_are_those_of_the_stock_model(encode, kv_heads, implementation):
    settings = dict(
        kv_heads=kv_heads,
        attn_implementation=implementation,
        rope_parameters=dict(rope_type="default", rope_theta=500.0),
    )
    stock, ours = llama(**settings)(tokens()).logits, encode(llama(**settings))(tokens()).logits
    assert stock.std() > 0.5  # not a model that says the same everywhere
    assert (stock - ours).abs().max() < 2e-5 * stock.abs().max()
    assert (stock - use(llama(**settings), "nope")(tokens()).logits).abs().max() > 0.1 * stock.abs().max()


@torch.no_grad()
@pytest.mark.parametrize(
    "encode", [lambda model: use(model, "rope"), as_rope], ids=["rope", "darope at w=0, alpha=1"]
)
def test_logits_are_those_of_the_stock_model_to_float64(encode):
    stock, ours = (
        exact(llama(torch.float64))(tokens()).logits,
        encode(exact(llama(torch.float64)))(tokens()).logits,
    )
    assert (stock - ours).abs().max() < 1e-12 * stock.abs().max()


@torch.no_grad()
def test_rope_goes_on_beyond_the_window_and_darope_does_not():
    stock, rope, darope = llama(), use(llama(), "rope"), as_rope(llama())
    ids = tokens(length=2 * WINDOW)
    expected = stock(ids).logits
    scale = expected.abs().max()
    assert (expected - rope(ids).logits).abs().max() < 2e-5 * scale
    apart = (expected - darope(ids).logits).abs().amax((0, 2))
    assert apart[:WINDOW].max() < 2e-5 * scale
    assert apart[WINDOW:].max() > 1e-2 * scale


@torch.no_grad()
@pytest.mark.parametrize("name", ROTARY)
def test_generation_with_and_without_the_cache(name):
    model = use(llama(torch.float64), name)
    prompt = tokens(length=WINDOW - 6)
    settings = dict(
        max_new_tokens=12, do_sample=False, output_logits=True, return_dict_in_generate=True
    )  # beyond the window
    cached, whole = (
        model.generate(prompt, use_cache=True, **settings),
        model.generate(prompt, use_cache=False, **settings),
    )
    assert torch.equal(cached.sequences, whole.sequences)
    assert (torch.stack(cached.logits) - torch.stack(whole.logits)).abs().max() < 1e-5  # norms in float32


@torch.no_grad()
@pytest.mark.parametrize("name", ROTARY)
def test_left_padding_changes_nothing(name):
    model = use(llama(torch.float64), name)
    short, long = tokens(1, 5, seed=2), tokens(1, 9, seed=3)
    padded = torch.cat([torch.cat([torch.zeros(1, 4, dtype=torch.long), short], 1), long])
    mask = (padded != 0).long()
    position_ids = (mask.cumsum(1) - 1).clamp(min=0)
    logits = model(padded, attention_mask=mask, position_ids=position_ids).logits
    for row, alone in enumerate((short, long)):
        assert (logits[row, -alone.shape[1] :] - model(alone).logits[0]).abs().max() < 1e-5
    together = model.generate(padded, attention_mask=mask, max_new_tokens=6, do_sample=False)
    for row, alone in enumerate((short, long)):
        assert torch.equal(
            together[row, -6:],
            model.generate(alone, attention_mask=torch.ones_like(alone), max_new_tokens=6, do_sample=False)[
                0, -6:
            ],
        )


@pytest.mark.parametrize("name", LEARNED)
def test_training_reaches_the_parameters_of_every_layer(name):
    stock, model = llama(), use(llama(), name).train()
    fresh = set(model.state_dict()) - set(stock.state_dict())
    assert {key.rsplit(".", 1)[0] for key in fresh} == {
        f"model.layers.{i}.self_attn.encoding" for i in range(3)
    }
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    parameters, losses = dict(model.named_parameters()), []
    for step in range(4):
        loss = model(tokens(), labels=tokens()).loss
        loss.backward()
        if step == 0:
            for key in fresh:
                assert parameters[key].grad.abs().max() > 0, key
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    twin = use(llama(), name)
    twin.load_state_dict(model.state_dict())
    assert torch.equal(twin(tokens()).logits, model.eval()(tokens()).logits)


def test_runs_as_a_script():
    run = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    before, after, generated = (line.split(":")[1].strip() for line in run.stdout.splitlines())
    assert int(after) - int(before) == 2 * 2 * (64 + 1)  # two layers, two key heads, w of 64 and alpha of 1
    assert len(generated.split(",")) == 8
