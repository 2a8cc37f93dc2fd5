"""darope.hf against the C++ decoder on the same weights: logits, generation, padding, files, one step."""

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import darope
import pytest
import torch
from conftest import NAMES, ROOT
from safetensors.torch import load_file

pytest.importorskip("transformers", reason="needs transformers")
import transformers  # noqa: E402
from darope.hf import DaropeConfig, DaropeForCausalLM, ProjectParameters  # noqa: E402

BUILD = Path(os.environ.get("DAROPE_BUILD", ROOT / "build"))
ALONE = [str(row["name"]) for row in darope.encodings() if not row["grouped_heads"]]
MIXED = "darope;nope"
EMBEDDED = "learned;darope"
YARN = "yarn:factor=4,ramp=paper"
ROWS = ((5 * torch.arange(82) + torch.arange(82) ** 2) % 13).view(2, 41)
TOKENS, NEXT = ROWS[:, :-1], ROWS[:, 1:].contiguous()
auto = transformers.AutoModelForCausalLM.from_pretrained
transformers.utils.logging.disable_progress_bar()


def probe(folder, style, encoding):
    """The C++ decoder's files in a folder, of the weights there or of new ones."""
    kv_heads = 4 if darope.base_name(encoding.partition(";")[0]) in ALONE else 2
    words = [BUILD / "hf_probe", style, encoding, str(kv_heads), folder]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return load_file(folder / "logits.safetensors")["logits"].view(2, 40, 13)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """Weights of C++, their encoding's drawn off the starting points: the folder and C++'s logits."""
    made = {}

    def make(encoding, style="lingua"):
        if (encoding, style) not in made:
            folder = tmp_path_factory.mktemp("checkpoint")
            probe(folder, style, encoding)
            model = auto(folder)
            torch.manual_seed(1)
            with torch.no_grad():
                for module in model.modules():
                    if isinstance(module, darope.Encoding):
                        for parameter in module.parameters():
                            parameter += 0.3 * torch.randn_like(parameter)
                        module.project_parameters()
            model.save_pretrained(folder)
            made[encoding, style] = folder, probe(folder, style, encoding)
        return made[encoding, style]

    return make


@torch.no_grad()
@pytest.mark.parametrize("style", ["lingua", "nanogpt"])
@pytest.mark.parametrize("encoding", [*NAMES, MIXED, EMBEDDED, "sinusoidal:scale=1", YARN])
def test_logits_are_those_of_the_program(checkpoint, encoding, style):
    folder, expected = checkpoint(encoding, style)
    model = auto(folder)
    assert model.config.encoding.partition(":")[0] == encoding.partition(":")[0] or ";" in encoding
    assert expected.std() > 0.3 and (expected - model(TOKENS).logits).abs().max() < 1e-5


@torch.no_grad()
@pytest.mark.parametrize("style, part", [("lingua", "gelu"), ("nanogpt", "swiglu")])
def test_a_style_with_the_other_feed_forward_part(checkpoint, style, part):
    folder, expected = checkpoint("rope", f"{style}/{part}")
    model = auto(folder)
    assert (model.config.block_style, model.config.feed_forward) == (style, part)
    assert (expected - model(TOKENS).logits).abs().max() < 1e-5


def test_a_feed_forward_part_of_elsewhere_is_refused(checkpoint, tmp_path):
    config = json.loads((checkpoint("rope")[0] / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "feed_forward": "two-experts"}))
    with pytest.raises(ValueError, match="feed_forward is 'two-experts', which darope.hf does not have"):
        auto(tmp_path)
    del config["feed_forward"]  # as the trainer wrote it before there was a choice
    assert DaropeConfig.from_dict(config).feed_forward == "swiglu"


@torch.no_grad()
@pytest.mark.parametrize("implementation", ["eager", "sdpa", "flex_attention"])
def test_attention_of_transformers(checkpoint, implementation):
    for encoding in (MIXED,) if implementation == "flex_attention" else ("rope", "darope", MIXED):
        folder, expected = checkpoint(encoding)
        model = auto(folder, attn_implementation=implementation)
        assert (expected - model(TOKENS).logits).abs().max() < 1e-5


