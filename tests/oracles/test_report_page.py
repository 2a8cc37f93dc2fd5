"""The report in headless Chromium: it opens from disk, asks nothing of a network, and its buttons do what
they say.
"""

import base64
import csv
import io
import os
import pathlib
import re
import subprocess
import xml.etree.ElementTree

import pytest
from browser import asked_for, complaints, open_page
from comparison import ACCURACY, DATASETS, LOSSES, write_comparison, write_losses
from programs import BUILD
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

# Where to leave screenshots for a person to look at; nowhere without it.
SHOTS = os.environ.get("DAROPE_SCREENSHOTS")
HOSTILE = [
    ("<script>document.title='broken'</script>", "darope"),
    ("</script><img src=x onerror=\"document.title='broken'\">", "'\"><b id=broken>"),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    out = tmp_path_factory.mktemp("comparison")
    write_comparison(out)
    subprocess.run([BUILD / "report_probe", out], check=True, stdout=subprocess.DEVNULL)
    return out / "report.html"


@pytest.fixture(scope="module")
def losses(tmp_path_factory):
    out = tmp_path_factory.mktemp("losses")
    write_losses(out)
    subprocess.run([BUILD / "report_probe", out], check=True, stdout=subprocess.DEVNULL)
    return out / "report.html"


@pytest.fixture
def page(report):
    driver = open_page(report, 1280)
    yield driver
    driver.quit()


def chart(driver, kind="lengths"):
    """Which series of the first chart of a kind are drawn, by their label."""
    return driver.execute_script(
        "const chart = Chart.getChart(document.querySelector(`canvas[data-chart=${arguments[0]}]`));"
        "return Object.fromEntries("
        "chart.data.datasets.map((set, i) => [set.label, chart.isDatasetVisible(i)]));",
        kind,
    )


def column(driver, table, index):
    return driver.execute_script(
        "return [...arguments[0].tBodies[0].rows].map(row => row.cells[arguments[1]].dataset.v)", table, index
    )


def test_is_quiet_and_asks_nothing_of_a_network(page):
    assert complaints(page) == []
    (asked,) = asked_for(page)
    assert asked.startswith("file:")


def test_runs_no_script_but_its_own(report, tmp_path):
    """Whatever gets past the escaping is not run, be it an element or an attribute."""
    planted = "<script>document.title = 'broken'</script><img src=x onerror=\"document.title = 'broken'\">"
    copy = tmp_path / "report.html"
    copy.write_text(report.read_text().replace("<main>", f"<main>{planted}"))
    driver = open_page(copy, 1280)
    try:
        assert driver.title == "Which positional encoding?" and chart(driver)
        assert (
            len([entry for entry in complaints(driver) if "Content Security Policy" in entry["message"]]) >= 2
        )
    finally:
        driver.quit()


def test_verdict_comes_first_in_plain_words(page):
    assert [h.text for h in page.find_elements(By.TAG_NAME, "h2")][0] == "Verdict"
    answers = page.find_element(By.CSS_SELECTOR, "#verdict .answers").text
    assert "At this size" in answers and "cope" in answers


def test_button_takes_an_encoding_out_of_charts_and_tables(page):
    button = page.find_element(By.CSS_SELECTOR, "[data-toggle='0']")
    name = button.text
    cells = page.find_elements(By.CSS_SELECTOR, "#matrix [data-x='0'] [data-e='0']")
    assert chart(page)[name] and chart(page, "curves")[name] and all(cell.is_displayed() for cell in cells)
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert (
        not chart(page)[name]
        and not chart(page, "curves")[name]
        and not any(cell.is_displayed() for cell in cells)
    )
    assert sum(chart(page, "curves").values()) == len(ACCURACY) - 1
    button.click()
    assert chart(page)[name] and all(cell.is_displayed() for cell in cells)


def test_heading_sorts_its_table_both_ways(page):
    table = page.find_element(By.CSS_SELECTOR, "#matrix [data-x='0'] table")
    heading = table.find_element(By.CSS_SELECTOR, "thead th:nth-child(2)")
    heading.find_element(By.TAG_NAME, "button").click()
    rising = [float(v) for v in column(page, table, 1)]
    assert (
        heading.get_attribute("aria-sort") == "ascending"
        and rising == sorted(rising)
        and len(rising) == len(DATASETS)
    )
    heading.find_element(By.TAG_NAME, "button").click()
    assert [float(v) for v in column(page, table, 1)] == rising[::-1]
    table.find_element(By.CSS_SELECTOR, "thead th button").click()
    assert column(page, table, 0) == sorted(DATASETS)


def test_length_buttons_choose_the_tables(page):
    blocks = {i: page.find_element(By.CSS_SELECTOR, f"#matrix [data-x='{i}']") for i in range(3)}
    assert [block.is_displayed() for block in blocks.values()] == [True, False, False]
    page.find_element(By.CSS_SELECTOR, "[data-length='2']").click()
    assert [block.is_displayed() for block in blocks.values()] == [False, False, True]


def test_hovering_a_chart_shows_values(page):
    canvas = page.find_element(By.CSS_SELECTOR, "canvas[data-chart=lengths]")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    ActionChains(page).move_to_element(canvas).perform()
    lines = page.execute_script(
        "const tip = Chart.getChart(arguments[0]).tooltip;"
        "return tip.opacity ? tip.body.flatMap(part => part.lines) : []",
        canvas,
    )
    assert len(lines) > 0 and "±" in lines[0]


def test_paper_is_light_and_shows_every_length(page):
    page.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    assert all(block.is_displayed() for block in page.find_elements(By.CSS_SELECTOR, "#matrix .block"))
    assert not page.find_element(By.CSS_SELECTOR, ".bar").is_displayed()
    assert (
        page.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    )


def test_pictures_of_losses_have_the_best_first_and_every_run_a_dot(losses):
    driver = open_page(losses, 1280)
    try:
        assert driver.get_log("browser") == []
        figures = driver.find_elements(By.CSS_SELECTOR, "#losses figure")
        assert [figure.find_element(By.TAG_NAME, "figcaption").text for figure in figures] == sorted(LOSSES)
        for figure, (_level, gaps) in zip(figures, (LOSSES[name] for name in sorted(LOSSES))):
            rows = figure.find_elements(By.CSS_SELECTOR, "g[data-e]")
            names = [row.find_element(By.CSS_SELECTOR, ".name").text for row in rows]
            assert names == sorted(names, key=lambda name: gaps[name])
            inside = [row for row in rows if not row.find_elements(By.CSS_SELECTOR, ".far")]
            places = [row.find_elements(By.CSS_SELECTOR, ".marker")[-1].rect["x"] for row in inside]
            assert places == sorted(places)
            assert all(row.find_elements(By.CSS_SELECTOR, ".run") for row in inside)
            assert 2 < len(inside) < len(rows)  # nope is beyond the scale
        driver.find_element(By.CSS_SELECTOR, "[data-toggle='0']").click()
        assert not any(
            row.is_displayed() for row in driver.find_elements(By.CSS_SELECTOR, "#losses g[data-e='0']")
        )
    finally:
        driver.quit()


def encodings(driver):
    return [button.text for button in driver.find_elements(By.CSS_SELECTOR, "[data-toggle]")]


def saved(driver, section, words):
    """The name and the text of what a button of a section's first bar would save."""
    return driver.execute_async_script(
        "const [section, words, done] = arguments;"
        "let name;"
        "URL.createObjectURL = blob => { blob.text().then(text => done([name, text])); return 'data:,'; };"
        "HTMLAnchorElement.prototype.click = function () { name = this.download; };"
        "[...document.querySelectorAll(`#${section} .save button`)]"
        ".find(button => button.textContent === words).click();",
        section,
        words,
    )


def test_tables_are_saved_as_they_are_shown(page):
    name, text = saved(page, "matrix", "CSV")
    rows = list(csv.reader(io.StringIO(text)))
    assert name.endswith(".csv") and rows[0] == ["dataset", *encodings(page)]
    assert len(rows) == 1 + len(DATASETS) and len({len(row) for row in rows}) == 1
    assert any("±" in cell for cell in rows[1])
    page.find_element(By.CSS_SELECTOR, "[data-toggle='0']").click()
    assert len(saved(page, "matrix", "CSV")[1].splitlines()[0].split(",")) == len(ACCURACY)
    name, text = saved(page, "matrix", "Markdown")
    lines = text.splitlines()
    assert name.endswith(".md") and lines[1] == "|" + "---|" * len(ACCURACY)
    name, text = saved(page, "matrix", "LaTeX")
    assert text.startswith("\\begin{tabular}{") and "reverse\\_string" in text and "\u00b1" not in text


@pytest.mark.parametrize(
    "kind, row",
    [
        ("Markdown", r"| \[a_b\](http\://c) \_\`&#60;e&#62;\$\| |"),
        ("LaTeX", r"{[}a\_b](http://c) \_`<e>\$| & "),
        ("Markdown", r"| \\input{x} ^^5c \~\* |"),
        (
            "LaTeX",
            r"\textbackslash{}input\{x\} \textasciicircum{}\textasciicircum{}5c \textasciitilde{}{*} & ",
        ),
    ],
)
def test_names_have_no_meaning_in_saved_tables(page, kind, row):
    name = r"\input{x} ^^5c ~*" if "input" in row else "[a_b](http://c) _`<e>$|"
    cell = "document.querySelector('#matrix table').rows[1].cells[0]"
    before = page.execute_script(f"const cell = {cell}; const kept = cell.innerHTML; "
                                 "cell.textContent = arguments[0]; return kept", name)  # fmt: skip
    text = saved(page, "matrix", kind)[1]
    page.execute_script(f"{cell}.innerHTML = arguments[0]", before)
    assert any(line.startswith(row) for line in text.splitlines()), text


@pytest.mark.parametrize("section", ["verdict", "lengths", "curves"])
def test_pictures_are_saved_as_svg(page, section):
    name, text = saved(page, section, "SVG")
    svg = xml.etree.ElementTree.fromstring(text)
    assert name.endswith(".svg") and svg.tag == "{http://www.w3.org/2000/svg}svg"
    drawn = "".join(svg.itertext())
    assert all(encoding in drawn for encoding in ACCURACY if encoding != "pope")  # which diverged
    assert "var(--" not in text or "--s0:" in text  # colours come with it


def test_another_reference_turns_the_signs(page):
    choice = Select(page.find_element(By.ID, "reference"))
    assert choice.first_selected_option.text == "darope"

    def signs(encoding):
        rows = page.find_elements(By.CSS_SELECTOR, "#matrix [data-x='0'] tbody tr")
        return [row.find_element(By.CSS_SELECTOR, f"td[data-e='{encoding}'] i").text for row in rows]

    nope, darope = encodings(page).index("nope"), encodings(page).index("darope")
    before = signs(nope)
    choice.select_by_visible_text("nope")
    turned = {"▲": "▼", "▼": "▲"}
    assert signs(darope) == [turned.get(sign, sign) for sign in before] and not any(signs(nope))


def test_the_head_tells_what_was_run_and_where_its_numbers_are(page):
    head = page.find_element(By.TAG_NAME, "header").text
    assert "parameters" in head and "darope report" in head and "reverse_string" in head
    links = [link.get_attribute("href") for link in page.find_elements(By.CSS_SELECTOR, "header a")]
    assert links[0].endswith("/results.json")


def test_the_best_constant_answer_stands_beside_the_means(page):
    row = page.find_element(By.XPATH, "//section[@id='ranking']//tr[th='best constant answer']")
    assert re.search(r"\d\.\d", row.text)


def test_no_table_is_cut_on_paper(page):
    pdf = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert pdf.startswith(b"%PDF")
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 794, "height": 1123, "deviceScaleFactor": 1, "mobile": False},  # A4 at 96 dots an inch
    )
    wide = page.execute_script(
        "return [...document.querySelectorAll('table')].filter(t => t.scrollWidth > 794 && t.offsetParent)"
        ".map(t => t.closest('section').id)"
    )
    assert wide == []


@pytest.mark.parametrize("width", [1400, 420, 390])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("which", ["report", "losses"])
def test_fits_the_width(which, width, dark, request):
    driver = open_page(request.getfixturevalue(which), width, dark)
    try:
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        if SHOTS:
            height = driver.execute_script("return document.documentElement.scrollHeight")
            clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
            image = driver.execute_cdp_cmd(
                "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
            )["data"]
            (pathlib.Path(SHOTS) / f"{which}_{width}{'_dark' if dark else ''}.png").write_bytes(
                base64.b64decode(image)
            )
    finally:
        driver.quit()


def test_hostile_names_stay_text(tmp_path):
    write_comparison(tmp_path, HOSTILE)
    subprocess.run([BUILD / "report_probe", tmp_path], check=True, stdout=subprocess.DEVNULL)
    driver = open_page(tmp_path / "report.html", 1280)
    try:
        assert driver.title == "Which positional encoding?" and driver.get_log("browser") == []
        assert not driver.find_elements(By.CSS_SELECTOR, "#broken, img")
        assert HOSTILE[1][1] in [b.text for b in driver.find_elements(By.CSS_SELECTOR, "[data-toggle]")]
    finally:
        driver.quit()
