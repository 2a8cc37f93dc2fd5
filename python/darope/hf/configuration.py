"""config.json as the trainer writes it."""

from __future__ import annotations

from transformers import PreTrainedConfig

from .. import base_name, encodings
from .checkpoints import newest_checkpoint

__all__ = ["FEED_FORWARDS", "DaropeConfig"]

FEED_FORWARDS = {
    "swiglu": True,
    "gelu": False,
}  # those of the trainer that are written here: with a gate or not


def embeds(name: str) -> bool:
    """Whether an encoding acts on the embeddings: a model has it once, and its layers as they are."""
    return next(row["embeds"] for row in encodings() if row["name"] == base_name(name))


class DaropeConfig(PreTrainedConfig):
    """A decoder of the trainer. What is its own stands under position_encoding: "type", an encoding with its
    options for all layers, or "types", one for each; and "train_length", L of the paper."""

    model_type = "darope"
    keys_to_ignore_at_inference = ["past_key_values"]

    block_style: str = "lingua"
    feed_forward: str | None = None  # the part behind attention; None: the style's own
    vocab_size: int = 256
    hidden_size: int = 256
    intermediate_size: int = 768
    num_hidden_layers: int = 4
    num_attention_heads: int = 4
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    hidden_act: str = "silu"
    max_position_embeddings: int = 256
    rms_norm_eps: float = 1e-5
    initializer_range: float = 0.02
    tie_word_embeddings: bool = True
    use_cache: bool = True
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    pad_token_id: int | None = None
    position_encoding: dict | None = None

    def __post_init__(self, **kwargs):
        if self.num_key_value_heads is None:
            self.num_key_value_heads = self.num_attention_heads
        if self.head_dim is None:
            self.head_dim = self.hidden_size // self.num_attention_heads
        if self.position_encoding is None:
            self.position_encoding = {"type": "darope"}
        if not isinstance(self.position_encoding, dict):
            raise ValueError(
                f"position_encoding must be an object with a type; got {str(self.position_encoding)[:80]!r}"
            )
        self.position_encoding = {
            "version": 1,
            "train_length": self.max_position_embeddings,
            "layout": "half",
            **self.position_encoding,
        }
        if self.block_style not in ("lingua", "nanogpt"):
            raise ValueError(f"block_style must be 'lingua' or 'nanogpt'; got {self.block_style!r}")
        if self.feed_forward is None:
            self.feed_forward = "swiglu" if self.block_style == "lingua" else "gelu"
        if self.feed_forward not in FEED_FORWARDS:
            raise ValueError(
                f"feed_forward is {self.feed_forward!r}, which darope.hf does not have: it knows "
                f"{', '.join(FEED_FORWARDS)}"
            )
        if self.position_encoding["version"] != 1:
            raise ValueError(
                f"position_encoding has version {self.position_encoding['version']!r}; this darope reads 1"
            )
        super().__post_init__(**kwargs)

    @property
    def layer_encodings(self) -> list[str]:
        """One for each layer."""
        position = self.position_encoding
        names = position.get("types") or [position.get("type", "")] * self.num_hidden_layers
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("position_encoding should name an encoding under type, or a list under types")
        if len(names) != self.num_hidden_layers:
            raise ValueError(
                f"position_encoding names {len(names)} types for {self.num_hidden_layers} layers: "
                "give one for each layer"
            )
        for layer, name in enumerate(names):
            if name != names[0] and embeds(name):
                raise ValueError(
                    f"position_encoding names {name} for layer {layer} and {names[0]} for layer 0: {name} is "
                    "added to the embeddings before the first layer, so give it to layer 0 too"
                )
        return names

    @property
    def encoding(self) -> str:
        """As model.encoding of the trainer. It can be set to another that the weights fit:
        from_pretrained(RUN, encoding="yarn:factor=8") for rope."""
        position = self.position_encoding
        return position["type"] if "type" in position else ";".join(position["types"])

    @encoding.setter
    def encoding(self, name: str) -> None:
        kept = {key: self.position_encoding[key] for key in ("version", "train_length", "layout")}
        names = [self._with_base(each) for each in name.split(";")]
        self.position_encoding = {**kept, **({"types": names} if len(names) > 1 else {"type": names[0]})}

    def _with_base(self, name: str) -> str:
        """As the trainer does it: an encoding that names no base has the model's."""
        base = self.position_encoding.get("base")
        named = "base=" in name or base_name(name) != name.partition(":")[0]
        return name if base is None or named else f"{name}{',' if ':' in name else ':'}base={base}"

    @classmethod
    def get_config_dict(cls, pretrained_model_name_or_path, **kwargs):
        return super().get_config_dict(newest_checkpoint(pretrained_model_name_or_path), **kwargs)
