"""A prompt read at once, the last token's logits alone: the opponent of `darope bench prefill`."""

import torch
from decoder import Decoder
from rounds import answer


def make(asked):
    model = Decoder(asked.shape, asked.encoding).for_reading(asked.device, asked.dtype)
    run = asked.compiled(model.last_logits)
    tokens = torch.randint(
        asked.shape["vocabulary"], (asked.batch, asked.shape["length"]), device=asked.device
    )

    def call():
        with torch.inference_mode():
            return run(tokens)

    return call


if __name__ == "__main__":
    answer(make)
