"""The trainer's decoder as Hugging Face has them: the same names, the same numbers, everyone's attention."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import Cache, DynamicCache, GenerationMixin, PreTrainedModel, TrainerCallback
from transformers.activations import ACT2FN
from transformers.masking_utils import create_causal_mask
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPast, CausalLMOutputWithPast
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRMSNorm, eager_attention_forward
from transformers.utils.generic import can_return_tuple, merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

from .. import folders
from ..encoding import Encoding, base_name, check_mask, create, encodings
from .checkpoints import newest_checkpoint
from .configuration import FEED_FORWARDS, DaropeConfig, embeds
from .weights import require_plain_weights

__all__ = ["DaropeForCausalLM", "DaropeModel", "ProjectParameters"]


def encoding_of(config: DaropeConfig, name: str) -> Encoding:
    return create(
        name,
        d_model=config.hidden_size,
        heads=config.num_attention_heads,
        kv_heads=config.num_key_value_heads,
        head_dim=config.head_dim,
        train_length=config.position_encoding["train_length"],
        layout=config.position_encoding["layout"],
    )


class DaropeAttention(nn.Module):
    is_causal = True

    def __init__(self, config: DaropeConfig, layer_idx: int) -> None:
        super().__init__()
        self.config, self.layer_idx, self.head_dim = config, layer_idx, config.head_dim
        heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
        self.num_key_value_groups = heads // kv_heads
        self.q_proj = nn.Linear(config.hidden_size, heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(heads * self.head_dim, config.hidden_size, bias=False)
        name = config.layer_encodings[layer_idx]
        encoding = encoding_of(config, "nope" if embeds(name) else name)
        self.encoding_name = encoding.base_name
        self.add_module(self.encoding_name, encoding)  # its weights are self_attn.darope.w

    @property
    def encoding(self) -> Encoding:
        return getattr(self, self.encoding_name)

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,  # what the attention of transformers wants
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        keys: Keys | None = None,
        **kwargs,
    ) -> tuple[Tensor, Tensor | None]:
        by_head = (*hidden_states.shape[:-1], -1, self.head_dim)
        q, k, v = (
            projection(hidden_states).view(by_head) for projection in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = self.encoding.encode(q, k, hidden_states, position_ids)
        if past_key_values is not None:
            k, v = past_key_values.update(k.transpose(1, 2), v.transpose(1, 2), self.layer_idx)
            k, v = k.transpose(1, 2), v.transpose(1, 2)
        if self.encoding.rotary:
            attend = ALL_ATTENTION_FUNCTIONS.get_interface(
                self.config._attn_implementation, eager_attention_forward
            )
            heads_first = (each.transpose(1, 2) for each in (q, k, v))
            out, weights = attend(
                self, *heads_first, attention_mask, dropout=0.0, scaling=self.head_dim**-0.5, **kwargs
            )
        else:
            out, weights = keys.attend(self.encoding, q, k, v), None
        return self.o_proj(out.reshape(*hidden_states.shape[:-1], -1)), weights


class Keys:
    """The tokens of all keys, for encodings with an attention of their own."""

    def __init__(self, count: int, mask: Tensor | None, position_ids: Tensor | None) -> None:
        self.count = count  # a static cache has room for more
        self.padding = None if mask is None else mask.long()  # a document of its own, which no token sees
        self.positions = position_ids
        if position_ids is not None and position_ids.shape[1] < count:
            before = positions_of(mask, count - position_ids.shape[1], position_ids.device)
            self.positions = torch.cat([before.expand(len(position_ids), -1), position_ids], 1)

    def attend(self, encoding: Encoding, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k, v = k[:, : self.count], v[:, : self.count]
        return encoding.attend_encoded(q, k, v, positions=self.positions, documents=self.padding)


def positions_of(mask: Tensor | None, count: int, device: torch.device) -> Tensor:
    """Of the first tokens, [B or 1, count]: counted from 0 at each row's first that is no padding."""
    if mask is None:
        return torch.arange(count, device=device)[None]
    return (mask[:, :count].long().cumsum(1) - 1).clamp(min=0)


