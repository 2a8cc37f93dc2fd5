"""Files that a stranger may have made: plain ones alone are read, and of bounded size."""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from .folders import TEMPORARY

__all__ = [
    "LARGE",
    "Bounded",
    "new_folder",
    "open_plain",
    "parse_json",
    "read_bytes",
    "read_json",
    "read_text",
    "sha256_of_file",
    "write_whole",
]

MOST = 64 << 20  # bytes of a file that is read whole, as the program has it
LARGE = 4 << 30  # of one that holds rows: metrics, benchmarks, prompts


def open_plain(file: str | PathLike) -> BinaryIO:
    """Pipes, sockets and devices, which may never end, are refused."""
    opened = open(file, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC))
    if stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
        return opened
    opened.close()
    raise ValueError(f"{file} is a pipe, a socket or a device, not a file")


def read_bytes(file: str | PathLike, most: int = MOST) -> bytes:
    with open_plain(file) as opened:
        content = opened.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{file} has more than the {most} bytes it may have")
    return content


def read_text(file: str | PathLike, most: int = MOST) -> str:
    try:
        return read_bytes(file, most).decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is no text in UTF-8: byte {error.start} belongs to no character") from None


def parse_json(text: str, where: str):
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where} is not JSON: {error.msg} in line {error.lineno}") from None
    except (RecursionError, ValueError):  # a number of more digits than Python takes
        raise ValueError(f"{where}: JSON that is nested too deep, or a number that is too long") from None


def read_json(file: str | PathLike, most: int = MOST) -> dict:
    """Of a file that holds one object."""
    found = parse_json(read_text(file, most), str(file))
    if not isinstance(found, dict):
        raise ValueError(f"{file} is not a JSON object")
    return found


def sha256_of_file(file: str | PathLike) -> str:
    digest = hashlib.sha256()
    with open_plain(file) as opened:
        while piece := opened.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _beside(path: Path) -> Path:
    """A name under which nothing is taken for whole."""
    return path.with_name(f"{TEMPORARY}{path.name}-{secrets.token_hex(4)}")


def write_whole(file: Path, text: str) -> None:
    """There whole or not at all. Others may write the same at the same time: the last one stands."""
    half = _beside(file)
    try:
        with open(half, "x", encoding="utf-8") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        half.replace(file)
    finally:
        half.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Where a folder is made that is there whole or not at all: it gets its name at the end."""
    if path.is_symlink() or path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise ValueError(f"{path} is there already and is not empty: choose another folder")
    path = path.absolute()
    half = _beside(path)
    half.mkdir(parents=True)
    try:
        yield half
        half.rename(path)
    except BaseException:
        shutil.rmtree(half)
        raise


class Bounded(io.RawIOBase):
    """What unpacks to far more than text does is refused before it fills the memory."""

    RATIO, FROM = 200, 1 << 20  # as the program has it

    def __init__(self, unpacked: BinaryIO, file: str | PathLike) -> None:
        super().__init__()
        self.unpacked, self.file = unpacked, file
        self.left = max(self.FROM, self.RATIO * os.path.getsize(file))

    def readable(self) -> bool:
        return True

    def readinto(self, into) -> int:
        piece = self.unpacked.read(len(into))
        self.left -= len(piece)
        if self.left < 0:
            raise ValueError(f"{self.file} unpacks to more than {self.RATIO} times its size")
        into[: len(piece)] = piece
        return len(piece)
