"""Keys and values of the tokens seen so far."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Cache"]


@dataclass
class Cache:
    """Encoded keys and values of the tokens seen so far. For inference: no gradient flows through it."""

    batch: int
    capacity: int
    heads: int  # Hk of the layer
    width: int  # d of the layer
    length: int = 0
    k: Tensor | None = None  # [batch, capacity, Hk, d] (2d for PoPE), allocated at the first append
    v: Tensor | None = None  # [batch, capacity, Hk, d]
    positions: Tensor | None = None  # [batch, capacity] where some were given; None: one after another
    documents: Tensor | None = None  # [batch, capacity]; None: there is one

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Adds T tokens and returns keys and values of all so far. What does not fit changes nothing."""
        if k.shape[0] != self.batch:
            raise ValueError(f"the cache holds a batch of {self.batch}; got {k.shape[0]}")
        tokens = k.shape[1]
        end = self.length + tokens
        if end > self.capacity:
            raise ValueError(
                f"the cache holds {self.capacity} tokens, {self.length} are in it; got {tokens} more"
            )
        if v.shape != (self.batch, tokens, self.heads, self.width):
            raise ValueError(
                f"v must be [B, T, Hk, d] = {[self.batch, tokens, self.heads, self.width]}; "
                f"got {list(v.shape)}"
            )
        for name, held in (("k", k), ("the cache", self.k)):
            if held is not None and v.dtype != held.dtype:
                raise TypeError(f"v and {name} must have one dtype; got dtype {v.dtype} and {held.dtype}")
            if held is not None and v.device != held.device:
                raise ValueError(
                    f"v and {name} must be on one device; got device {v.device} and {held.device}"
                )
        if self.k is None or self.v is None:
            self.k = k.new_empty(self.batch, self.capacity, *k.shape[2:])
            self.v = v.new_empty(self.batch, self.capacity, *v.shape[2:])
        if k.shape[2:] != self.k.shape[2:]:
            raise ValueError(
                f"the cache holds keys of [heads, width] {list(self.k.shape[2:])}, "
                f"so it is another layer's; got {list(k.shape[2:])}"
            )
        self.k[:, self.length : end] = k.detach()
        self.v[:, self.length : end] = v.detach()
        self.length = end
        return self.k[:, :end], self.v[:, :end]

    def place(
        self, start: int, positions: Tensor | None, documents: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None]:
        """Positions and documents of all tokens so far, those given being of the tokens from `start` on."""
        if start and (documents is None) != (self.documents is None):
            raise ValueError("documents must come with every call on a cache, or with none")
        new = slice(start, self.length)
        if positions is not None and self.positions is None:
            self.positions = self._default_positions().repeat(self.batch, 1)
        if self.positions is not None:
            self.positions[:, new] = self._default_positions()[new] if positions is None else positions
        if start == 0:
            self.documents = None if documents is None else documents.new_zeros(self.batch, self.capacity)
        if documents is not None:
            self.documents[:, new] = documents
        return tuple(
            None if kept is None else kept[:, : self.length] for kept in (self.positions, self.documents)
        )

    def _default_positions(self) -> Tensor:
        return torch.arange(self.capacity, dtype=torch.float64, device=self.k.device)
