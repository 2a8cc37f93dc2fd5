"""Two ranks that shard a model of darope.hf train exactly as one process does."""

import os

import pytest
import torch
import torch.distributed as dist

pytest.importorskip("transformers", reason="needs transformers")
from hf_small import small  # noqa: E402

RANKS, STEPS = 2, 2
ENCODINGS = {"darope": {"w", "alpha"}, "pope": {"delta"}, "cope": {"embedding"}, "learned": {"table"}}


def model_and_rows(encoding):
    rows = torch.randint(13, (4, 20), generator=torch.Generator().manual_seed(1))  # beyond training's length
    return small(encoding), rows


def train(model, rows, whole):
    """Loss of every step, first gradients and last parameters; `whole` makes one tensor of a sharded one."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses, gradients = [], {}
    for _ in range(STEPS):
        loss = model(rows, labels=rows).loss
        loss.backward()
        gradients = gradients or {name: whole(p.grad).clone() for name, p in model.named_parameters()}
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    parameters = {name: whole(p.detach()).clone() for name, p in model.named_parameters()}
    return torch.stack(losses), gradients, parameters


def one_rank(rank, folder):
    from torch.distributed.fsdp import fully_shard

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=RANKS)
    for encoding in ENCODINGS:
        model, rows = model_and_rows(encoding)
        for layer in model.model.layers:
            fully_shard(layer)
        fully_shard(model)
        half = len(rows) // RANKS
        share = rows[rank * half : (rank + 1) * half]
        losses, gradients, parameters = train(model, share, lambda t: t.full_tensor())
        dist.all_reduce(losses)
        if rank == 0:
            torch.save((losses / RANKS, gradients, parameters), os.path.join(folder, f"{encoding}.pt"))
    dist.barrier()  # a rank that leaves while the other still talks can abort
    dist.destroy_process_group()


@pytest.mark.skipif(not dist.is_available() or not dist.is_gloo_available(), reason="needs a torch with gloo")
def test_two_shards_train_as_one_process(tmp_path):
    torch.multiprocessing.spawn(one_rank, (str(tmp_path),), nprocs=RANKS)
    for encoding, learned in ENCODINGS.items():
        losses, *tensors = torch.load(tmp_path / f"{encoding}.pt")
        expected_losses, *expected = train(*model_and_rows(encoding), lambda t: t)
        assert (losses - expected_losses).abs().max() < 1e-5  # sums of float32 in another order
        for got, wanted in zip(tensors, expected):
            assert got.keys() == wanted.keys()
            for name in got:
                assert (got[name] - wanted[name]).abs().max() < 1e-5 * max(1, wanted[name].abs().max()), name
        found = {name.rsplit(".", 1)[1]: grad for name, grad in tensors[0].items() if f".{encoding}." in name}
        assert found.keys() == learned and all(grad.abs().max() > 0 for grad in found.values())
