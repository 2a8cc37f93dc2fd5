"""A training step, float32 weights under bfloat16 autocast on a GPU, fused AdamW, clipping by norm: the
opponent of `darope bench step`."""

import torch
from decoder import Decoder
from rounds import answer

ROWS_AT_ONCE = 8192  # of a loss in chunks


def make(asked):
    rows = asked.batch * asked.shape["length"]
    chunks = -(-rows // ROWS_AT_ONCE) if "chunks" in asked.words else 1
    model = Decoder(asked.shape, asked.encoding, chunks).to(asked.device)
    run = asked.compiled(model.loss)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True
    )
    tokens = torch.randint(
        asked.shape["vocabulary"], (asked.batch, asked.shape["length"] + 1), device=asked.device
    )

    def call():
        with torch.autocast(asked.device, torch.bfloat16, enabled=asked.cuda):
            loss = run(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return call


if __name__ == "__main__":
    answer(make)
