"""A Llama-style model with RoPE becomes a run of the trainer, under another encoding."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

from .. import base_name, folders
from ..encoding import Encoding
from ..files import new_folder, sha256_of_file
from .configuration import DaropeConfig
from .export import compare_logits
from .modeling import DaropeForCausalLM
from .weights import require_plain_weights

__all__ = ["import_llama"]


def import_llama(source: Path, encoding: str, out: Path) -> None:
    """Writes OUT/checkpoints/0000000000, from which `darope train OUT/import.yaml` goes on. DaRoPE begins at
    w = 0, alpha = 1, where it is RoPE inside the window; that is checked by logits."""
    require_plain_weights(source)
    with new_folder(out) as folder:
        config = daropes_config(AutoConfig.from_pretrained(source, trust_remote_code=False), encoding)
        stock = AutoModelForCausalLM.from_pretrained(
            source, dtype=torch.float32, use_safetensors=True, trust_remote_code=False
        )
        model = DaropeForCausalLM(config)
        fresh, unknown = model.load_state_dict(stock.state_dict(), strict=False)
        of_encoding = {f".{name}." for name in map(base_name, config.layer_encodings)}
        missing = [name for name in fresh if not any(part in name for part in of_encoding)]
        if missing or unknown:
            raise ValueError(
                f"{source} is no plain Llama: {', '.join([*missing, *unknown][:3])} has no counterpart"
            )
        begin_as_rope(model)
        if {base_name(name) for name in config.layer_encodings} <= {"rope", "darope"}:
            compare_logits(stock, model, 1e-4, config.max_position_embeddings)
        write_run(model, folder)
        (folder / "import.yaml").write_text(_settings(config, out))


def daropes_config(config, encoding: str) -> DaropeConfig:
    """The same model as the trainer describes it, or the reason why there is none."""
    if config.model_type != "llama":  # others have norms, biases or layers of their own
        raise ValueError(f"the model cannot become a run: its type is {config.model_type}, not llama")
    rope = dict(getattr(config, "rope_parameters", None) or {})
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    wanted = {
        "its projections have biases": not (config.attention_bias or config.mlp_bias),
        f"its activation is {config.hidden_act}, not silu": config.hidden_act == "silu",
        f"its rope_type is {rope.get('rope_type')}, not default": rope.get("rope_type", "default")
        == "default",
        "its heads do not share the width": head_dim * config.num_attention_heads == config.hidden_size,
        "its feed-forward part is narrower than 8/3 of the width": (
            config.intermediate_size >= 8 * config.hidden_size // 3
        ),
    }
    for reason, fits in wanted.items():
        if not fits:
            raise ValueError(f"the model cannot become a run: {reason}")
    own = (
        "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads "
        "max_position_embeddings rms_norm_eps tie_word_embeddings"
    )
    out = DaropeConfig(
        **{key: getattr(config, key) for key in own.split()},
        position_encoding={"type": "rope", "base": rope.get("rope_theta", 10_000.0)},
    )
    out.encoding = encoding
    return out


@torch.no_grad()
def begin_as_rope(model: DaropeForCausalLM) -> None:
    """Where the coordinate is the index."""
    for module in model.modules():
        if isinstance(module, Encoding) and module.base_name == "darope":
            module.w.zero_()
            module.alpha.fill_(1)


def write_run(model: DaropeForCausalLM, out: Path) -> None:
    """A checkpoint of step 0, as the trainer writes them."""
    folder = out / folders.CHECKPOINTS / "0000000000"
    model.save_pretrained(folder)
    weights = {name: t for name, t in model.state_dict().items() if not _tied(model, name)}
    moments = {
        f"{kind}.{name}": torch.zeros_like(t)
        for name, t in weights.items()
        for kind in ("exp_avg", "exp_avg_sq")
    }
    save_file(moments, folder / folders.OPTIMIZER, metadata={"format": "pt"})
    (folder / folders.TRAIN_STATE).write_text('{"step": 0, "tokens": 0, "seconds": 0}\n')
    files = [
        {"file": path.name, "bytes": path.stat().st_size, "sha256": sha256_of_file(path)}
        for path in sorted(folder.iterdir())
    ]
    (folder / folders.CHECKSUMS).write_text(json.dumps({"files": files}, indent=1) + "\n")
    (folder / folders.COMPLETE).touch()


def _settings(config: DaropeConfig, out: Path) -> str:
    narrowest = 8 * config.hidden_size // 3
    hidden = config.intermediate_size
    multiple = 256 if -(-narrowest // 256) * 256 == hidden else hidden
    model = {
        "style": "lingua",
        "dim": config.hidden_size,
        "n_layers": config.num_hidden_layers,
        "n_heads": config.num_attention_heads,
        "n_kv_heads": config.num_key_value_heads,
        "vocab_size": config.vocab_size,
        "max_seqlen": config.max_position_embeddings,
        "encoding": json.dumps(config.encoding),
        "tied": str(config.tie_word_embeddings).lower(),
        "hidden_multiple": multiple,
        "norm_eps": config.rms_norm_eps,
    }
    lines = [f"  {key}: {value}" for key, value in model.items()]
    return "\n".join([f"dump_dir: {json.dumps(str(out.resolve()))}", "model:", *lines, ""])


def _tied(model: DaropeForCausalLM, name: str) -> bool:
    return name == "lm_head.weight" and model.config.tie_word_embeddings
