"""Two ranks that shard the parameters train exactly as one process does."""

import os

import darope
import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

STEPS, RANKS = 2, 2
LEARNS = {"darope": {"w", "alpha"}, "pope": {"delta"}}
D, HEADS, WIDTH = 16, 4, 8


class Block(nn.Module):
    """Attention and a feed-forward part, with the encoding between."""

    def __init__(self, name):
        super().__init__()
        self.norm, self.qkv, self.out = (
            nn.RMSNorm(D),
            nn.Linear(D, 3 * HEADS * WIDTH, bias=False),
            nn.Linear(HEADS * WIDTH, D, bias=False),
        )
        self.encoding = darope.create(name, d_model=D, heads=HEADS, head_dim=WIDTH, train_length=16)
        self.feed = nn.Sequential(nn.RMSNorm(D), nn.Linear(D, 32), nn.GELU(), nn.Linear(32, D))

    def forward(self, h):
        x = self.norm(h)
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, WIDTH)).unbind(2)
        h = h + self.out(self.encoding.attend(q, k, v, x).flatten(-2))
        return h + self.feed(h)


def model_and_data(name):
    torch.manual_seed(0)
    model = nn.Sequential(Block(name), Block(name)).double()
    return (
        model,
        torch.randn(4, 20, D, dtype=torch.float64),
        torch.randn(4, 20, D, dtype=torch.float64),
    )  # 20 tokens: beyond L


def train(model, h, target, whole):
    """Loss of every step, first gradients and last parameters; `whole` makes one tensor of a sharded one."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    losses, gradients = [], {}
    for _ in range(STEPS):
        loss = F.mse_loss(model(h), target)
        loss.backward()
        gradients = gradients or {name: whole(p.grad).clone() for name, p in model.named_parameters()}
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    return (
        torch.stack(losses),
        gradients,
        {name: whole(p.detach()).clone() for name, p in model.named_parameters()},
    )


def one_rank(rank, folder):
    from torch.distributed.fsdp import fully_shard

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=RANKS)
    for name in LEARNS:
        model, h, target = model_and_data(name)
        for block in model:
            fully_shard(block)
        fully_shard(model)
        assert all(p.to_local().numel() < p.numel() for p in model.parameters())
        half = len(h) // RANKS
        share = slice(rank * half, (rank + 1) * half)
        losses, gradients, parameters = train(model, h[share], target[share], lambda t: t.full_tensor())
        dist.all_reduce(losses)
        if rank == 0:
            torch.save((losses / RANKS, gradients, parameters), os.path.join(folder, f"{name}.pt"))
    dist.barrier()  # a rank that leaves while the other still talks can abort
    dist.destroy_process_group()


@pytest.mark.skipif(not dist.is_available() or not dist.is_gloo_available(), reason="needs a torch with gloo")
def test_two_shards_train_as_one_process(tmp_path):
    torch.multiprocessing.spawn(one_rank, (str(tmp_path),), nprocs=RANKS)
    for name, parameters in LEARNS.items():
        losses, *tensors = torch.load(tmp_path / f"{name}.pt")
        expected_losses, *expected_tensors = train(*model_and_data(name), lambda t: t)
        assert (losses - expected_losses).abs().max() < 1e-12
        for got, expected in zip(
            tensors, expected_tensors
        ):  # gradients of the first step, parameters after the last
            assert got.keys() == expected.keys()
            for key in got:
                assert (got[key] - expected[key]).abs().max() < 1e-9, key
        learned = {key: gradient for key, gradient in tensors[0].items() if ".encoding." in key}
        assert {key.rsplit(".", 1)[1] for key in learned} == parameters
        for key, gradient in learned.items():
            assert gradient.abs().max() > 0, key
