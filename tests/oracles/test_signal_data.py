"""Prepared EEG against the same steps in NumPy: real Bonn segments, EEGMMIDB runs, and nights written in
Sleep-EDF's layout.

Sleep-EDF's signals cannot be had here; the nights below have its file names, headers, ages, signals and
record lengths, and noise inside.
"""

import csv
import hashlib
import json
import pathlib
import shutil
import subprocess

import numpy as np
import pyedflib
import pytest
from programs import DAROPE
from shared_data import shared, unpack

SPLITS = ("train", "validation", "test")
SIGNALS = [
    ("EEG Fpz-Cz", 3000),
    ("EEG Pz-Oz", 3000),
    ("EOG horizontal", 3000),
    ("Resp oro-nasal", 30),
    ("EMG submental", 30),
    ("Temp rectal", 30),
    ("Event marker", 30),
]


def prepared(kind, source, out, *options):
    return subprocess.run(
        [DAROPE, "data", "prepare", kind, source, "--out", out, *map(str, options)],
        capture_output=True,
        text=True,
    )


def prepare(kind, source, out, *options):
    done = prepared(kind, source, out, *options)
    assert done.returncode == 0, done.stderr
    return json.loads((out / "manifest.json").read_text())


def stored(folder, manifest):
    """{item: tokens}, {item: split}"""
    tokens, splits = {}, {}
    for split in SPLITS:
        values, starts = np.load(folder / f"{split}.npy"), np.load(folder / f"{split}.starts.npy")
        for (item, sequences), begin, end in zip(manifest["splits"][split]["items"], starts, starts[1:]):
            assert sequences == 1
            tokens[item], splits[item] = values[begin:end], split
    return tokens, splits


def expected(samples, splits):
    """The definition, on whole arrays: x = (x - median) / IQR, clipped; the training samples' 255
    quantiles; the number at or below.
    """
    x = {}
    for item, values in samples.items():
        low, middle, high = np.percentile(values, [25, 50, 75])
        x[item] = np.clip((values - middle) / (high - low), -20, 20)
    boundaries = np.quantile(
        np.concatenate([x[item] for item in x if splits[item] == "train"]), np.arange(1, 256) / 256
    )
    return {item: np.searchsorted(boundaries, values, side="right") for item, values in x.items()}, boundaries


def check(folder, manifest, samples):
    tokens, splits = stored(folder, manifest)
    assert tokens.keys() == samples.keys()
    wanted, boundaries = expected(samples, splits)
    assert manifest["facts"]["boundaries"] == boundaries.tolist()
    for item in samples:
        assert np.array_equal(tokens[item], wanted[item]), item
    return splits


def test_bonn(tmp_path):
    source = unpack(shared("data", "eeg", "bonn.tar.xz"), tmp_path / "in")
    samples = {
        str(p.relative_to(source)): np.loadtxt(p) for p in source.rglob("*") if p.suffix.lower() == ".txt"
    }
    assert len(samples) == 500
    manifest = prepare("bonn", source, tmp_path / "out")
    splits = check(tmp_path / "out", manifest, samples)
    for letter in "ZONFS":
        assert [
            sum(pathlib.Path(i).name[0] == letter and splits[i] == s for i in splits) for s in SPLITS
        ] == [80, 10, 10]
    assert "sleep-edf" in manifest["facts"]["stands_in_for"]


def test_own_edf_files(tmp_path):
    source = unpack(shared("data", "eeg", "eegmmidb-S001-R03-R06.tar.xz"), tmp_path / "in")
    for path in list(source.rglob("*.edf")):  # four recordings are too few for a test
        shutil.copy(path, path.with_stem(f"{path.stem}-again"))
    samples = {}
    for path in source.rglob("*.edf"):
        with pyedflib.EdfReader(str(path)) as file:
            samples[str(path.relative_to(source))] = file.readSignal(
                file.getSignalLabels().index("Cz.."), digital=True
            )
    manifest = prepare("edf", source, tmp_path / "out", "--channel", "Cz..")
    splits = sorted(check(tmp_path / "out", manifest, samples).values())
    assert splits == ["test"] * 2 + ["train"] * 4 + ["validation"] * 2
    assert manifest["facts"]["samples_per_second"] == 160
    wrong = subprocess.run(
        [DAROPE, "data", "prepare", "edf", source, "--channel", "Cz", "--out", tmp_path / "none"],
        capture_output=True,
        text=True,
    )
    assert (
        wrong.returncode == 2
        and "8 skipped" in wrong.stderr
        and "'Cz'" in wrong.stderr
        and not (tmp_path / "none").exists()
    )


def test_the_nearest_channel_is_named(tmp_path):
    source = unpack(shared("data", "eeg", "eegmmidb-S001-R03-R06.tar.xz"), tmp_path / "in")
    wrong = prepared("edf", source, tmp_path / "out", "--channel", "cz")
    assert wrong.returncode == 2 and "did you mean 'Cz..'?" in wrong.stderr, wrong.stderr