def checked_mask(mask: Tensor | None, batch: int, count: int) -> Tensor | None:
    """None where there is no padding."""
    if mask is None:
        return None
    if mask.shape != (batch, count):
        raise ValueError(
            f"attention_mask must be [B, T] = {[batch, count]}, of all tokens so far; got {list(mask.shape)}"
        )
    check_mask(mask)
    return None if (mask != 0).all() else (mask != 0)


def check_positions(position_ids: Tensor, mask: Tensor | None) -> None:
    back = position_ids[:, 1:] < position_ids[:, :-1]
    if mask is not None:  # those of padding say nothing
        tokens = mask[:, -position_ids.shape[1] :]
        back = back & tokens[:, 1:] & tokens[:, :-1]
    if back.any():
        row, column = back.nonzero()[0].tolist()
        raise ValueError(
            f"position_ids go backwards in row {row} behind token {column}: keys are compared in the order "
            "they come in; give each sequence a row of its own"
        )


class DaropeMLP(nn.Module):
    """SwiGLU or GELU, as config.feed_forward says."""

    def __init__(self, config: DaropeConfig) -> None:
        super().__init__()
        wide, narrow = config.intermediate_size, config.hidden_size
        self.gated, self.act_fn = FEED_FORWARDS[config.feed_forward], ACT2FN[config.hidden_act]
        if self.gated:
            self.gate_proj = nn.Linear(narrow, wide, bias=False)
        self.up_proj = nn.Linear(narrow, wide, bias=False)
        self.down_proj = nn.Linear(wide, narrow, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        up = self.up_proj(x)
        return self.down_proj(self.act_fn(self.gate_proj(x)) * up if self.gated else self.act_fn(up))


class DaropeDecoderLayer(GradientCheckpointingLayer):
    def __init__(self, config: DaropeConfig, layer_idx: int) -> None:
        super().__init__()
        self.self_attn = DaropeAttention(config, layer_idx)
        self.mlp = DaropeMLP(config)
        self.input_layernorm = LlamaRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.post_attention_layernorm = LlamaRMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def forward(self, hidden_states: Tensor, **kwargs) -> Tensor:
        mixed, _ = self.self_attn(self.input_layernorm(hidden_states), **kwargs)
        hidden_states = hidden_states + mixed
        return hidden_states + self.mlp(self.post_attention_layernorm(hidden_states))


class DaropePreTrainedModel(PreTrainedModel):
    config_class = DaropeConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _no_split_modules = ["DaropeDecoderLayer"]
    _skip_keys_device_placement = ["past_key_values"]
    _supports_flash_attn = True
    _supports_sdpa = True
    _supports_flex_attn = True
    _supports_attention_backend = True
    _can_record_outputs = {"hidden_states": DaropeDecoderLayer, "attentions": DaropeAttention}
    # Beside weights of less, positions must not be rounded.
    _keep_in_fp32_modules_strict = {str(row["name"]) for row in encodings()}

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, Encoding):
            module.reset_parameters()

    @staticmethod
    def create_masks_for_generate(attention_mask: Tensor | None, **_) -> Tensor | None:
        return attention_mask  # positions follow from it, so the model wants it as it is


class DaropePositions(nn.Module):
    """What acts on the embeddings, before the first layer: its weights are embed_positions.learned.table."""

    def __init__(self, config: DaropeConfig) -> None:
        super().__init__()
        name = config.layer_encodings[0]
        if embeds(name):
            self.add_module(base_name(name), encoding_of(config, name))

    def forward(self, x: Tensor, position_ids: Tensor) -> Tensor:
        for encoding in self.children():
            x = encoding.embed(x, position_ids)
        return x


