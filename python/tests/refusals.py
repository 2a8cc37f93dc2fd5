"""Small encodings, calls on them, and the sentence with which one is refused."""

import darope
import pytest
import torch
from conftest import SIZES, inputs


def create(name="darope", **changes):
    return darope.create(name, **{**SIZES, **changes})


def refuses(kind, words, call):
    """call() raises `kind` with one line that holds all words."""
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    message = str(caught.value)
    assert "\n" not in message and len(message) < 400, message
    for word in words:
        assert str(word) in message, message


class Call:
    """An encoding and good arguments, of which a call may replace some."""

    def __init__(self, name="darope", dtype=torch.float32, **sizes):
        self.module = create(name, **sizes).to(dtype)
        self.given = dict(zip("qkvx", inputs(dtype=dtype)))

    def attend(self, **changes):
        return self.module.attend(**{**self.given, **changes})

    def encode(self, **changes):
        return self.module(**{**{name: self.given[name] for name in "qkx"}, **changes})
