"""The trainer's tokenizers as Hugging Face's."""

from __future__ import annotations

import base64
import hashlib
from os import PathLike
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

from .. import folders
from ..files import read_bytes, read_json
from ..settings import data_settings
from ..terminal import Damaged

__all__ = ["byte_tokenizer", "rank_tokenizer", "tokenizer_for"]

BEGIN, END = "<|begin|>", "<|endoftext|>"
# How text is split before bytes are merged, for a library whose $ ends lines.
SPLITS = {
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s+\z|\s*[\r\n]|\s+(?!\S)|\s",
    "r50k": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+\z|\s+(?!\S)|\s",
}
CHARACTERS = bytes_to_unicode()
LONGEST_TOKEN = 1024  # bytes; a file that has longer ones is none of a tokenizer, as the program says


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """An id for each byte, and 256 behind each document."""
    tokenizer = Tokenizer(models.BPE({character: byte for byte, character in CHARACTERS.items()}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=END)


def ranks_of(content: bytes, file: str | PathLike) -> dict[bytes, int]:
    """Each line has a token in base64 and its rank, which counts the lines."""
    rank_of: dict[bytes, int] = {}
    for number, line in enumerate(content.splitlines()):
        try:
            word, rank = line.split()
            token = base64.b64decode(word, validate=True)
            if int(rank[:20]) != number or not 0 < len(token) <= LONGEST_TOKEN:
                raise ValueError
        except ValueError:
            raise ValueError(
                f"{file}:{number + 1}: each line should have a token of 1 to {LONGEST_TOKEN} bytes in "
                "base64, a space and its rank, which counts the lines from 0 on"
            ) from None
        rank_of[token] = number
    return rank_of


def rank_tokenizer(name: str, ranks: str | PathLike, sha256: str = "") -> PreTrainedTokenizerFast:
    """Bytes merged by the ranks of a file, which has this hash where one is given. The ids behind them are
    the begin and the end of a document.
    """
    content = read_bytes(ranks)
    if sha256 and hashlib.sha256(content).hexdigest() != sha256:
        raise Damaged(f"{ranks} is not the rank file with which the text was prepared: its sha256 differs")
    rank_of = ranks_of(content, ranks)
    merges = []
    for token in sorted(rank_of, key=rank_of.__getitem__):
        halves = [(token[:cut], token[cut:]) for cut in range(1, len(token))]
        known = [pair for pair in halves if pair[0] in rank_of and pair[1] in rank_of]
        merges += sorted(known, key=lambda pair: (rank_of[pair[0]], rank_of[pair[1]]))
    model = models.BPE(
        {_characters(token): rank for token, rank in rank_of.items()},
        [(_characters(left), _characters(right)) for left, right in merges],
        ignore_merges=True,
    )
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLITS[name]), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([BEGIN, END])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=BEGIN, eos_token=END, pad_token=END)


def _characters(token: bytes) -> str:
    return "".join(CHARACTERS[byte] for byte in token)


def tokenizer_for(run: str | PathLike) -> PreTrainedTokenizerFast | None:
    """Of a run on text; None for other data, and where the data no longer lie."""
    data = data_settings(run)
    path, root = Path(str(data.get("path") or "")), Path(str(data.get("root_dir") or ""))
    if data.get("task") or (path.name and path.suffix not in (".bin", ".npy")):
        return byte_tokenizer()
    if not root.name or not (root / folders.DATA_MANIFEST).exists():
        return None
    manifest = read_json(root / folders.DATA_MANIFEST)
    name, ranks = manifest.get("tokenizer"), manifest.get("ranks") or {}
    if name == "bytes":
        return byte_tokenizer()
    if name not in tuple(SPLITS):
        return None
    return rank_tokenizer(name, root / folders.RANKS, str(ranks.get("sha256", "")))
