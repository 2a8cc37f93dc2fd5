"""docs/tutorial.md as a reader follows it: every command of the page, in its order, in one folder."""

import os
import re
import subprocess
import sys

import pytest
from programs import BUILD, ROOT

PAGE = (ROOT / "docs" / "tutorial.md").read_text()
# Trainings are cut to a few steps: what they find means nothing, and every command still runs.
FEWER = {
    "compare": "steps=4 data.test_examples=8 model.dim=32 model.n_layers=1 model.n_heads=2",
    "train": "steps=4 data.test_examples=8",
}


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)


def commands():
    """Each command of the page, without the comments behind it."""
    whole = "".join(blocks("sh")).replace("\\\n", " ")
    return [line.partition("  #")[0].strip() for line in whole.splitlines() if line.strip()]


def shortened(command):
    verb = command.split()[1] if command.startswith("darope ") else ""
    if verb not in FEWER or "--power" in command:
        return command
    keys = tuple(each.partition("=")[0] + "=" for each in FEWER[verb].split())
    kept = [word for word in command.split(" ") if not word.startswith(keys)]
    return " ".join([*kept, FEWER[verb]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tutorial")


def test_every_command_runs(folder):
    paths = [str(BUILD), os.path.dirname(sys.executable), os.environ["PATH"]]
    for command in commands():
        done = subprocess.run(
            ["bash", "-c", shortened(command)], cwd=folder, capture_output=True, text=True, timeout=600,
            errors="replace",  # bytes that a model writes
            env={**os.environ, "PATH": os.pathsep.join(paths)},
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stderr)
    for name in re.findall(r"`(runs/[\w/.-]+\.(?:html|json))`", PAGE):
        assert (folder / name).is_file(), name


def test_the_python_of_the_page_runs(folder):
    for block in blocks("python"):
        done = subprocess.run([sys.executable, "-c", block], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_its_pictures_are_there_and_small():
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE)
    assert len(pictures) >= 3
    for each in pictures:
        assert 1000 < (ROOT / "docs" / each).stat().st_size < 150_000
