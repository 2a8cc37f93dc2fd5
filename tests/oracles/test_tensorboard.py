"""Our event files in stock TensorBoard."""

import math

import pytest
from programs import probe
from tensorboard.backend.event_processing import event_accumulator, event_file_loader
from tensorboard.plugins.hparams import metadata, plugin_data_pb2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "tb"
    probe("format_probe", "events", path)
    return path


@pytest.fixture(scope="module")
def run(folder):
    accumulator = event_accumulator.EventAccumulator(str(folder), purge_orphaned_data=True)
    accumulator.Reload()
    return accumulator


def test_every_record_is_whole(folder):
    files = sorted(folder.glob("events.out.tfevents.*"))
    counts = [sum(1 for _ in event_file_loader.EventFileLoader(str(file)).Load()) for file in files]
    assert counts == [1 + 1 + 6, 1 + 1 + 3 + 1]
    first = next(iter(event_file_loader.EventFileLoader(str(files[0])).Load()))
    assert first.file_version == "brain.Event:2"


def test_a_resumed_run_drops_the_orphaned_points(run):
    loss = [(event.step, event.value) for event in run.Scalars("loss/out")]
    assert loss == [(0, 10), (1, 9), (2, 8), (3, 7), (4, 104), (5, 105), (6, 106)]
    rates = [event.value for event in run.Scalars("optim/lr")]
    assert rates[:4] == [0.5] * 4 and all(map(math.isnan, rates[4:]))


def test_hparams(run):
    contents = run.summary_metadata
    start = metadata.parse_session_start_info_plugin_data(
        contents["_hparams_/session_start_info"].plugin_data.content
    )
    assert {
        key: (value.string_value or value.number_value or value.bool_value)
        for key, value in start.hparams.items()
    } == {"model.encoding": "darope", "optim.lr": 0.003, "compile": True}
    assert start.group_name == "darope" and start.start_time_secs > 1.6e9
    end = metadata.parse_session_end_info_plugin_data(
        contents["_hparams_/session_end_info"].plugin_data.content
    )
    assert end.status == 1 and end.end_time_secs >= start.start_time_secs
    assert (
        plugin_data_pb2.HParamsPluginData.FromString(
            contents["_hparams_/session_end_info"].plugin_data.content
        ).version
        == 0
    )
