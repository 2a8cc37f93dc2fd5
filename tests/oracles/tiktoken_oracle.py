"""tiktoken's encodings from rank files on the disk, and ours of the same files."""

import base64
import collections
import functools
import json
import lzma
import struct

import numpy as np
import programs
import tiktoken
from tiktoken.load import load_tiktoken_bpe

probe = functools.partial(programs.probe, "tokenizer_probe")
# As tiktoken defines its encodings, which it would load from the network.
PATTERNS = {
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "r50k": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
}


def original(name, ranks):
    return tiktoken.Encoding(
        name,
        pat_str=PATTERNS[name],
        mergeable_ranks=load_tiktoken_bpe(str(ranks)),
        special_tokens={},
    )


def ours(name, ranks, documents, folder):
    """A list of ids for each of the documents, which are str or bytes."""
    encoded = [text if isinstance(text, bytes) else text.encode() for text in documents]
    file = folder / "documents"
    file.write_bytes(b"".join(struct.pack("<q", len(text)) + text for text in encoded))
    flat = np.frombuffer(probe("encode", name, ranks, file, text=False), np.int64)
    out, at = [], 0
    while at < len(flat):
        out.append(flat[at + 1 : at + 1 + flat[at]].tolist())
        at += 1 + flat[at]
    return out


def documents_of(path):
    """Of .jsonl.xz one for each line, of .txt.xz one."""
    with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
        if ".jsonl" not in path.name:
            yield file.read()
            return
        for line in file:
            yield json.loads(line)["text"]


def write_ranks(path, text):
    """A small rank file: all bytes, and what is common in a text, from two bytes up to twenty."""
    data = text.encode()
    common = collections.Counter(data[i : i + n] for n in range(2, 21) for i in range(len(data) - n))
    tokens = [bytes([byte]) for byte in range(256)] + [token for token, _ in common.most_common(3000)]
    lines = [f"{base64.b64encode(t).decode()} {rank}\n" for rank, t in enumerate(tokens)]
    path.write_text("".join(lines))
    return path
