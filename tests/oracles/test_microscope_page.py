"""The microscope in headless Chromium, on text, music and a task."""

import json
import random

import pytest
from browser import asked_for, complaints, open_page
from made_up_text import prose
from programs import ROOT
from selenium.webdriver.common.by import By
from trainings import darope

CONFIG = ROOT / "configs/quick/train.yaml"
SMALL = [
    "steps=4", "threads=1", "device=cpu", "model.dim=32", "model.n_layers=2", "model.n_heads=2",
    "model.hidden_multiple=8", "data.batch_size=2", "model.encoding=darope",
]  # fmt: skip


def text(folder):
    (folder / "own.txt").write_text(prose(200, "microscope"))
    (folder / "page.txt").write_text(prose(3, "page"))
    return ["data.task=", "data.path=own.txt", "data.seq_len=64"], ["--text", "page.txt", "--tokens", "37"]


def music(folder):
    rng = random.Random(1)
    pieces = [[[rng.randrange(40, 80) for _ in range(4)] for _ in range(40)] for _ in range(9)]
    chorales = {"train": pieces, "valid": pieces[:3], "test": pieces[3:6]}
    (folder / "a.json").write_text(json.dumps(chorales))
    done = darope("data", "prepare", "jsb", "a.json", "--out", "set", cwd=folder)
    assert done.returncode == 0, done.stderr
    return ["data.task=", "data.root_dir=set", "data.seq_len=64"], ["--example", "1", "--tokens", "10"]


def task(folder):
    return ["data.task=reverse_string", "data.seq_len=64"], ["--example", "2"]


@pytest.fixture(scope="module", params=[text, music, task], ids=lambda make: make.__name__)
def page(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param.__name__)
    settings, words = request.param(folder)
    for command in (["train", CONFIG, "dump_dir=run", *SMALL, *settings], ["inspect", "run", *words]):
        done = darope(*command, cwd=folder)
        assert done.returncode == 0, done.stderr
    driver = open_page(folder / "microscope.html", 1280)
    yield driver
    driver.quit()


def data(page):
    return json.loads(page.find_element(By.ID, "data").get_attribute("textContent"))


def all_of(page, selector):
    return page.find_elements(By.CSS_SELECTOR, selector)


def test_is_quiet_and_asks_nothing_of_a_network(page):
    assert complaints(page) == []
    (asked,) = asked_for(page)
    assert asked.startswith("file:")


def test_every_token_has_a_place_in_the_plot_and_in_the_text(page):
    tokens = data(page)["tokens"]
    assert len(all_of(page, "#plot .dot")) == len(all_of(page, "#text span")) == len(tokens) > 5
    assert len(all_of(page, "#heads button")) == 4


def test_a_number_at_the_axis_stands_at_the_token_of_that_index(page):
    dots = [float(dot.get_attribute("cx")) for dot in all_of(page, "#plot .dot")]
    told = {int(tick.text): float(tick.get_attribute("x")) for tick in all_of(page, "#plot .across")}
    assert len(told) >= 3 and min(told) == 0 and 2 * max(told) > len(dots)
    for index, x in told.items():
        assert x == pytest.approx(dots[index], abs=1e-6)
    up = {int(tick.text): float(tick.get_attribute("y")) for tick in all_of(page, "#plot .up")}
    (zero, *_), steps = sorted(up), [up[a] - up[b] for a, b in zip(sorted(up), sorted(up)[1:])]
    assert zero == 0 and max(steps) - min(steps) < 1e-6 and len(up) >= 3


def test_the_dashed_line_ends_at_the_last_index_it_can_reach(page):
    line = page.find_element(By.CSS_SELECTOR, "#plot .same")
    told = data(page)
    up = {int(tick.text): float(tick.get_attribute("y")) - 4 for tick in all_of(page, "#plot .up")}
    zero, top = up[0], max(up)
    most = told["length"] if told["learned"] else max(told["length"], len(told["tokens"]))
    last = min(len(told["tokens"]), most) - 1
    wanted = zero + (up[top] - zero) * last / top
    assert float(line.get_attribute("y2")) == pytest.approx(wanted, abs=0.01)


def test_nothing_is_cut_or_covered(page):
    """The chosen head's frame has room, no name in the plot lies on another, and a phone is wide enough."""
    for width in (1280, 420):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        page.execute_script("window.dispatchEvent(new Event('resize'))")
        boxes = page.execute_script(
            "return [...document.querySelectorAll('#plot .name')].map(each => {"
            " const r = each.getBoundingClientRect(); return [r.left, r.right, r.top, r.bottom]; })"
        )
        assert boxes
        for i, a in enumerate(boxes):
            for b in boxes[:i]:
                # A pixel of each is the room above and below its letters.
                assert a[0] >= b[1] or b[0] >= a[1] or a[2] >= b[3] - 3 or b[2] >= a[3] - 3, (width, a, b)
        chosen, area = page.execute_script(
            "const button = document.querySelector('#heads [aria-pressed=true]').getBoundingClientRect();"
            "const heads = document.getElementById('heads').getBoundingClientRect();"
            "return [[button.left, button.top, button.bottom], [heads.left, heads.top, heads.bottom]]"
        )
        assert chosen[1] - area[1] >= 3 and area[2] - chosen[2] >= 3
        wide = page.execute_script("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0


def test_a_token_and_a_head_can_be_picked(page):
    all_of(page, "#text span")[3].click()
    assert " at 3, coordinate " in page.find_element(By.ID, "picked").text
    assert "here" in all_of(page, "#text span")[3].get_attribute("class").split()
    seen = all_of(page, "#attended tr")[1:]
    assert seen and all(" behind" not in row.text for row in seen)
    before = page.find_element(By.ID, "finding").text
    other = next(b for b in all_of(page, "#heads button") if b.get_attribute("aria-pressed") == "false")
    title = other.get_attribute("title")
    other.click()
    now = page.find_element(By.ID, "finding").text
    assert now != before and now.lower().startswith(title.split(":")[0])