def noise(patient, seed, plus="EDF+C"):
    data = np.random.default_rng(seed).integers(-2000, 2000, 400).astype("<i2").tobytes()
    return edf(patient, [("Cz", 100)], 4, 1, data, plus)


def test_recordings_of_a_patient_stay_in_one_split(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(24):
        (folder / f"{i:02}.edf").write_bytes(noise(f"P{i // 3} F X X", i))
    manifest = prepare("edf", folder, tmp_path / "out", "--channel", "Cz")
    assert manifest["options"]["split"] == "by the patient of the header"
    by_patient = {}
    for split in SPLITS:
        for item, _ in manifest["splits"][split]["items"]:
            by_patient.setdefault(int(item[:2]) // 3, set()).add(split)
    assert len(by_patient) == 8 and all(len(splits) == 1 for splits in by_patient.values())


@pytest.mark.parametrize(
    "patients, told, caution",
    [
        (["X X X X"] * 8, "split by file: the headers name no patient", ""),
        (["P0 F X X"] * 4 + ["P1 M X X"] * 4, "the headers name too few patients", "2 patients are too few"),
    ],
)
def test_files_are_split_where_headers_do_not_tell(tmp_path, patients, told, caution):
    folder = tmp_path / "in"
    folder.mkdir()
    for i, patient in enumerate(patients):
        (folder / f"{i}.edf").write_bytes(noise(patient, i))
    done = prepared("edf", folder, tmp_path / "out", "--channel", "Cz")
    assert done.returncode == 0 and told in done.stdout, done.stdout
    assert caution in done.stderr and ("Note" in done.stderr) == bool(caution)


def test_missing_segments_of_bonn_are_told(tmp_path):
    folder, rng = tmp_path / "in", np.random.default_rng(1)
    folder.mkdir()
    for letter in "ZONFS":
        for i in range(96 if letter == "S" else 100):
            lines = "".join(f"{value}\n" for value in rng.integers(-500, 500, 50))
            (folder / f"{letter}{i + 1:03}.txt").write_text(lines)
    done = prepared("bonn", folder, tmp_path / "out")
    assert done.returncode == 0
    assert "of the 500 segments that were published, some are missing: 4 of set S" in done.stderr


def edf(patient, signals, records, seconds, data, plus=""):
    """A file as the format's description lays it out."""
    fields = [
        ("0", 8),
        (patient, 80),
        ("Startdate 24-APR-1989 X X X", 80),
        ("24.04.89", 8),
        ("16.13.00", 8),
        (256 * (len(signals) + 1), 8),
        (plus, 44),
        (records, 8),
        (seconds, 8),
        (len(signals), 4),
    ]
    for width, text in [
        (16, "{0}"),
        (80, ""),
        (8, "uV"),
        (8, "-192"),
        (8, "192"),
        (8, "-2048"),
        (8, "2047"),
        (80, ""),
        (8, "{1}"),
        (32, ""),
    ]:
        fields += [(text.format(*signal), width) for signal in signals]
    return b"".join(str(text).encode().ljust(width)[:width] for text, width in fields) + data


def write_night(folder, name, hypnogram, age, sex, records, sleep, rng):
    """One night of records of 30 seconds; returns the part that should be kept."""
    wave = [
        rng.normal(0, rng.uniform(60, 400), (records, n)).round().clip(-2048, 2047).astype("<i2")
        for _, n in SIGNALS
    ]
    patient = f"X {sex} X {'Female' if sex == 'F' else 'Male'}_{age}yr"
    (folder / name).write_bytes(edf(patient, SIGNALS, records, 30, np.concatenate(wave, axis=1).tobytes()))
    begin, end = sleep
    lists = [
        (0, begin, "Sleep stage W"),
        (begin, 30, "Sleep stage 1"),
        (begin + 30, 30, "Movement time"),
        (begin + 60, end - begin - 90, "Sleep stage ?"),
        (end - 30, 30, "Sleep stage R"),
        (end, records * 30 - end, "Sleep stage W"),
    ]
    text = b"+0\x14\x14\0" + b"".join(
        f"+{onset}\x15{duration}\x14{stage}\x14\0".encode() for onset, duration, stage in lists
    )
    text += b"\0" * (1000 - len(text))
    (folder / hypnogram).write_bytes(edf(patient, [("EDF Annotations", 500)], 1, 0, text, "EDF+C"))
    return wave[0].ravel()[max(0, 100 * (begin - 1800)) : 100 * (end + 1800)]


def write_cassette(folder, nights, rng):
    """nights: rows of MNE's table. The first night is long enough to be trimmed at both ends."""
    folder.mkdir(parents=True)
    samples = {}
    for i, (psg, hypnogram) in enumerate(nights):
        records, sleep = (180, (2400, 3000)) if i == 0 else (8, (60, 180))
        kept = write_night(
            folder, psg["fname"], hypnogram["fname"], psg["age"], psg["sex"][0].upper(), records, sleep, rng
        )
        samples[psg["fname"][:6]] = kept.astype(float)
    return samples


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    archive = shared("data", "eeg", "sleep-edf-meta.tar.xz")
    folder = unpack(archive, tmp_path_factory.mktemp("sleep"), lambda name: name.endswith("age_records.csv"))
    rows = list(csv.DictReader(next(folder.rglob("mne_age_records.csv")).open()))
    by_type = {
        kind: {(r["subject"], r["night"]): r for r in rows if r["record type"] == kind}
        for kind in ("PSG", "Hypnogram")
    }
    return [(by_type["PSG"][key], by_type["Hypnogram"][key]) for key in by_type["PSG"]]


def test_all_of_the_cassette_nights(tmp_path, table):
    assert len(table) == 153
    samples = write_cassette(tmp_path / "sleep-cassette", table, np.random.default_rng(1))
    assert len(samples["SC4001"]) == 100 * (3000 + 1800 - 600)
    manifest = prepare("sleep-edf", tmp_path, tmp_path / "out")
    splits = check(tmp_path / "out", manifest, samples)
    subject = {item: item[3:5] for item in splits}
    assert [sum(s == split for s in splits.values()) for split in SPLITS] == [122, 15, 16]
    assert [len({subject[i] for i in splits if splits[i] == split}) for split in SPLITS] == [62, 8, 8]
    assert all(len({splits[i] for i in splits if subject[i] == who}) == 1 for who in set(subject.values()))
    ages = {psg["fname"][3:5]: int(psg["age"]) for psg, _ in table}
    by_age = sorted(ages, key=lambda who: (ages[who], who))
    groups = [by_age[78 * g // 8 : 78 * (g + 1) // 8] for g in range(8)]
    for split in ("validation", "test"):
        chosen = {subject[i] for i in splits if splits[i] == split}
        assert all(len(chosen & set(group)) == 1 for group in groups)
    assert (
        sorted(int(subject[i]) for i in splits if splits[i] == "test")[::2]
        == manifest["facts"]["split"]["test_subjects"]
    )
    assert manifest["facts"]["checked_against"] is None and manifest["skipped"] == []


def test_downloads_are_checked_and_bad_nights_skipped(tmp_path, table):
    folder = tmp_path / "sleep-cassette"
    write_cassette(folder, table[1:21], np.random.default_rng(2))
    names = sorted(p.name for p in folder.iterdir())
    psg = [n for n in names if n.endswith("PSG.edf")]

    def bytes_of(n):
        return (folder / n).read_bytes()

    (folder / psg[1]).write_bytes(bytes_of(psg[1])[:-1000])  # cut short
    (folder / psg[2]).write_bytes(bytes_of(psg[2])[:192] + b"EDF+D" + bytes_of(psg[2])[197:])
    (folder / psg[3]).write_bytes(bytes_of(psg[3])[:176] + b"17.00.00" + bytes_of(psg[3])[184:])
    sums = {n: hashlib.sha256(bytes_of(n)).hexdigest() for n in names}
    sums[psg[0]] = "0" * 64
    (tmp_path / "SHA256SUMS.txt").write_text("".join(f"{s} sleep-cassette/{n}\n" for n, s in sums.items()))
    (folder / [n for n in names if n.startswith(psg[4][:6]) and "Hypno" in n][0]).unlink()
    manifest = prepare("sleep-edf", folder, tmp_path / "out")
    assert manifest["facts"]["checked_against"] == "SHA256SUMS.txt"
    reasons = {each["name"][:6]: (each["reason"], each["offset"]) for each in manifest["skipped"]}
    assert "download it again" in reasons[psg[0][:6]][0]
    assert "should end at byte" in reasons[psg[1][:6]][0] and reasons[psg[1][:6]][1] == len(bytes_of(psg[1]))
    assert "gaps" in reasons[psg[2][:6]][0] and reasons[psg[2][:6]][1] == 192
    assert "begins at" in reasons[psg[3][:6]][0]
    assert "Hypnogram.edf" in reasons[psg[4][:6]][0]
    assert len(reasons) == 5 and sum(len(manifest["splits"][s]["items"]) for s in SPLITS) == 15


def test_inspect_and_audit(tmp_path, table):
    write_cassette(tmp_path / "in", table[1:9], np.random.default_rng(3))
    prepare("sleep-edf", tmp_path / "in", tmp_path / "out")
    shown = subprocess.run(
        [DAROPE, "data", "inspect", tmp_path / "out"], capture_output=True, text=True, check=True
    ).stdout
    assert len([line for line in shown.splitlines() if any(0x2800 < ord(c) < 0x2900 for c in line)]) == 16
    done = subprocess.run(
        [DAROPE, "data", "audit", tmp_path / "out", "--json"], capture_output=True, text=True, check=True
    )
    audit = json.loads(done.stdout)
    assert (
        audit["damaged"] == []
        and audit["splits"]["test"]["runs_in_train"] == 0
        and audit["splits"]["train"]["repeats"] == 0
    )