@torch.no_grad()
@pytest.mark.parametrize("encoding", [*NAMES, MIXED, EMBEDDED])
def test_generation_with_every_cache_and_padding(checkpoint, encoding):
    model = auto(checkpoint(encoding)[0])
    prompt = TOKENS[:, :11]
    settings = dict(max_new_tokens=12, do_sample=False, eos_token_id=None)  # beyond the training length
    alone = model.generate(prompt, attention_mask=torch.ones_like(prompt), use_cache=False, **settings)
    for cache in ("dynamic", "static"):
        cached = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), cache_implementation=cache, **settings
        )
        assert torch.equal(alone, cached)
    short = torch.cat([prompt[:1, :1].expand(1, 4), prompt[1:, :7]], 1)  # of 7 tokens behind padding
    mask = torch.ones_like(prompt)
    mask[1, :4] = 0
    together = model.generate(torch.cat([prompt[:1], short]), attention_mask=mask, **settings)
    single = model.generate(prompt[1:, :7], attention_mask=torch.ones(1, 7), **settings)
    assert torch.equal(together[0], alone[0]) and torch.equal(together[1, 4:], single[0])


@torch.no_grad()
@pytest.mark.parametrize("encoding", NAMES)
def test_padding_on_either_side_changes_no_logit(checkpoint, encoding):
    folder, expected = checkpoint(encoding)
    model = auto(folder)
    padded = torch.nn.functional.pad(TOKENS, (5, 3), value=7)
    mask = torch.nn.functional.pad(torch.ones_like(TOKENS), (5, 3))
    assert (expected - model(padded, attention_mask=mask).logits[:, 5:-3]).abs().max() < 2e-5


@torch.no_grad()
def test_beams_find_what_they_find_without_a_cache(checkpoint):
    for encoding in ("darope", "cope", "pope", "fire"):
        model = auto(checkpoint(encoding)[0])
        prompt, mask = TOKENS[:, :9], torch.ones(2, 9)
        found = [
            model.generate(prompt, attention_mask=mask, num_beams=3, max_new_tokens=8, use_cache=cache)
            for cache in (True, False)
        ]
        assert torch.equal(*found)


@pytest.mark.parametrize("encoding", [*NAMES, MIXED, EMBEDDED])
def test_files_go_round_byte_for_byte(checkpoint, encoding, tmp_path):
    folder, _ = checkpoint(encoding)
    probe(folder, "lingua", encoding)
    auto(folder).save_pretrained(tmp_path)
    name = "model.safetensors"
    assert (folder / name).read_bytes() == (tmp_path / name).read_bytes()
    first, second = DaropeConfig.from_pretrained(folder), DaropeConfig.from_pretrained(tmp_path)
    assert first.position_encoding == second.position_encoding and second.eos_token_id == 12
    assert first.to_diff_dict() == second.to_diff_dict()


def groups(model, style):
    """Which weights decay, as the trainer has it."""
    decays = [p for p in model.parameters() if style == "lingua" or p.dim() > 1]
    rest = [p for p in model.parameters() if style != "lingua" and p.dim() < 2]
    return [dict(params=decays, weight_decay=0.1), dict(params=rest, weight_decay=0.0)]


@pytest.mark.parametrize("style", ["lingua", "nanogpt"])
@pytest.mark.parametrize(
    "encoding", ["rope", "darope", "cope", "pope", "fire", "sinusoidal", "learned", EMBEDDED]
)
def test_a_step_is_that_of_the_program(checkpoint, encoding, style):
    folder, _ = checkpoint(encoding, style)
    model = auto(folder).train()
    optimizer = torch.optim.AdamW(groups(model, style), lr=1e-2, betas=(0.9, 0.95), eps=1e-2)
    model(TOKENS, labels=TOKENS, shift_labels=NEXT).loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    ProjectParameters().on_optimizer_step(None, None, None, model=model)
    expected, state = load_file(folder / "stepped.safetensors"), model.state_dict()
    before = load_file(folder / "model.safetensors")
    for name, tensor in expected.items():
        assert (tensor - state[name]).abs().max() < 1e-6, name
    assert any((tensor - before[name]).abs().max() > 1e-3 for name, tensor in expected.items())


