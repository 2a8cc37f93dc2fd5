"""Power loss: every call of a command that changes the disk is recorded, and after each of them the disks are
made that could be left: what was synced, beside none of the rest, all of its names, or all but half of the
last bytes. The same command then has to end as if nothing had happened, and nothing that was safe is lost.

.venv/bin/python tests/oracles/power.py [VERB[:i/N]...]     # every call of training, bundles, `data prepare`
"""

import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys

from faults import VERBS, left_by, main, sha
from programs import BUILD, DAROPE

NAMES = ["train", "bundle", "prepare"]
KINDS = ["synced", "names", "half"]


class File:
    def __init__(self, data=b""):
        self.data = self.safe = data

    def sync(self):
        self.safe = self.data

    def image(self, kind):
        half = (len(self.safe) + len(self.data)) // 2
        return self.data[:half] if kind == "half" and len(self.data) > len(self.safe) else self.safe


class Folder:
    def __init__(self):
        self.names, self.safe = {}, {}

    def sync(self):
        self.safe = dict(self.names)

    def image(self, kind):
        return self.safe if kind == "synced" else self.names


class Disk:
    """What a folder holds, and how much of it would be there after a power loss."""

    def __init__(self, root):
        self.path, self.root = root, self._taken(root)

    def _taken(self, path):
        if path.is_file():
            return File(path.read_bytes())
        folder = Folder()
        folder.names = {each.name: self._taken(each) for each in path.iterdir()}
        folder.sync()
        return folder

    def find(self, path):
        """(folder, name), or None where the path is not on this disk."""
        try:
            *above, name = pathlib.Path(path).relative_to(self.path).parts or ("",)
        except ValueError:
            return None
        folder = self.root
        for part in above:
            folder = folder.names[part]
        return folder, name

    def at(self, path):
        folder, name = self.find(path)
        return folder.names[name] if name else folder

    def change(self, call, path, other, offset, data):
        if path.endswith(" (deleted)") or not self.find(path):
            return
        folder, name = self.find(path)
        if call == "create":
            folder.names.setdefault(name, File())
        elif call == "mkdir":
            folder.names[name] = Folder()
        elif call == "remove":
            del folder.names[name]
        elif call == "rename":
            to, new = self.find(other)
            to.names[new] = folder.names.pop(name)
        elif call == "sync":
            self.at(path).sync()
        else:
            file = self.at(path)
            kept = file.data[:offset].ljust(offset, b"\0")
            file.data = kept if call == "truncate" else kept + data + file.data[offset + len(data) :]

    def write_image(self, kind, where, node=None):
        node = node or self.root
        where.mkdir()
        for name, each in node.image(kind).items():
            if isinstance(each, Folder):
                self.write_image(kind, where / name, each)
            else:
                (where / name).write_bytes(each.image(kind))


def records(file):
    text = file.read_bytes()
    while text:
        line, _, rest = text.partition(b"\n")
        call, path, other, offset, size = line.decode().split("\t")
        yield call, path, other, int(offset), rest[: int(size)]
        text = rest[int(size) :]


def newest_sound(folder):
    """The step of the newest checkpoint of which every byte is there; 0 without one."""
    for checkpoint in sorted(folder.glob("run/checkpoints/[0-9]*"), reverse=True):
        manifest = checkpoint / "MANIFEST.json"
        try:
            files = json.loads(manifest.read_text())["files"]
            if all(sha(checkpoint / each["file"]) == each["sha256"] for each in files):
                return int(checkpoint.name)
        except (OSError, ValueError, KeyError):
            continue
    return 0


class Loss:
    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        prepare, self.command, _ = VERBS[name]
        self.before, self.here = folder / "before", folder / "here"
        self.before.mkdir(parents=True)
        prepare(self.before)
        shutil.copytree(self.before, self.here)
        done = self.run(LD_PRELOAD=str(BUILD / "librecord.so"), DAROPE_RECORD=str(folder / "record"))
        assert done.returncode == 0, done.stderr
        self.expected = left_by(self.name, self.here)
        self.calls = list(records(folder / "record"))

    def run(self, **more):
        return subprocess.run(
            [DAROPE, *map(str, self.command)], cwd=self.here, capture_output=True, text=True,
            errors="replace", timeout=300, env={**os.environ, **more},
        )  # fmt: skip

    def put(self, disk, kind):
        shutil.rmtree(self.here)
        disk.write_image(kind, self.here)

    def problem(self, disk, kind, saved, last):
        """What is lost; nothing if nothing is."""
        self.put(disk, kind)
        if newest_sound(self.here) < saved:
            return f"the checkpoint of step {saved} is lost"
        if last and left_by(self.name, self.here) != self.expected:
            return "what the command left is not safe when it ends"
        if self.name == "prepare" and (self.here / "set" / "manifest.json").exists():
            return None if left_by(self.name, self.here) == self.expected else "a dataset that is not whole"
        again = self.run()
        if again.returncode != 0:
            return f"the command again: exit code {again.returncode}: {again.stderr[-300:]}"
        return (
            None if left_by(self.name, self.here) == self.expected else "another outcome of the command again"
        )

    def every_loss(self, wanted):
        """(kind of disk, call, what is lost) of each disk that is wanted, and of the last ones."""
        saved, counted = 0, itertools.count()
        shutil.rmtree(self.here)
        shutil.copytree(self.before, self.here)
        disk = Disk(self.here)
        for number, (call, path, *rest) in enumerate(self.calls, 1):
            disk.change(call, path, *rest)
            folder = pathlib.Path(path)
            if call == "sync" and folder.parent.name == "checkpoints" and folder.name.isdigit():
                saved = max(saved, int(folder.name))
            for kind in KINDS:
                if wanted(next(counted)) or number == len(self.calls):
                    yield kind, number, self.problem(disk, kind, saved, number == len(self.calls))


if __name__ == "__main__":
    sys.exit(
        main(
            sys.argv[1:] or NAMES,
            lambda name, folder, wanted: Loss(name, folder).every_loss(wanted),
            "after",
        )
    )
