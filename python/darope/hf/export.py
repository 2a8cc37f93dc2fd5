"""A run for others: a folder that Hugging Face's library loads, with this package or without it."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from .. import base_name
from ..files import new_folder
from ..terminal import Damaged
from .card import card_of
from .configuration import DaropeConfig
from .modeling import DaropeForCausalLM
from .tokenizer import tokenizer_for

__all__ = ["compare_logits", "export_hf", "export_stock", "stock_config"]

REMOTE_CODE = "modeling_darope.py"


def export_hf(run: Path, out: Path) -> None:
    """The model as it is; who loads it needs this package, and is told so."""
    with new_folder(out) as folder:
        model = DaropeForCausalLM.from_pretrained(run)
        module = Path(REMOTE_CODE).stem
        model.config.auto_map = {
            "AutoConfig": f"{module}.DaropeConfig",
            "AutoModelForCausalLM": f"{module}.DaropeForCausalLM",
        }
        _save(model, run, folder)
        (folder / REMOTE_CODE).write_text((Path(__file__).parent / "remote_code.py").read_text())
        compare_logits(model, DaropeForCausalLM.from_pretrained(folder), 0)


def export_stock(run: Path, out: Path, encoding: str | None = None) -> None:
    """As a Llama, where it is one."""
    options = {} if encoding is None else {"encoding": encoding}
    with new_folder(out) as folder:
        config = stock_config(DaropeConfig.from_pretrained(run, **options))
        model = DaropeForCausalLM.from_pretrained(run, **options)
        stock = LlamaForCausalLM(config)  # of sizes that the weights have
        stock.load_state_dict(model.state_dict())
        _save(stock, run, folder)
        compare_logits(model, LlamaForCausalLM.from_pretrained(folder, use_safetensors=True), 1e-4)


def stock_config(config: DaropeConfig) -> LlamaConfig:
    if config.feed_forward != "swiglu":
        raise ValueError(
            f"a model with {config.feed_forward} is no Llama, whose feed-forward part has a gate; "
            "export it with --to hf"
        )
    own = (
        "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads "
        "head_dim max_position_embeddings rms_norm_eps tie_word_embeddings bos_token_id eos_token_id "
        "pad_token_id"
    )
    return LlamaConfig(
        **{key: getattr(config, key) for key in own.split()}, rope_parameters=_rope_parameters(config)
    )


def _rope_parameters(config: DaropeConfig) -> dict[str, object]:
    """How a Llama turns q and k."""
    names, length = set(config.layer_encodings), config.position_encoding["train_length"]
    if len(names) > 1:
        raise ValueError("a Llama has one encoding in all layers, this model several; export it with --to hf")
    (name,) = names
    kind, options = (
        base_name(name),
        dict(each.split("=") for each in name.partition(":")[2].split(",") if each),
    )
    theta = float(options.pop("base", config.position_encoding.get("base", 500_000.0)))
    if kind == "rope" and not options:
        return {"rope_type": "default", "rope_theta": theta}
    if kind == "yarn" and options.keys() <= {"factor"}:
        factor = float(options.get("factor", 4))
        return {
            "rope_type": "yarn",
            "rope_theta": theta,
            "factor": factor,
            "original_max_position_embeddings": length,
        }
    if kind == "hope" and not options:
        fast = config.position_encoding["num_fast_bands"]
        still = 1e30  # as good as no rotation; JSON has no infinity
        factors = [1.0] * fast + [still] * (config.head_dim // 2 - fast)
        return {
            "rope_type": "longrope",
            "rope_theta": theta,
            "factor": 1.0,
            "attention_factor": 1.0,
            "original_max_position_embeddings": length,
            "short_factor": factors,
            "long_factor": factors,
        }
    raise ValueError(
        f"stock transformers cannot express {name}: it knows rope, yarn with its factor, and hope; "
        "export it with --to hf"
    )


@torch.no_grad()
def compare_logits(ours, theirs, tolerance: float, length: int | None = None) -> None:
    """On random tokens, to the training length and beyond it unless `length` says otherwise."""
    generator = torch.Generator().manual_seed(0)
    length = length or min(2 * ours.config.max_position_embeddings, 4096)
    ids = torch.randint(ours.config.vocab_size, (2, length), generator=generator)
    expected = ours.eval()(ids).logits
    apart = (expected - theirs.eval()(ids).logits).abs().max().item()
    if not apart <= tolerance * expected.abs().max().item():
        raise Damaged(f"the logits of what was written differ by up to {apart:.3g} from what was read")


def _save(model, run: Path, out: Path) -> None:
    model.save_pretrained(out)
    tokenizer = tokenizer_for(run)
    if tokenizer is not None:
        tokenizer.save_pretrained(out)
    (out / "README.md").write_text(card_of(run, model))
