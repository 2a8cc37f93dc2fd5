"""The settings of a run, as far as a reader of its checkpoints must know them (docs/run-folder.md)."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import yaml

from .. import folders
from ..files import read_text

__all__ = ["data_settings", "read_settings"]

MOST = 1 << 20  # bytes of a config, as the program has it


class Plain(yaml.BaseLoader):
    """Values stay texts, and an alias, which can make gigabytes of a few lines, is refused."""

    def compose_node(self, parent, index):
        if self.check_event(yaml.AliasEvent):
            raise ValueError("a YAML alias, which no config has")
        return super().compose_node(parent, index)


def read_settings(run: str | PathLike) -> str:
    """config.yaml; "" where there is none."""
    file = Path(run) / folders.SETTINGS
    return read_text(file, MOST) if file.exists() else ""


def data_settings(run: str | PathLike) -> dict[str, str]:
    """The block `data` of config.yaml, without what is empty there."""
    text, file = read_settings(run), Path(run) / folders.SETTINGS
    try:
        settings = yaml.load(text, Loader=Plain) if text.strip() else {}
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ValueError(f"{file}:{line}: no YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"{file}: {error}") from None
    except RecursionError:
        raise ValueError(f"{file}: nested too deep") from None
    data = settings.get("data", {}) if isinstance(settings, dict) else None
    if not isinstance(data, dict):
        raise ValueError(f"{file} is no config: it should have settings, and under data those of the data")
    return {key: value for key, value in data.items() if isinstance(value, str) and value != "null"}