@pytest.mark.parametrize("encoding", NAMES)
def test_gradient_checkpointing_changes_no_gradient(checkpoint, encoding):
    model = auto(checkpoint(encoding)[0]).train()
    other = copy.deepcopy(model)
    other.gradient_checkpointing_enable()
    for each in (model, other):
        each(TOKENS, labels=TOKENS).loss.backward()
    for a, b in zip(model.parameters(), other.parameters()):
        assert (a.grad is None and b.grad is None) or torch.allclose(a.grad, b.grad, atol=1e-7)


@torch.no_grad()
@pytest.mark.parametrize("encoding", NAMES)
def test_bfloat16_keeps_the_encoding_in_float32(checkpoint, encoding):
    folder, expected = checkpoint(encoding)
    model = auto(folder, dtype=torch.bfloat16)
    for name, parameter in model.named_parameters():
        ours = f".{encoding}." in name
        assert parameter.dtype == (torch.float32 if ours else torch.bfloat16), name
    rounded = auto(folder)
    for parameter in rounded.parameters():
        parameter.copy_(parameter.bfloat16())
    apart = (model(TOKENS).logits.float() - expected).abs().mean()
    least = (rounded(TOKENS).logits - expected).abs().mean()  # from rounding the weights alone
    assert 0 < apart < 4 * least + 0.05


@torch.no_grad()
def test_another_encoding_that_the_weights_fit(checkpoint):
    folder, expected = checkpoint("rope")
    model = auto(folder, encoding=YARN)
    assert model.config.encoding == f"{YARN},base=100.0"
    assert (model(TOKENS).logits - expected).abs().max() > 1e-3
    assert torch.equal(auto(folder, encoding="rope").eval()(TOKENS).logits, auto(folder)(TOKENS).logits)


def test_bad_input_gets_one_sentence(checkpoint, tmp_path):
    folder, _ = checkpoint("darope")
    model = auto(folder)
    holes = torch.ones_like(TOKENS)
    holes[1, 3] = 0
    for sentence, call in {
        "mask has a hole in row 1": lambda: model(TOKENS, attention_mask=holes),
        "attention_mask must be": lambda: model(TOKENS, attention_mask=holes[:, :5]),
        "position_ids go backwards": lambda: model(
            TOKENS, position_ids=(39 - torch.arange(40)).expand(2, -1)
        ),
        "has, beyond the model,": lambda: auto(folder, encoding="rope"),
        r"for layer 0: learned\S* is added to the embeddings": lambda: auto(folder, encoding="rope;learned"),
        "lacks model.embed_positions.learned.table": lambda: auto(folder, encoding="learned;darope"),
        "lacks model.layers.0": lambda: auto(checkpoint("rope")[0], encoding="darope"),
        "encoding 'dorape'": lambda: auto(folder, encoding="dorape"),
        "needs as many key as query": lambda: auto(folder, encoding="cope"),
    }.items():
        with pytest.raises(ValueError, match=sentence):
            call()
    (tmp_path / "other").mkdir()
    with pytest.raises(ValueError, match="other is no checkpoint: it has no config.json"):
        DaropeForCausalLM.from_pretrained(tmp_path / "other")
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(ValueError, match="holds no checkpoint yet"):
        DaropeForCausalLM.from_pretrained(tmp_path)


def test_weights_that_do_not_fit_their_config_are_refused(checkpoint, tmp_path):
    auto(checkpoint("darope")[0]).save_pretrained(tmp_path)
    config, weights = tmp_path / "config.json", tmp_path / "model.safetensors"
    kept = config.read_text()
    config.write_text(kept.replace('"vocab_size": 13', '"vocab_size": 17'))
    with pytest.raises(
        ValueError, match=r"in the shape \[13, \d+\] and not \[17, \d+\]: does config.json"
    ) as told:
        auto(tmp_path)
    assert "\n" not in str(told.value)
    config.write_text(kept)
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(ValueError, match="holds weights that are damaged"):
        auto(tmp_path)


def test_the_package_works_without_transformers():
    code = (
        "import sys; sys.modules['transformers'] = None; import darope; darope.encodings()\n"
        "try: import darope.hf\n"
        "except ImportError as e: print(e)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0 and "pip install 'darope[hf]'" in done.stdout, done.stderr
