"""python -m darope.hf export RUN --to hf|stock DIR, and python -m darope.hf import HF_DIR --out RUN."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from transformers.utils.logging import disable_progress_bar, set_verbosity_error

from .. import folders
from ..settings import settings_of
from ..terminal import exit_code_of
from .export import export_hf, export_stock
from .retrofit import import_llama


def parser() -> argparse.ArgumentParser:
    program = argparse.ArgumentParser(prog="python -m darope.hf", description="runs out to others, and in")
    verbs = program.add_subparsers(dest="verb", required=True)
    export = verbs.add_parser("export", help="write a folder that Hugging Face's library loads")
    export.add_argument("run", metavar="RUN", type=Path, help="a run's folder, or one checkpoint's")
    export.add_argument(
        "--to", choices=["hf", "stock"], required=True, help="stock: as a Llama, where it is one"
    )
    export.add_argument(
        "--encoding", help="with --to stock: another that the weights fit, yarn:factor=8 for rope"
    )
    export.add_argument("out", metavar="DIR", type=Path, help="a new folder")
    take = verbs.add_parser("import", help="make a run of a Llama-style model with RoPE")
    take.add_argument("source", metavar="HF_DIR", type=Path)
    take.add_argument("--encoding", required=True, help="darope begins where it is RoPE inside the window")
    take.add_argument("--out", metavar="RUN", type=Path, required=True, help="a new folder")
    return program


def refuse_without_weights(folder: Path) -> None:
    """A folder of several runs, of which one is meant, and a run that only scored another's weights."""
    if (folder / folders.SETTINGS).exists():
        if of := settings_of(folder).get("weights_of"):
            raise ValueError(
                f"{folder} has no weights: it scored those of {folder.parent / of}; give that run"
            )
        return
    runs = sorted(
        each.parent
        for place in (folder / folders.RUNS, folder)
        for each in place.glob(f"*/{folders.SETTINGS}")
    )
    if runs:
        raise ValueError(f"{folder} holds {len(runs)} runs: give one of them, such as {runs[0]}")


def work(given: argparse.Namespace) -> None:
    source = given.source if given.verb == "import" else given.run
    if not source.is_dir():
        raise ValueError(f"{source} is no folder: give a run's, a checkpoint's or a model's")
    if given.verb == "export":
        refuse_without_weights(source)
    if given.verb == "import":
        import_llama(given.source, given.encoding, given.out)
        print(f"{given.out}: darope train {given.out}/import.yaml data.root_dir=DATA trains it on")
    elif given.to == "stock":
        export_stock(given.run, given.out, given.encoding)
        print(f"{given.out}: LlamaForCausalLM.from_pretrained({str(given.out)!r}) loads it")
    elif given.encoding:
        raise ValueError("--encoding is for --to stock: with --to hf the reader of the folder chooses")
    else:
        export_hf(given.run, given.out)
        print(
            f"{given.out}: AutoModelForCausalLM.from_pretrained({str(given.out)!r}, trust_remote_code=True) "
            "loads it, where darope is installed"
        )


def main() -> int:
    given = parser().parse_args()
    disable_progress_bar()  # standard error is for the one sentence
    set_verbosity_error()
    return exit_code_of("darope.hf", lambda: work(given))


if __name__ == "__main__":
    sys.exit(main())
