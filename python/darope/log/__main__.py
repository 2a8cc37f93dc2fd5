"""python -m darope.log RUN|COMPARISON... --to wandb|mlflow [--project P]"""

from __future__ import annotations

import argparse
import sys

from ..terminal import BAD_INPUT, FAILED, complain, printable
from . import TRACKERS, finished


def parser() -> argparse.ArgumentParser:
    program = argparse.ArgumentParser(prog="python -m darope.log", description="tell trackers of runs")
    program.add_argument("folders", metavar="RUN", nargs="+", help="folders of runs and comparisons")
    program.add_argument("--to", choices=TRACKERS, action="append", required=True)
    program.add_argument("--project", default="darope")
    return program


def main() -> int:
    given = parser().parse_args()
    each = given.to[0]
    try:
        runs = [run for folder in given.folders for run in finished(folder)]
        if not runs:
            raise ValueError("none of these runs has ended: there are no results to log yet")
        for each in given.to:
            for name, what in TRACKERS[each].tell(runs, given.project):
                print(printable(f"{name}: {what}"))
    except ModuleNotFoundError as error:
        tracker = TRACKERS[each]
        complain("darope", f"{tracker.name} needs '{error.name}': pip install {tracker.package}")
        return FAILED
    except (ValueError, OSError) as error:
        complain("darope", error)
        return BAD_INPUT
    except (KeyError, TypeError, AttributeError) as error:  # files that are not what a run writes
        complain("darope", f"what was given does not fit: {type(error).__name__}: {error}")
        return BAD_INPUT
    except Exception as error:  # a tracker's own: no server, no permission
        complain("darope", f"{TRACKERS[each].name}: {error}")
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