class DaropeModel(DaropePreTrainedModel):
    def __init__(self, config: DaropeConfig) -> None:
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.embed_positions = DaropePositions(config)
        self.layers = nn.ModuleList(DaropeDecoderLayer(config, i) for i in range(config.num_hidden_layers))
        self.norm = LlamaRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.gradient_checkpointing = False
        self.post_init()

    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs,
    ) -> BaseModelOutputWithPast:
        """attention_mask: [B, T] of all tokens so far, 1 for tokens and 0 for padding before or behind them.
        position_ids: [B, T]; default: counted from each row's first token that is no padding."""
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("give either input_ids or inputs_embeds")
        x = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache(config=self.config)
        seen = int(past_key_values.get_seq_length()) if past_key_values is not None else 0
        count = seen + x.shape[1]
        mask = checked_mask(attention_mask, len(x), count)
        if position_ids is not None:
            check_positions(position_ids, mask)
        following = position_ids is None and mask is None  # then one after another: nobody need be told
        if position_ids is None:
            position_ids = positions_of(mask, count, x.device)[:, seen:].expand(len(x), -1)
        keys = Keys(count, mask, None if following else position_ids)
        causal_mask = create_causal_mask(
            config=self.config,
            inputs_embeds=x,
            attention_mask=mask,
            past_key_values=past_key_values,
            position_ids=position_ids,
        )
        x = self.embed_positions(x, position_ids)
        for layer in self.layers:
            x = layer(
                x,
                attention_mask=causal_mask,
                position_ids=position_ids,
                past_key_values=past_key_values,
                keys=keys,
                **kwargs,
            )
        return BaseModelOutputWithPast(last_hidden_state=self.norm(x), past_key_values=past_key_values)


class DaropeForCausalLM(DaropePreTrainedModel, GenerationMixin):
    _tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"}

    def __init__(self, config: DaropeConfig) -> None:
        super().__init__(config)
        self.model = DaropeModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | Tensor = 0,
        **kwargs,
    ) -> CausalLMOutputWithPast:
        outputs = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            past_key_values=past_key_values,
            inputs_embeds=inputs_embeds,
            use_cache=use_cache,
            **kwargs,
        )
        rows = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        logits = self.lm_head(outputs.last_hidden_state[:, rows])
        loss = None
        if labels is not None:
            loss = self.loss_function(logits, labels, vocab_size=self.config.vocab_size, **kwargs)
        return CausalLMOutputWithPast(
            loss=loss,
            logits=logits,
            past_key_values=outputs.past_key_values,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path, *arguments, **kwargs):
        """Of a run's folder, a checkpoint's, or what save_pretrained wrote. Every name must be there."""
        wants_info = kwargs.pop("output_loading_info", False)
        folder = newest_checkpoint(pretrained_model_name_or_path)
        refuse_other_folders(folder)
        require_plain_weights(folder)
        wanted = dict(output_loading_info=True, ignore_mismatched_sizes=True)  # to say it in one sentence
        wanted["use_safetensors"] = True  # a pickle can run code
        try:
            model, info = super().from_pretrained(folder, *arguments, **{**kwargs, **wanted})
        except SafetensorError as error:
            raise ValueError(f"{folder} holds weights that are damaged: {error}") from None
        for name, there, here in sorted(info["mismatched_keys"]):
            shapes = f"{list(there)} and not {list(here)}"
            raise ValueError(
                f"{folder} has {name} in the shape {shapes}: does {folders.MODEL_CONFIG} belong to it?"
            )
        for what, names in (
            ("lacks", info["missing_keys"]),
            ("has, beyond the model,", info["unexpected_keys"]),
        ):
            if names:
                raise ValueError(f"{folder} {what} {', '.join(sorted(names)[:3])}: is its encoding another?")
        return (model, info) if wants_info else model


def refuse_other_folders(folder: str | PathLike) -> None:
    if Path(folder).is_dir() and not (Path(folder) / folders.MODEL_CONFIG).exists():
        raise ValueError(
            f"{folder} is no checkpoint: it has no {folders.MODEL_CONFIG}; give a run's folder, or a model's"
        )


class ProjectParameters(TrainerCallback):
    """Keeps parameters of encodings in their bounds after every step, as the trainer does: PoPE's delta."""

    def on_optimizer_step(self, args, state, control, model=None, **kwargs) -> None:
        for module in model.modules():
            if isinstance(module, Encoding):
                module.project_parameters()
