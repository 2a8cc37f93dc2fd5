"""What the programs beside it share: they are started by `darope bench --opponents` with one JSON object, say
`ready` once they are warm, and run one round for each line of standard input, so that rounds of both sides
take turns on one machine. Each answers with seconds a call, and peak memory.

A variant is words joined by '-': eager, compile or graphs (torch.compile with CUDA graphs); cudnn or flash,
the attention that comes first where it can; chunks, a loss in chunks of rows.
"""

import contextlib
import json
import sys
import time

import torch
from decoder import ENCODINGS
from torch.nn.attention import SDPBackend, sdpa_kernel

ORDER = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}
REST = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


class Asked:
    """shape, encoding, what, variant, device, batch, threads; calls in a round, and before the first."""

    def __init__(self, text):
        self.__dict__.update(json.loads(text))
        self.words = set(self.variant.split("-"))
        if self.encoding not in ENCODINGS:
            sys.exit(f"the opponents have no '{self.encoding}': they know {', '.join(ENCODINGS)}")
        self.cuda = self.device == "cuda"
        self.dtype = torch.bfloat16 if self.cuda else torch.float32

    def compiled(self, function):
        if "eager" in self.words:
            return function
        return torch.compile(function, mode="reduce-overhead" if "graphs" in self.words else "default")

    def attention(self):
        first = [backend for name, backend in ORDER.items() if name in self.words]
        if not first:
            return contextlib.nullcontext()
        return sdpa_kernel([*first, *(b for b in ORDER.values() if b not in first), *REST], set_priority=True)


def synchronize(cuda):
    if cuda:
        torch.cuda.synchronize()


def peak_bytes(cuda):
    """On a CPU nobody counts: the process has held more for other things."""
    return torch.cuda.max_memory_reserved() if cuda else None


def answer(make):
    """make(asked) gives the call that is timed; it decides about gradients itself."""
    asked = Asked(sys.argv[1])
    torch.set_num_threads(asked.threads)
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    with asked.attention():
        call = make(asked)
        for _ in range(asked.untimed):
            call()
        synchronize(asked.cuda)
        print("ready", flush=True)
        for _ in sys.stdin:
            start = time.perf_counter()
            for _ in range(asked.steps):
                call()
            synchronize(asked.cuda)
            seconds = (time.perf_counter() - start) / asked.steps
            print(json.dumps({"seconds": seconds, "peak_bytes": peak_bytes(asked.cuda)}), flush=True)
