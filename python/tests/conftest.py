"""What the tests share: devices at hand, the reference vectors, small inputs."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import darope
import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
NAMES = [str(row["name"]) for row in darope.encodings()]
ROTARY = [str(row["name"]) for row in darope.encodings() if row["rotary"]]
LEARNED = [name for name in NAMES if name.startswith("darope")]
DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=[pytest.mark.cuda, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")],
    ),
]
SIZES = dict(d_model=16, heads=2, head_dim=8, train_length=16)


def go_without_absent_instructions():
    """Some virtual machines announce matrix instructions that they do not have: there a plain product of
    torch in bfloat16 ends the process. Tests then go on without them, as whoever works there must.
    """
    product = "import torch; x = torch.ones(64, 64, dtype=torch.bfloat16); x @ x"
    if subprocess.run([sys.executable, "-c", product]).returncode == -signal.SIGILL:
        os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_BF16"


def pytest_configure(config):
    go_without_absent_instructions()
    config.addinivalue_line("markers", "cuda: needs a GPU")
    config.addinivalue_line("markers", "slow: minutes; run with -m slow")


@pytest.fixture(scope="session")
def vectors():
    return json.loads((ROOT / "tests" / "vectors" / "encodings.json").read_text())


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def inputs(
    batch=2,
    tokens=5,
    heads=2,
    head_dim=8,
    d_model=16,
    kv_heads=None,
    dtype=torch.float64,
    device="cpu",
    seed=0,
    grad=False,
):
    """q, k, v, x, drawn on the CPU so that every device sees the same numbers."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return (
            torch.randn(*shape, generator=generator, dtype=torch.float64)
            .to(dtype)
            .to(device)
            .requires_grad_(grad)
        )

    kv = kv_heads or heads
    return (
        draw(batch, tokens, heads, head_dim),
        draw(batch, tokens, kv, head_dim),
        draw(batch, tokens, kv, head_dim),
        draw(batch, tokens, d_model),
    )


def attend(module, q, k, v, x, positions=None, causal=True, documents=None, cache=None):
    """A first layer over embeddings x: what the encoding adds to them moves q and k, as their projections
    would. Most add nothing, and then this is module.attend."""
    embedded = module.embed(x, positions, cache)
    wide, width = x.shape[-1], q.shape[-1]
    project = torch.arange(wide * width, dtype=torch.float64, device=x.device).cos().view(wide, width)
    moved = ((embedded - x) @ (project / wide**0.5).to(x.dtype)).unsqueeze(-2)
    return module.attend(q + moved, k + moved, v, embedded, positions, causal, documents, cache)


def make(name, dtype=torch.float64, device="cpu", seed=0, **sizes):
    """An encoding with parameters drawn around their initial values, so that none is at a special point."""
    torch.manual_seed(seed)
    module = darope.create(name, **{**SIZES, **sizes}).to(device=device, dtype=dtype)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.2 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64).to(
                dtype
            ).to(device)
        module.project_parameters()
    return module
