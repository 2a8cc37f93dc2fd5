"""What `make install` leaves: it works wherever the folder goes, and knows nothing of where it was built."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import TASK
from programs import BUILD, ROOT


@pytest.fixture(scope="module")
def moved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("install")
    cmake = Path(sys.executable).parent / "cmake"
    asked = [cmake, "--install", BUILD, "--prefix", folder / "first"]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (folder / "first").rename(folder / "moved")
    return folder / "moved"


def bare(*words, cwd):
    """Without an environment."""
    return subprocess.run(
        ["env", "-i", *map(str, words)], capture_output=True, text=True, cwd=cwd, timeout=300
    )


def test_a_moved_installation_compares_and_exports(moved, tmp_path):
    compared = bare(moved / "bin" / "darope", "compare", *TASK, "--out", "mine", cwd=tmp_path)
    assert compared.returncode == 0 and (tmp_path / "mine" / "report.html").exists(), compared.stderr
    run = next((tmp_path / "mine" / "runs").iterdir())
    exported = bare(moved / "bin" / "darope", "export", run, "--to", "hf", "out", cwd=tmp_path)
    assert (tmp_path / "out" / "model.safetensors").exists(), exported.stderr
    at = "import darope; print(darope.__file__)"
    python = moved / "lib" / "darope" / "environment" / "bin" / "python3"
    package = moved / "lib" / "darope" / "python"
    found = bare(f"PYTHONPATH={package}", python, "-c", at, cwd=tmp_path)
    assert found.stdout.strip() == str(package / "darope" / "__init__.py"), found.stderr


def test_no_file_knows_where_it_was_built(moved):
    files = [path for path in moved.rglob("*") if path.is_file() and not path.is_symlink()]
    assert {"darope", "darope-compute", "libdarope_ops.so", "darope.1"} <= {path.name for path in files}
    for path in files:
        for place in (ROOT, BUILD, moved.parent / "first"):
            assert str(place).encode() not in path.read_bytes(), (path, place)


def test_the_manual_and_completions_lie_where_they_are_looked_for(moved):
    share = moved / "share"
    for place in (
        "bash-completion/completions/darope",
        "zsh/site-functions/_darope",
        "fish/vendor_completions.d/darope.fish",
    ):
        assert "darope" in (share / place).read_text()
    if not shutil.which("man"):
        pytest.skip("man is not installed")
    page = subprocess.run(["man", "-l", share / "man" / "man1" / "darope.1"], capture_output=True, text=True)
    assert page.returncode == 0 and "compare positional encodings" in page.stdout, page.stderr
