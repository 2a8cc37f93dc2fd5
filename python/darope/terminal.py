"""What is said to people on standard error."""

from __future__ import annotations

import sys


def complain(program: str, error: object) -> None:
    """One sentence. It may carry names from a stranger's files, whose control characters steer terminals."""
    safe = "".join(c if c.isprintable() or c in "\n\t" else "?" for c in str(error))
    print(f"{program}: {safe}", file=sys.stderr)
