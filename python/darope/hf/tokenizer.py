"""The trainer's tokenizers as Hugging Face's."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

from .folders import data_settings

__all__ = ["byte_tokenizer", "tokenizer_for"]

END = "<|endoftext|>"


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """An id for each byte, and 256 behind each document."""
    vocabulary = {character: byte for byte, character in bytes_to_unicode().items()}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=END)


def tokenizer_for(run: str | PathLike) -> PreTrainedTokenizerFast | None:
    """Of a run on text that is read as bytes; None for other data, and for text with a rank file."""
    data = data_settings(run)
    path = Path(str(data.get("path") or ""))
    text = bool(data.get("task")) or (path.name and path.suffix not in (".bin", ".npy"))
    return byte_tokenizer() if text else None
