"""A model of darope.hf that trains in no time."""

import torch
from darope.hf import DaropeConfig, DaropeForCausalLM


def small(encoding):
    torch.manual_seed(0)
    config = DaropeConfig(
        vocab_size=13,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=16,
        position_encoding={"type": encoding},
        initializer_range=0.3,
    )
    return DaropeForCausalLM(config)
