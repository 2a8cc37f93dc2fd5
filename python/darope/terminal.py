"""What is said to people on standard error, and how a program ends."""

from __future__ import annotations

import sys
from collections.abc import Callable

BAD_INPUT, CHECK_FAILED = 2, 3  # as docs/cli.md has them
MOST = 2000  # characters of a sentence, which may hold names from a stranger's files


class Damaged(ValueError):
    """What lies there is not what was written."""


def complain(program: str, error: object) -> None:
    """One sentence, without control characters, which steer terminals."""
    words = str(error)
    words = words if len(words) <= MOST else words[:MOST] + " ..."
    safe = "".join(c if c.isprintable() or c in "\n\t" else "?" for c in words)
    print(f"{program}: {safe}", file=sys.stderr)


def exit_code_of(program: str, work: Callable[[], None]) -> int:
    """Does the work. A library that meets what nobody meant it to read may raise anything: that is one
    sentence too.
    """
    try:
        work()
    except Damaged as error:
        complain(program, error)
        return CHECK_FAILED
    except (ValueError, OSError, RuntimeError, ImportError) as error:
        complain(program, error)
        return BAD_INPUT
    except Exception as error:
        complain(program, f"what was given does not fit: {type(error).__name__}: {error}")
        return BAD_INPUT
    return 0
