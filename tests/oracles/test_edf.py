"""The EDF reader against pyedflib, on real recordings: EEGMMIDB runs and Sleep-EDF hypnograms."""

import hashlib
import json

import numpy as np
import pyedflib
import pytest
from programs import probe
from shared_data import shared, unpack


def ours(path):
    return json.loads(probe("signal_probe", "edf", path))


def theirs(path):
    with pyedflib.EdfReader(str(path)) as file:
        signals = [
            {
                "label": label,
                "rate": file.getSampleFrequency(i),
                "samples": int(file.getNSamples()[i]),
                "physical_min": file.getPhysicalMinimum(i),
                "physical_max": file.getPhysicalMaximum(i),
                "digital_min": file.getDigitalMinimum(i),
                "digital_max": file.getDigitalMaximum(i),
                "sha256": hashlib.sha256(
                    file.readSignal(i, digital=True).astype("<i2").tobytes()
                ).hexdigest(),
            }
            for i, label in enumerate(file.getSignalLabels())
        ]
        start = file.getStartdatetime().strftime("%d.%m.%y %H.%M.%S")
        onsets, durations, texts = file.readAnnotations()
        return (
            signals,
            start,
            [[o, max(d, 0.0), t] for o, d, t in zip(onsets.tolist(), durations.tolist(), texts.tolist())],
        )


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    return sorted(
        unpack(
            shared("data", "eeg", "eegmmidb-S001-R03-R06.tar.xz"), tmp_path_factory.mktemp("eegmmidb")
        ).rglob("*.edf")
    )


@pytest.fixture(scope="module")
def hypnograms(tmp_path_factory):
    archive = shared("data", "eeg", "sleep-edf-meta.tar.xz")
    folder = unpack(archive, tmp_path_factory.mktemp("sleep"), lambda name: name.endswith("Hypnogram.edf"))
    return sorted(folder.rglob("*.edf"))


def compare(path):
    mine = ours(path)
    signals, start, annotations = theirs(path)
    assert mine["signals"] == signals
    assert mine["start"] == start
    assert mine["annotations"] == annotations
    return mine


def test_recordings(recordings):
    assert len(recordings) == 4
    for path in recordings:
        mine = compare(path)
        assert len(mine["signals"]) == 64 and len(mine["annotations"]) > 25


def test_hypnograms(hypnograms):
    assert len(hypnograms) == 54
    for path in hypnograms:
        mine = compare(path)
        assert mine["signals"] == [] and mine["annotations"]


def test_a_file_of_pyedflibs_own(tmp_path):
    """An inverted channel, fractions of a second, several rates: what the recordings at hand do not have."""
    path = tmp_path / "own.edf"
    random = np.random.default_rng(1)
    rates, limits = [100, 250, 1], [(-200.0, 200.0), (500.0, -500.0), (34.0, 40.0)]
    with pyedflib.EdfWriter(str(path), 3, file_type=pyedflib.FILETYPE_EDFPLUS) as file:
        for i, (rate, (low, high)) in enumerate(zip(rates, limits)):
            file.setSignalHeader(
                i,
                {
                    "label": f"EEG {i}",
                    "dimension": "uV",
                    "sample_frequency": rate,
                    "physical_min": low,
                    "physical_max": high,
                    "digital_min": -2048,
                    "digital_max": 2047,
                    "transducer": "",
                    "prefilter": "",
                },
            )
        file.writeSamples(
            [random.integers(-2048, 2048, rate * 20, dtype=np.int32) for rate in rates], digital=True
        )
        file.writeAnnotation(0.25, 1.5, "half past")
        file.writeAnnotation(7, -1, "é")
    assert len(compare(path)["annotations"]) == 2
