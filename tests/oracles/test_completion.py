"""Completions in the shells they are for, at a terminal: what a word typed as far as TAB becomes."""

import os
import pty
import select
import shutil
import subprocess
import time

import pytest
from programs import DAROPE

# Shells show what they got, so that quotes and spaces count as the program would see them.
SHOW = 'darope() { printf "<%s>" "$@"; printf "\\n"; }\n'


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with files, and the scripts where shells look for them."""
    folder = tmp_path_factory.mktemp("completion")
    for shell, name in (("bash", "darope.bash"), ("zsh", "functions/_darope"), ("fish", "darope.fish")):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(
            subprocess.run([DAROPE, "completion", shell], capture_output=True, text=True).stdout
        )
    work = folder / "work"
    work.mkdir()
    (work / "my file.txt").touch()
    return folder


def type_into(shell, start, line, cwd):
    """What the program gets when a person types the line, TABs in it, and return."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execvpe(shell[0], shell, {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(cwd.parent)})
    seen = ""

    def wait_for(text):
        nonlocal seen
        end = time.monotonic() + 20
        while text not in seen:
            assert time.monotonic() < end, (line, seen)
            if select.select([terminal], [], [], 0.2)[0]:
                seen += os.read(terminal, 4096).decode(errors="replace").replace("\r", "")
        before, _, seen = seen.partition(text)
        return before

    try:
        os.write(terminal, (start + "echo rea''dy\n").encode())
        wait_for("\nready\n")
        wait_for("$ ")
        for part in line.split("\t")[:-1]:
            os.write(terminal, (part + "\t").encode())
            time.sleep(0.3)  # a line end that comes with the TAB would be read before the answer
        os.write(terminal, (line.split("\t")[-1] + "\n").encode())
        wait_for("\n<")
        return "<" + wait_for("\n")
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def bash(place, line):
    shell = ["bash", "--noprofile", "--norc", "-i"]
    return type_into(shell, f"PS1='$ '; source {place}/darope.bash; {SHOW}", line, place / "work")


def zsh(place, line):
    if not shutil.which("zsh"):
        pytest.skip("zsh is not installed")
    start = f"PS1='$ '; fpath=({place}/functions $fpath); autoload -U compinit; compinit -D -u; {SHOW}"
    return type_into(["zsh", "-f", "-i"], start, line, place / "work")


TYPED = {
    "compare --da\t": "<compare><--data>",
    "compl\tba": "<completion><ba>",
    "data prepare --held\t": "<data><prepare><--held-out>",
    "train optim.lr_m\t0.1": "<train><optim.lr_min_ratio=0.1>",
    "train step\t3": "<train><steps=3>",
    "train my\\ f\t": "<train><my file.txt>",
    "train 'my f\t": "<train><my file.txt>",
    "train data.path=my\t": "<train><data.path=my file.txt>",
    "train data.documents=ap\t": "<train><data.documents=apart>",
    "train data.task=reverse_s\t": "<train><data.task=reverse_string>",
    "tasks reverse_s\t": "<tasks><reverse_string>",
    "data prepare mi\t": "<data><prepare><midi>",
    "report --reference alib\t": "<report><--reference><alibi>",
    "compare --encodings rope,hop\t": "<compare><--encodings><rope,hope>",
}


@pytest.mark.parametrize("line", TYPED)
@pytest.mark.parametrize("shell", [bash, zsh])
def test_a_word_typed_as_far_as_tab(shell, line, place):
    assert shell(place, "darope " + line).rstrip() == TYPED[line]


def fish(place, line):
    if not shutil.which("fish"):
        pytest.skip("fish is not installed")
    asked = subprocess.run(
        ["fish", "--no-config", "-c", f'source {place}/darope.fish; complete -C "darope {line}"'],
        capture_output=True,
        text=True,
        cwd=place / "work",
        env={"PATH": os.environ["PATH"], "HOME": str(place)},
    )
    assert asked.stderr == ""
    return [row.partition("\t")[0] for row in asked.stdout.splitlines()]


def test_fish_offers_verbs_options_settings_and_files(place):
    assert fish(place, "comp") == ["compare", "completion"]
    assert fish(place, "data pre") == ["prepare"] and fish(place, "data prepare ins") == []
    assert "--held-out" in fish(place, "data prepare --held")
    assert fish(place, "train optim.lr_m") == ["optim.lr_min_ratio="]
    assert fish(place, "train my") == ["my file.txt"]
    assert fish(place, "train data.path=my") == ["data.path=my file.txt"]
    assert fish(place, "train dtype=b") == ["dtype=bf16"]
    assert fish(place, "data prepare m") == ["maestro", "midi"]
    assert fish(place, "report --reference alib") == ["alibi"]
