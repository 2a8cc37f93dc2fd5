"""The settings of a run (docs/run-folder.md), which a stranger may have written."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from . import folders
from .files import read_text

__all__ = ["data_settings", "read_settings", "settings_of"]

MOST = 1 << 20  # bytes of a config, as the program has it


def read_settings(run: str | PathLike) -> str:
    """config.yaml; "" where there is none."""
    file = Path(run) / folders.SETTINGS
    return read_text(file, MOST) if file.exists() else ""


def settings_of(run: str | PathLike) -> dict:
    """config.yaml with its blocks; values are the texts that stand there."""
    import yaml  # whoever asks for settings needs more than torch

    class Plain(yaml.BaseLoader):
        def compose_node(self, parent, index):
            if self.check_event(yaml.AliasEvent):  # which can make gigabytes of a few lines
                raise ValueError("a YAML alias, which no config has")
            return super().compose_node(parent, index)

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
    if not isinstance(settings, dict):
        raise ValueError(f"{file} is no config: it should have settings and their values")
    return settings


def data_settings(run: str | PathLike) -> dict[str, str]:
    """The block `data`, without what is empty there."""
    data = settings_of(run).get("data", {})
    if not isinstance(data, dict):
        raise ValueError(f"{Path(run) / folders.SETTINGS} is no config: 'data' should have settings")
    return {key: value for key, value in data.items() if isinstance(value, str) and value != "null"}
