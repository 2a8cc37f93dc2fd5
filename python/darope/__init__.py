"""Positional encodings for Transformers, from NoPE and RoPE to ALiBi, CoPE and DaRoPE, behind one interface.

encoding = darope.create("darope", d_model=512, heads=8, head_dim=64, train_length=2048)
q, k = encoding(q, k, x)           # rotary ones, before anyone's attention; q, k [B, T, H, d], x [B, T, D]
out = encoding.attend(q, k, v, x)  # any of them, attention included
out = encoding.attend_encoded(*encoding.encode(q, k, x), v, mask)  # the same in two steps, with padding
x = encoding.embed(x)              # sinusoidal and learned: token embeddings, before the first layer
"""

from ._library import LIBRARY
from .cache import Cache
from .encoding import Encoding, base_name, create, encodings
from .runs import load

__all__ = ["Cache", "Encoding", "LIBRARY", "base_name", "create", "encodings", "load"]
__version__ = "0.1.0"
