"""What is said to people on standard error, and how a program ends."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable

FAILED, BAD_INPUT, CHECK_FAILED = 1, 2, 3  # as docs/cli.md has them
MOST = 2000  # characters of a sentence, which may hold names from a stranger's files


class Damaged(ValueError):
    """What lies there is not what was written."""


def printable(text: str) -> str:
    """Without control characters, which steer terminals."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def complain(program: str, error: object) -> None:
    """One sentence."""
    words = str(error)
    words = words if len(words) <= MOST else words[:MOST] + " ..."
    print(f"{program}: {printable(words)}", file=sys.stderr)


def is_full(error: Exception) -> bool:
    """Whether the disk is, as Python says it or safetensors does."""
    full = (errno.ENOSPC, errno.EDQUOT)
    return getattr(error, "errno", None) in full or f"(os error {errno.ENOSPC})" in str(error)


def exit_code_of(program: str, work: Callable[[], None]) -> int:
    """Does the work. A library that meets what nobody meant it to read may raise anything: that is one
    sentence too.
    """
    try:
        work()
    except Damaged as error:
        complain(program, error)
        return CHECK_FAILED
    except Exception as error:
        if is_full(error):
            complain(program, "no space left on the disk; free some and start again")
            return FAILED
        if isinstance(error, (ValueError, OSError, RuntimeError, ImportError)):
            complain(program, error)
            return BAD_INPUT
        complain(program, f"what was given does not fit: {type(error).__name__}: {error}")
        return BAD_INPUT
    return 0
