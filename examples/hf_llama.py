"""Any rotary darope encoding in a Hugging Face Llama: `use(model, "darope")`, then train and generate as
ever.

python examples/hf_llama.py
"""

from __future__ import annotations

import darope
import torch
from torch import Tensor
from transformers import Cache, LlamaConfig, LlamaForCausalLM
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaAttention, eager_attention_forward


class EncodedAttention(LlamaAttention):
    """Llama's attention with its rotary step replaced; cache, mask and attention kernel stay Hugging
    Face's.
    """

    encoding: darope.Encoding

    def forward(
        self,
        hidden_states: Tensor,
        position_embeddings: tuple[Tensor, Tensor] | None = None,
        attention_mask: Tensor | None = None,
        past_key_values: Cache | None = None,
        position_ids: Tensor | None = None,
        **kwargs: object,
    ) -> tuple[Tensor, Tensor | None]:
        batch, tokens, _ = hidden_states.shape
        q, k, v = (
            project(hidden_states).view(batch, tokens, -1, self.head_dim)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        if position_ids is not None:
            position_ids = position_ids.expand(batch, tokens)  # Llama hands on [1, T] where the rows agree
        q, k = self.encoding(q, k, hidden_states, position_ids)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        if past_key_values is not None:
            k, v = past_key_values.update(k, v, self.layer_idx)
        attention = ALL_ATTENTION_FUNCTIONS.get_interface(
            self.config._attn_implementation, eager_attention_forward
        )
        dropout = self.attention_dropout if self.training else 0.0
        out, weights = attention(
            self,
            q,
            k,
            v,
            attention_mask,
            dropout=dropout,
            scaling=self.scaling,
            position_ids=position_ids,
            **kwargs,
        )
        return self.o_proj(out.reshape(batch, tokens, -1)), weights


def use(
    model: LlamaForCausalLM,
    name: str,
    *,
    train_length: int | None = None,
    base: float | None = None,
    **options: object,
) -> LlamaForCausalLM:
    """Puts the encoding into every attention layer of the model, in place; its parameters join the model's.

    train_length and base are the model's own by default. Scaling that the model's config asks for is replaced
    with the rotary step.
    """
    config = model.config
    for layer in model.model.layers:
        attention = layer.self_attn
        attention.encoding = darope.create(
            name,
            d_model=config.hidden_size,
            heads=config.num_attention_heads,
            kv_heads=config.num_key_value_heads,
            head_dim=attention.head_dim,
            train_length=config.max_position_embeddings if train_length is None else train_length,
            base=config.rope_parameters["rope_theta"] if base is None else base,
            layout="half",
            **options,
        ).to(attention.q_proj.weight)
        attention.__class__ = EncodedAttention
    return model


def main() -> None:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=256,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        bos_token_id=None,
        eos_token_id=None,
    )
    model = LlamaForCausalLM(config).eval()

    def count():
        return sum(parameter.numel() for parameter in model.parameters())

    print(f"parameters of the stock model: {count()}")
    use(model, "darope")
    print(f"parameters with darope:        {count()}")
    prompt = torch.tensor([list(b"positions")])
    tokens = model.generate(prompt, max_new_tokens=8, do_sample=False)[0, prompt.shape[1] :].tolist()
    print(f"tokens generated:              {tokens}")


if __name__ == "__main__":
    main()
