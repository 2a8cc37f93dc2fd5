"""Bundles against Python's tarfile and zstandard: what we pack they open, what they pack we read, and what
is hostile we refuse.
"""

import io
import json
import subprocess
import tarfile

import pytest
import zstandard
from comparison import write_comparison
from programs import BUILD


def report(*words):
    return subprocess.run(
        [BUILD / "report_probe", *map(str, words)], capture_output=True, text=True, timeout=120
    )


def unpacked(path):
    return io.BytesIO(zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read())


def results(folder):
    found = json.loads((folder / "results.json").read_text())
    for run in found["runs"]:
        run.pop("folder")
    return found


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    out = tmp_path_factory.mktemp("comparison")
    write_comparison(out)
    assert report(out, "--bundle", out / "all.tar.zst").returncode == 0
    return out


def test_tar_opens_what_we_pack(comparison):
    with tarfile.open(fileobj=unpacked(comparison / "all.tar.zst")) as archive:
        names = archive.getnames()
        assert names == sorted(names) and len(names) == len(set(names))
        for member in archive:
            assert member.isfile() and (member.mode, member.uid, member.gid, member.mtime) == (0o644, 0, 0, 0)
            text = archive.extractfile(member).read()
            if member.name.endswith("metrics.jsonl"):
                points = [json.loads(line) for line in text.splitlines()]
                assert len(points) == 200 and set(points[0]) == {"global_step", "loss/out"}
            else:
                assert text == (comparison / member.name).read_bytes(), member.name
    assert {name.split("/")[1] for name in names} == {
        folder.name for folder in (comparison / "runs").iterdir()
    }


def test_a_report_on_the_bundle_is_the_report_on_the_folder(comparison, tmp_path):
    assert report(comparison / "all.tar.zst", "--out", tmp_path).returncode == 0
    assert results(tmp_path) == results(comparison)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT])
def test_we_read_what_tar_packs(comparison, tmp_path, form):
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=form) as archive:
        archive.add(comparison / "runs", "./runs")
    packed = tmp_path / "repacked.tar.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(plain.getvalue()))
    assert report(packed, "--out", tmp_path).returncode == 0
    assert results(tmp_path) == results(comparison)


def archive_of(*members, form=tarfile.USTAR_FORMAT):
    """Each is (name, content) or (name, type, target)."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=form) as archive:
        for name, *rest in members:
            info = tarfile.TarInfo(name)
            if len(rest) == 1:
                info.size = len(rest[0])
                archive.addfile(info, io.BytesIO(rest[0]))
            else:
                info.type, info.linkname = rest
                archive.addfile(info)
    return plain.getvalue()


def with_size(archive, size):
    """The first header promising another size, its checksum mended."""
    header = bytearray(archive[:512])
    header[124:136] = b"%011o\0" % size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + archive[512:]


FACTS = (
    b'{"schema": 1, "dataset": "d", "encoding": "e", "seed": 0, "status": "diverged", "tokens": 0,'
    b' "shared_init": "", "data_order": "",'
    b' "config_without_encoding": ""}'
)
HOSTILE = {
    "a way out": (archive_of(("runs/../../evil/run.json", FACTS)), "has no place in a bundle"),
    "a way out by name": (archive_of(("runs/../run.json", FACTS)), "has no place in a bundle"),
    "an absolute path": (archive_of(("/tmp/evil/run.json", FACTS)), "has no place in a bundle"),
    "a folder in a folder": (archive_of(("runs/a/b/run.json", FACTS)), "has no place in a bundle"),
    "another file": (archive_of(("runs/a/evil.sh", FACTS)), "has no place in a bundle"),
    "a file of no run": (archive_of(("run.json", FACTS)), "has no place in a bundle"),
    "a control character": (archive_of(("runs/\x1b[31m/run.json", FACTS)), "has no place in a bundle"),
    "a link": (archive_of(("runs/a/run.json", tarfile.SYMTYPE, "/etc/passwd")), "is no plain file"),
    "a hard link": (archive_of(("runs/a/run.json", tarfile.LNKTYPE, "/etc/passwd")), "is no plain file"),
    "a device": (archive_of(("runs/a/run.json", tarfile.CHRTYPE, "")), "is no plain file"),
    "a long name's extension": (
        archive_of(("runs/" + "x" * 300 + "/run.json", FACTS), form=tarfile.GNU_FORMAT),
        "is no plain file",
    ),
    "a run without run.json": (archive_of(("runs/a/config.yaml", b"seed: 1")), "has no run.json"),
    "a file twice": (archive_of(("runs/a/run.json", FACTS), ("runs/a/run.json", FACTS)), "stands twice"),
    "a run taken up again": (
        archive_of(("runs/a/run.json", FACTS), ("runs/b/run.json", FACTS), ("runs/a/run.json", FACTS)),
        "stands twice",
    ),
    "a size that is not there": (
        with_size(archive_of(("runs/a/results.jsonl", FACTS)), 60 << 20),
        "cut short",
    ),
    "a size beyond reason": (
        with_size(archive_of(("runs/a/results.jsonl", FACTS)), 1 << 32),
        "more than the 67108864 it may have",
    ),
    "facts beyond reason": (
        with_size(archive_of(("runs/a/run.json", FACTS)), 2 << 20),
        "more than the 1048576 it may have",
    ),
    "no archive": (b"x" * 2048, "not a tar archive"),
    "something behind the end": (
        archive_of(("runs/a/run.json", FACTS)) + b"more",
        "something follows the end",
    ),
    "an archive without an end": (archive_of(("runs/a/run.json", FACTS))[:1024], "cut short"),
    "facts that are none": (archive_of(("runs/a/run.json", b"{}")), "'schema' is missing"),
    "nothing": (archive_of(), "no finished run"),
}


@pytest.mark.parametrize("plain, words", HOSTILE.values(), ids=HOSTILE)
def test_hostile_archives_are_refused(tmp_path, plain, words):
    bundle = tmp_path / "evil.tar.zst"
    bundle.write_bytes(zstandard.ZstdCompressor().compress(plain))
    done = report(bundle, "--out", tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, (done.returncode, done.stderr)
    assert str(bundle) in done.stderr and words in done.stderr and "\x1b" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["evil.tar.zst"]


def test_a_bomb_is_refused(comparison, tmp_path):
    """Three gigabytes of spaces, in less than one megabyte."""
    facts = (comparison / "runs" / "bucket_sort-hope-s0" / "run.json").read_bytes()
    bundle = tmp_path / "bomb.tar.zst"
    with (
        bundle.open("wb") as out,
        zstandard.ZstdCompressor().stream_writer(out) as packed,
        tarfile.open(fileobj=packed, mode="w|") as archive,
    ):
        for i in range(64):
            for file, text in (
                ("metrics.jsonl", b" " * (48 << 20)),
                ("results.jsonl", b"\n"),
                ("run.json", facts),
            ):
                info = tarfile.TarInfo(f"runs/r{i}/{file}")
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text))
    assert bundle.stat().st_size < 1 << 20
    done = report(bundle, "--out", tmp_path)
    assert done.returncode == 2 and "unpacks to more than 2147483648 bytes" in done.stderr
