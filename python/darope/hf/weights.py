"""What lies beside weights is looked at before Hugging Face's library reads it: what would have it read a
pickle, take other weights, or make a model of any size.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from .. import folders
from ..files import read_json

__all__ = ["require_plain_weights"]

INDEX, ADAPTER = f"{folders.MODEL}.index.json", "adapter_config.json"
SIZES = (
    "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads "
    "head_dim max_position_embeddings"
)
MAY_BE_NULL = ("num_key_value_heads", "head_dim")  # as they follow from others


def require_plain_weights(folder: str | PathLike) -> None:
    """ValueError where a model's folder on this disk holds anything else."""
    folder = Path(folder)
    if not (folder / folders.MODEL_CONFIG).exists():
        return
    if (folder / ADAPTER).exists():
        raise ValueError(f"{folder} holds {ADAPTER}, with which its weights would not be the model's")
    if (folder / INDEX).exists():
        _require_names_beside(folder / INDEX)
    _require_room(folder)


def _require_names_beside(index: Path) -> None:
    files = read_json(index).get("weight_map")
    names = list(files.values()) if isinstance(files, dict) else [None]
    for name in names:
        if not isinstance(name, str) or "/" in name or not name.endswith(".safetensors"):
            raise ValueError(f"{index} should name files of safetensors beside it; it has {str(name)[:80]!r}")


def _require_room(folder: Path) -> None:
    """A few bytes of sizes could ask for more than any memory: each number of a model has a byte at least."""
    config = read_json(folder / folders.MODEL_CONFIG)
    given = {name: config[name] for name in SIZES.split() if name in config}
    given = {name: value for name, value in given.items() if value is not None or name not in MAY_BE_NULL}
    for name, value in given.items():
        if type(value) is not int or value < 1:
            raise ValueError(
                f"{folder / folders.MODEL_CONFIG}: {name} is {str(value)[:80]!r}, not a whole number above 0"
            )
    one = dict.fromkeys(SIZES.split(), 1) | given
    heads = one["num_attention_heads"] + one["num_key_value_heads"]
    layer = one["hidden_size"] * (one["intermediate_size"] + heads * one["head_dim"])
    numbers = one["vocab_size"] * one["hidden_size"] + one["num_hidden_layers"] * layer
    room = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    if numbers > room > 0:
        raise ValueError(
            f"{folder} has weights of {room} bytes, too few for the model of its {folders.MODEL_CONFIG}: "
            "does that belong to it?"
        )
