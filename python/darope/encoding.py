"""The encodings as torch modules: their parameters. What they compute is defined in C++."""

from __future__ import annotations

import json

import torch
from torch import Tensor, nn

from .cache import Cache

__all__ = ["Encoding", "base_name", "check_mask", "create", "encodings"]


def encodings() -> list[dict[str, object]]:
    """One row per encoding, as `darope encodings --json` prints them."""
    return json.loads(torch.ops.darope.encodings())


def base_name(name: str) -> str:
    """The plain name of an encoding: "rope-10k" and "rope:base=10000" are "rope"."""
    return torch.ops.darope.base_name(name)


def create(
    name: str,
    *,
    d_model: int,
    heads: int,
    head_dim: int,
    kv_heads: int | None = None,
    train_length: int,
    base: float | None = None,
    layout: str = "interleaved",
    **options: object,
) -> Encoding:
    """The encoding of one attention layer, or of the embeddings.

    name: one of encodings(), "rope-10k" or "rope-500k"; options may follow, "yarn:factor=4,ramp=paper".
    d_model, heads, head_dim, kv_heads: D, H, d of the layer, and its key heads if fewer (grouped queries).
    train_length: L of the paper, the context the model trains on: a constant, never the current length.
    base: of the frequencies, 500000 by default (PoPE and sinusoidal 10000).
    layout: "interleaved" (a band is channels 2j, 2j+1) or "half" (channels j, j + d/2, as Hugging Face).
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string such as 'darope'; got {type(name).__name__}")
    if base is not None:
        if isinstance(base, bool) or not isinstance(base, (int, float)):
            raise TypeError(f"base must be a number; got {base!r}")
        options["base"] = base
    if options:
        words = ",".join(f"{option}={_word(option, value)}" for option, value in options.items())
        name = f"{name}{',' if ':' in name else ':'}{words}"
    shape = {
        "d_model": d_model,
        "heads": heads,
        "kv_heads": heads if kv_heads is None else kv_heads,
        "head_dim": head_dim,
        "train_length": train_length,
    }
    for argument, value in shape.items():
        _check_int(argument, value)
    if layout not in ("interleaved", "half"):
        raise ValueError(f"layout must be 'interleaved' or 'half'; got {layout!r}")
    return Encoding(name, list(shape.values()), layout == "half")


def _word(option: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError(f"option '{option}' must be a number or a string; got {value!r}")
    if isinstance(value, str) and "," in value:  # it would end this option and begin another
        raise ValueError(f"option '{option}' must be one value, without a comma; got {value!r}")
    return repr(value) if isinstance(value, float) else str(value)


def _check_int(argument: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{argument} must be an int; got {value!r}")
    if abs(value) >= 2**62:
        raise ValueError(f"{argument} must be smaller than 2**62; got {value}")


def _check_tensor(argument: str, value: object) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"{argument} must be a tensor; got {type(value).__name__}")


def _check_documents(documents: object, q: Tensor, name: str = "documents") -> None:
    _check_tensor(name, documents)
    if documents.is_floating_point() or documents.dtype == torch.bool:
        raise TypeError(f"{name} must be whole numbers; got dtype {documents.dtype}")
    if documents.shape != q.shape[:2]:
        raise ValueError(f"{name} must be [B, T] = {list(q.shape[:2])}; got {list(documents.shape)}")
    if documents.device != q.device:
        raise ValueError(f"{name} and q must be on one device; got device {documents.device} and {q.device}")


def _check_cache(cache: object) -> None:
    if cache is not None and not isinstance(cache, Cache):
        raise TypeError(f"cache must come from new_cache(batch, length); got {type(cache).__name__}")


def check_mask(mask: object) -> None:
    """mask [B, T] is to mark one stretch of tokens in each row; padding may stand before and behind it."""
    _check_tensor("mask", mask)
    if mask.dim() != 2 or mask.is_floating_point():
        raise ValueError(
            f"mask must be [B, T], true for tokens and false for padding; got {list(mask.shape)} of "
            f"dtype {mask.dtype}"
        )
    token = mask != 0
    begins = token[:, :1].sum(1) + (token[:, 1:] & ~token[:, :-1]).sum(1)
    if (begins > 1).any():
        row = int((begins > 1).nonzero()[0])
        raise ValueError(
            f"mask has a hole in row {row}: padding may stand before and behind the tokens, not between them"
        )


class Encoding(nn.Module):
    """A positional encoding of one attention layer, or of the embeddings, made by `create`. Parameters carry
    the papers' names."""

    def __init__(self, name: str, shape: list[int], half: bool) -> None:
        super().__init__()
        self.name, self.shape, self._half = name, shape, half
        self._learned: list[dict] = json.loads(torch.ops.darope.parameters(name, shape, half))
        for row in self._learned:
            self.register_parameter(row["name"], nn.Parameter(torch.empty(row["shape"])))
        self.reset_parameters()
        self.base_name = base_name(name)
        row = next(row for row in encodings() if row["name"] == self.base_name)
        #: whether encoded q and k can go to anyone's attention
        self.rotary: bool = row["rotary"]
        #: whether it acts on token embeddings, by `embed`: a model needs it once, and attention as it is
        self.embeds: bool = row["embeds"]

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """The initial values the paper gives, drawn from torch's generator."""
        for parameter, row in zip(self._parameters_in_order(), self._learned):
            if row["init"] == "constant":
                parameter.fill_(row["a"])
            elif row["init"] == "normal":
                parameter.normal_(row["a"], row["b"])
            else:
                parameter.uniform_(row["a"], row["b"])
        self.project_parameters()

    @torch.no_grad()
    def project_parameters(self) -> None:
        """Back into their bounds, after an optimizer step: PoPE's delta lives in [-2 pi, 0]."""
        for parameter, row in zip(self._parameters_in_order(), self._learned):
            if row["low"] is not None or row["high"] is not None:
                parameter.clamp_(row["low"], row["high"])

    def embed(self, x: Tensor, positions: Tensor | None = None, cache: Cache | None = None) -> Tensor:
        """Token embeddings x [B, T, D] as a model's first layer reads them: with positions [T] or [B, T] in
        them if this encoding `embeds`, else x itself.

        cache: the first layer's, before it attends: the tokens follow those in it.
        """
        _check_tensor("x", x)
        _check_cache(cache)
        return torch.ops.darope.embed(
            self.name,
            self.shape,
            self._half,
            self._parameters_in_order(),
            x,
            self._default_positions(positions, x, cache.length if cache is not None else 0),
        )

    def forward(
        self, q: Tensor, k: Tensor, x: Tensor | None = None, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Encoded q and k, for anyone's attention. q [B, T, H, d], k [B, T, Hk, d], x [B, T, D] the layer's
        normed input, positions [T] or [B, T] (default 0 .. T-1)."""
        if self.embeds:
            raise TypeError(
                f"{self.name} acts on token embeddings, not on q and k; call embed(x) before the first "
                "layer, and there any attention or attend(q, k, v, x)"
            )
        if not self.rotary:
            raise TypeError(
                f"{self.name} changes the attention itself, not only q and k; call attend(q, k, v, x)"
            )
        return self.encode(q, k, x, positions)

    def encode(
        self, q: Tensor, k: Tensor, x: Tensor | None = None, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """q and k as attend_encoded compares them, of any encoding; arguments as those of a call. A key
        depends on its own token alone, so it can be kept. PoPE's are 2d wide."""
        return self._encode(q, k, x, positions, 0)

    def attend_encoded(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        causal: bool = True,
        documents: Tensor | None = None,
    ) -> Tensor:
        """Attention over encoded q and k: [B, Tq, H, d]. The queries are the last Tq of the keys' tokens.

        mask: [B, Tk], true for tokens and false for padding before or behind them, which no token sees.
        positions, documents: [B, Tk], of the keys, as those of attend.
        """
        if not isinstance(causal, bool):
            raise TypeError(f"causal must be True or False; got {causal!r}")
        for argument, value in (("q", q), ("k", k), ("v", v)):
            _check_tensor(argument, value)
        if documents is not None:
            _check_documents(documents, k)
        if mask is not None:
            check_mask(mask)
            _check_documents(mask.long(), k, "mask")
            tokens = (mask != 0).long()  # padding is a document of its own, on either side
            documents = tokens if documents is None else 2 * documents + tokens
        return self._attend(q, k, v, positions, documents, causal)

    def attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        x: Tensor | None = None,
        positions: Tensor | None = None,
        causal: bool = True,
        documents: Tensor | None = None,
        cache: Cache | None = None,
    ) -> Tensor:
        """Attention with this encoding: [B, T, H, d].

        documents: [B, T] whole numbers; neighbours with one number are a document, and see no other.
        Positions are as given, so pass them too where each document is to begin at 0.
        cache: the T tokens follow those in it, and positions go on from there.
        """
        _check_tensor("v", v)
        if not isinstance(causal, bool):
            raise TypeError(f"causal must be True or False; got {causal!r}")
        _check_cache(cache)
        seen = cache.length if cache is not None else 0
        q, k = self._encode(q, k, x, positions, seen)
        if documents is not None:
            _check_documents(documents, q)
        if cache is None:
            return self._attend(q, k, v, positions, documents, causal)
        try:
            keys_and_values = cache.append(k, v)
            return self._attend(q, *keys_and_values, *cache.place(seen, positions, documents), causal)
        except Exception:
            cache.length = seen  # a refused call leaves the cache as it was
            raise

    def new_cache(self, batch: int, length: int) -> Cache:
        """Room for `length` tokens of `batch` sequences."""
        _check_int("batch", batch)
        _check_int("length", length)
        if batch < 0 or length < 1:
            raise ValueError(f"a cache needs batch >= 0 and length >= 1; got {batch} and {length}")
        _, _, kv_heads, head_dim, _ = self.shape
        return Cache(batch, length, kv_heads, head_dim)

    def coordinate(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        """DaRoPE's coordinate of tokens in [0, L]: [B, T, Hk], or [B, T, Hk, slow] for darope-per-band."""
        _check_tensor("x", x)
        if not x.is_floating_point():
            raise TypeError(f"x must be floating point; got dtype {x.dtype}")
        return torch.ops.darope.coordinate(
            self.name,
            self.shape,
            self._half,
            self._parameters_in_order(),
            x,
            self._default_positions(positions, x, 0),
        )

    def extra_repr(self) -> str:
        d_model, heads, kv_heads, head_dim, train_length = self.shape
        layout = "half" if self._half else "interleaved"
        return (
            f"{self.name}, d_model={d_model}, heads={heads}, kv_heads={kv_heads}, head_dim={head_dim}, "
            f"train_length={train_length}, layout={layout}"
        )

    def _encode(
        self, q: Tensor, k: Tensor, x: Tensor | None, positions: Tensor | None, start: int
    ) -> tuple[Tensor, Tensor]:
        _check_tensor("q", q)
        _check_tensor("k", k)
        if x is not None:
            _check_tensor("x", x)
        if x is not None and q.device.type in ("cpu", "cuda") and torch.is_autocast_enabled(q.device.type):
            x = x.to(q.dtype)  # norms leave x in float32 where projections give bfloat16
        return torch.ops.darope.encode(
            self.name,
            self.shape,
            self._half,
            self._parameters_in_order(),
            q,
            k,
            x,
            self._default_positions(positions, q, start),
        )

    def _attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        positions: Tensor | None,
        documents: Tensor | None,
        causal: bool,
    ) -> Tensor:
        return torch.ops.darope.attend(
            self.name,
            self.shape,
            self._half,
            self._parameters_in_order(),
            q,
            k,
            v,
            positions,
            documents,
            causal,
        )

    def _default_positions(self, positions: Tensor | None, like: Tensor, start: int) -> Tensor:
        if positions is not None:
            _check_tensor("positions", positions)
            return positions
        tokens = like.shape[1] if like.dim() > 1 else 0  # the operators say what is wrong with it
        return torch.arange(start, start + tokens, dtype=torch.float64, device=like.device)

    def _parameters_in_order(self) -> list[Tensor]:
        return [getattr(self, row["name"]) for row in self._learned]
