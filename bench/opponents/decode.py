"""Token by token behind a prompt, keys and values in buffers of fixed size, as recorded graphs need them: the
opponent of `darope bench decode`."""

import torch
from decoder import Decoder
from rounds import answer


def make(asked):
    length = asked.shape["length"]
    model = Decoder(asked.shape, asked.encoding).for_reading(asked.device, asked.dtype)
    caches = model.caches(asked.batch, length)
    for pair in caches:
        for x in pair:
            x.normal_()
    run = asked.compiled(model.next_logits)
    tokens = torch.randint(asked.shape["vocabulary"], (asked.batch, 1), device=asked.device)
    places = [torch.tensor([at], device=asked.device) for at in range(length - asked.steps, length)]
    done = 0

    def call():
        nonlocal done
        with torch.inference_mode():
            run(tokens, places[done % asked.steps], caches)
        done += 1

    return call


if __name__ == "__main__":
    answer(make)
