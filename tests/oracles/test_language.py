"""Language evaluations against a decoder in float64, and prompts against the rules of their making."""

import json
import math
import pathlib
import re
import shutil
import subprocess

import audit
import numpy as np
import pytest
import torch
from folder_schema import validate_folder
from made_up_text import NOUNS, prepare_set, prose
from programs import DAROPE, ROOT
from reference_decoder import Reference, shuffled
from safetensors.numpy import load_file
from tiktoken_oracle import original

LENGTH, POSITIONS, BOOKS = 256, 1024, 5


def darope(*words, code=0, cwd=None):
    done = subprocess.run([DAROPE, *map(str, words)], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == code, (done.returncode, done.stderr)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A comparison of two tiny models, and books they never saw."""
    folder = tmp_path_factory.mktemp("language")
    prepare_set(folder, train=60, valid=20, test=20)
    books = [prose(300, f"book{i}") for i in range(BOOKS)]
    books.insert(1, "A book that is too short. It is left out.")
    (folder / "books.jsonl").write_text("\n".join(json.dumps({"text": each}) for each in books))
    darope(
        "compare", ROOT / "configs/quick/lm.yaml", f"data.root_dir={folder / 'set'}",
        f"data.seq_len={LENGTH}", "steps=30",
        "data.test_examples=8", "data.batch_size=4", "model.dim=32", "model.n_layers=3", "model.n_heads=2",
        "model.hidden_multiple=8", "threads=1", "device=cpu", "--encodings", "rope,darope", "--out", "mine",
        cwd=folder,
    )  # fmt: skip
    return folder


def run_of(place, encoding):
    return place / "mine" / "runs" / f"set-{encoding}-s0"


def scores(shown, name=None):
    """{(metric, axis): {x: {example: line}}} of the files an evaluation named."""
    files = [pathlib.Path(path) for path in re.findall(r"each example's scores: (\S+)", shown)]
    (file,) = [path for path in files if name is None or name in path.parent.name]
    found = {}
    for line in map(json.loads, file.read_text().splitlines()):
        found.setdefault((line["metric"], line["axis"]), {}).setdefault(line["x"], {})[line["example"]] = line
    return found


def values(found, metric, axis, x):
    by_example = found[metric, axis][x]
    assert sorted(by_example) == list(range(len(by_example)))
    return np.array([by_example[i]["value"] for i in range(len(by_example))])


def books_of(place):
    encoding = original("cl100k", place / "own.tiktoken")
    begin = len(encoding._mergeable_ranks)
    texts = [json.loads(line)["text"] for line in (place / "books.jsonl").read_text().splitlines()]
    ids = [[begin, *encoding.encode_ordinary(text), begin + 1] for text in texts]
    return torch.tensor([each[: POSITIONS + 1] for each in ids if len(each) > POSITIONS])


@pytest.mark.parametrize("name", ["rope", "darope", "yarn:factor=4"])
def test_loss_by_position(place, name):
    run = run_of(place, name if name != "yarn:factor=4" else "rope")
    other = ["--encoding", name] if name.startswith("yarn") else []
    shown = darope("eval", run, "--positions", POSITIONS, "--documents", place / "books.jsonl", *other)
    found, books = scores(shown), books_of(place)
    assert len(books) == BOOKS
    logits = Reference(run, name)(books[:, :-1])[0]
    nll = torch.nn.functional.cross_entropy(logits.flatten(0, 1), books[:, 1:].flatten(), reduction="none")
    nll = nll.view(BOOKS, POSITIONS).numpy()
    close = {"rtol": 0, "atol": 2e-5}  # float32 through three layers, of losses near 6
    for start, x in {LENGTH // 2: 0.5, LENGTH: 1, 2 * LENGTH: 2}.items():
        expected = nll[:, start : 2 * start]
        np.testing.assert_allclose(values(found, "nll", "band", x), expected.mean(1), **close)
        assert found["nll", "band"][x][0]["tokens"] == start
        assert [line["cluster"] for line in found["nll", "band"][x].values()] == list(range(BOOKS))
        quoted = np.exp(nll.mean(0))[start : 2 * start].mean()
        assert values(found, "perplexity", "band", x)[0] == pytest.approx(quoted, rel=2e-5)
    assert set(found["nll", "band"]) == {0.5, 1, 2}
    assert sorted(found["nll", "position"]) == list(range(0, POSITIONS, 8))
    for at in range(0, POSITIONS, 8):
        np.testing.assert_allclose(values(found, "nll", "position", at), nll[:, at : at + 8].mean(1), **close)
    smooth = np.convolve(np.exp(nll.mean(0)), np.ones(128) / 128, "valid")
    for at in range(0, POSITIONS - 127, 64):
        assert values(found, "perplexity", "position", at + 64)[0] == pytest.approx(smooth[at], rel=2e-5)


@pytest.fixture(scope="module")
def retrieval(place):
    """What `--retrieval` says of each model; prompts are made once."""
    words = ["--retrieval", "--documents", place / "books.jsonl"]
    first = darope("eval", run_of(place, "darope"), *words)
    file = place / "mine" / "runs" / f"prompts-books-{LENGTH}.safetensors"
    made = file.stat().st_mtime_ns
    second = darope("eval", run_of(place, "rope"), *words)
    assert file.stat().st_mtime_ns == made
    assert "left out: digression of 256 tokens" in first and "left out" not in second
    return {"darope": first, "rope": second, "file": file, "prompts": load_file(file)}


def test_what_retrieval_keeps_is_as_the_schema_says(place, retrieval):
    folder = run_of(place, "darope")
    assert "run.json" in validate_folder(folder)
    told = [json.loads(file.read_text())["evaluation"] for file in folder.glob("evals/*/*/run.json")]
    assert {"digression", "recall", "shuffle"} <= set(told)


def text_of(encoding, ids):
    return b"".join(encoding.decode_single_token_bytes(int(i)) for i in ids).decode()


def test_prompts_of_digression(place, retrieval):
    encoding = original("cl100k", place / "own.tiktoken")
    begin = len(encoding._mergeable_ranks)
    sentence = [json.loads(line)["text"] for line in (place / "books.jsonl").read_text().splitlines()]
    known = {
        tuple(encoding.encode_ordinary(" " + each)) for each in re.split(r"(?<=[.!?]) ", " ".join(sentence))
    }
    distances = sorted(
        int(name.split(".")[1])
        for name in retrieval["prompts"]
        if name.startswith("digression.") and name.endswith("tokens")
    )
    assert distances == [64, 128]
    for distance in distances:
        tokens, candidates, places = (
            retrieval["prompts"][f"digression.{distance}.{part}"]
            for part in ("tokens", "candidates", "places")
        )
        assert tokens.shape == (800, LENGTH) and candidates.shape == places.shape == (800, 2)
        lengths = []
        for row, values_, at in zip(tokens, candidates, places):
            assert row[0] == begin and (row[1:] < begin).all()
            text = text_of(encoding, row[1:])
            binding = r"(\w+?)(\d{3}) report: codeword = (\w+)\.\n"
            parts = re.fullmatch(rf"(.*)\n{binding}(.*)\n{binding}Summary of (\w+): codeword =", text, re.S)
            assert parts, text
            _, name, digits, right, filler, other, others_digits, decoy, asked = parts.groups()
            assert asked == name + digits and right != decoy and {right, decoy} <= set(NOUNS)
            assert [encoding.decode([v]) for v in values_] == [f" {right}", f" {decoy}"]
            assert [row[p] for p in at] == list(values_) and at[0] < at[1]
            first, second = (set(encoding.encode_ordinary(n)) for n in (name + digits, other + others_digits))
            assert not first & second
            assert not set(re.findall("[a-z]+", filler.lower())) & {*NOUNS, "codeword", "report", "summary"}
            structure = encoding.encode_ordinary(f"\n{other}{others_digits} report: codeword =")
            front = len(encoding.encode_ordinary(".\n"))
            lengths.append(int(at[1] - at[0]) - 1 - front - len(structure))
            cut = row[at[0] + 1 + front : at[0] + 1 + front + lengths[-1]]
            assert text_of(encoding, cut) == filler
        assert min(lengths) >= round(0.85 * distance) and max(lengths) <= round(1.15 * distance)
        assert np.mean(lengths) == pytest.approx(distance, abs=0.3 * distance / math.sqrt(12 * 800) * 4 + 0.5)
        assert len({tuple(row) for row in tokens}) == 800
    assert any(tuple(row[i : i + len(s)]) == s for row in tokens[:100] for s in known for i in range(64, 120))


def test_prompts_of_recall(place, retrieval):
    encoding = original("cl100k", place / "own.tiktoken")
    for bindings in (8, 16, 32):
        tokens, candidates, places = (
            retrieval["prompts"][f"recall.{bindings}.{part}"] for part in ("tokens", "candidates", "places")
        )
        assert tokens.shape == (800, LENGTH) and candidates.shape == places.shape == (800, bindings)
        ranks_of_asked = []
        for row, values_, at in zip(tokens, candidates, places):
            lines = text_of(encoding, row[1:]).split("\n")[-bindings - 1 :]
            pairs = [re.fullmatch(r"([A-Z]\w+\d{3}): (\w+)", line).groups() for line in lines[:-1]]
            by_key = dict(pairs)
            assert len(by_key) == len(set(by_key.values())) == bindings and set(by_key.values()) <= set(NOUNS)
            right = by_key[lines[-1].removesuffix(":")]
            assert encoding.decode([values_[0]]) == f" {right}"
            assert {encoding.decode([v]) for v in values_} == {f" {v}" for v in by_key.values()}
            assert [row[p] for p in at] == list(values_)
            ranks_of_asked.append([value for _, value in pairs].index(right))
        counts = np.bincount(ranks_of_asked, minlength=bindings)
        assert abs(counts - 800 / bindings).max() < 5 * math.sqrt(800 / bindings)


@pytest.mark.parametrize("name", ["rope", "darope"])
@pytest.mark.parametrize(
    "probe, axis, hardest", [("digression", "distance", 128), ("recall", "bindings", 32)]
)
def test_answers_lens_and_attention(place, retrieval, name, probe, axis, hardest):
    found = scores(retrieval[name], probe)
    tokens, candidates, places = (
        torch.from_numpy(retrieval["prompts"][f"{probe}.{hardest}.{part}"]).long()
        for part in ("tokens", "candidates", "places")
    )
    some = 40
    model = Reference(run_of(place, name))
    logits, blocks, shares = model(tokens[:some])
    mine = logits[:, -1].gather(1, candidates[:some])
    margin = mine[:, 0] - mine[:, 1:].mean(1)
    np.testing.assert_allclose(values(found, "margin", axis, hardest)[:some], margin, atol=5e-5)
    clear = (mine[:, 0] - mine[:, 1:].amax(1)).abs() > 1e-4
    right = (mine[:, 0] > mine[:, 1:].amax(1)).double()
    np.testing.assert_array_equal(values(found, "right", axis, hardest)[:some][clear], right[clear])
    likeliest = logits[:, -1].argmax(1) == candidates[:some, 0]
    np.testing.assert_array_equal(values(found, "likeliest", axis, hardest)[:some], likeliest.double())
    assert len(found["right", axis][hardest]) == 800 and len(found["lens", "layer"][0]) == 200
    for layer in range(model.layers):
        lens = model.read(blocks[layer][:, -1]).gather(1, candidates[:some])
        expected = lens[:, 0] - lens[:, 1:].mean(1)
        np.testing.assert_allclose(values(found, "lens", "layer", layer)[:some], expected, atol=5e-5)
        share = shares[layer].mean(1).gather(1, places[:some])
        ratio = ((share[:, 0] + 1e-12) / (share[:, 1:].mean(1) + 1e-12)).log()
        np.testing.assert_allclose(values(found, "attention", "layer", layer)[:some], ratio, atol=1e-4)


@pytest.mark.parametrize(
    "probe, axis, hardest", [("digression", "distance", 128), ("recall", "bindings", 32)]
)
def test_shuffled_coordinates(place, retrieval, probe, axis, hardest):
    found = scores(retrieval["darope"], "shuffle")
    tokens = torch.from_numpy(retrieval["prompts"][f"{probe}.{hardest}.tokens"]).long()[:6]
    candidates = torch.from_numpy(retrieval["prompts"][f"{probe}.{hardest}.candidates"]).long()[:6]

    def anew(layer, c):
        orders = [shuffled(LENGTH, 1, f"shuffle/{layer}", i) for i in range(len(c))]
        return torch.stack([each[order] for each, order in zip(c, orders)])

    def margin(model):
        logits = model(tokens)[0][:, -1].gather(1, candidates)
        return logits[:, 0] - logits[:, 1:].mean(1)

    run = run_of(place, "darope")
    drop = (margin(Reference(run)) - margin(Reference(run, coordinates=anew))).numpy()
    assert abs(drop).min() > 1e-6
    np.testing.assert_allclose(values(found, "drop", axis, hardest)[:6], drop, atol=1e-4)
    all_drops = values(found, "drop", axis, hardest)
    assert len(all_drops) == 200
    np.testing.assert_array_equal(values(found, "own_better", axis, hardest), (all_drops > 0).astype(float))


def test_clear_refusals(place, retrieval):
    rope = run_of(place, "rope")
    books = ["--documents", place / "books.jsonl"]
    assert "at least the training length, 256" in darope("eval", rope, "--positions", 16, *books, code=2)
    assert "of the 6 documents of books" in darope("eval", rope, "--positions", 100_000, *books, code=2)
    refused = darope("eval", rope, "--retrieval", *books, "--only", "shuffle", code=2)
    assert "shuffle needs coordinates that the model learns: this run has none" in refused
    darope("data", "prepare", "text", *sorted(place.glob("wiki-*")), "--out", place / "bytes")
    refused = darope("eval", rope, "--positions", 300, "--documents", place / "bytes", code=2)
    assert "prepared with bytes" in refused
    few = place / "few.txt"
    few.write_text("One short sentence is all that there is. ")
    assert "whole sentences" in darope(
        "eval", rope, "--retrieval", "--documents", few, "--prompts", place / "no.safetensors", code=2
    )
    kept = place / "kept.safetensors"
    shutil.copy(retrieval["file"], kept)
    shutil.copy(str(retrieval["file"]) + ".sha256", str(kept) + ".sha256")
    kept.write_bytes(kept.read_bytes()[:-1] + b"\1")
    assert "another sha256" in darope("eval", rope, "--retrieval", *books, "--prompts", kept, code=3)


def test_slow_attention_is_named_and_asked_for(place):
    small = ["model.dim=16", "model.n_layers=1", "model.n_heads=2", "steps=1", "threads=1", "device=cpu"]
    config = ROOT / "configs/quick/lm.yaml"
    darope(
        "compare",
        config,
        f"data.root_dir={place / 'set'}",
        "data.test_examples=8",
        *small,
        "--encodings",
        "cope",
        "--out",
        "slow",
        cwd=place,
    )
    words = ["eval", "slow/runs/set-cope-s0", "--positions", 4096, "--documents", "books.jsonl"]
    assert "layer 0 has no fast attention: cope" in darope(*words, code=2, cwd=place)
    refused = darope(
        "compare",
        config,
        f"data.root_dir={place / 'set'}",
        "data.seq_len=2560",
        *small,
        "--encodings",
        "cope",
        "--out",
        "long",
        code=2,
        cwd=place,
    )
    assert "has no fast attention" in refused


def test_reports_and_bundles_take_evaluations_along(place, retrieval):
    page = place / "mine" / "report.html"
    darope("report", "mine", "--bundle", "packed.tar.zst", cwd=place)
    text = page.read_text()
    for name in (f"positions to {POSITIONS}", "digression", "recall", "shuffle"):
        assert f"<h3>books: {name}</h3>" in text
    assert "training length, 256" in text and "yarn:factor=4" in text
    darope("report", "packed.tar.zst", "--out", "again", cwd=place)
    again = (place / "again" / "report.html").read_text()
    assert text[text.index("<section id='evaluations'>") :].split("</section>")[0] in again


def test_evaluations_are_judged_and_exported_as_datasets_are(place, retrieval):
    darope("report", "mine", "--bundle", "judged.tar.zst", cwd=place)
    audited = audit.Audit([place / "judged.tar.zst"]).run()
    assert audited.disagreements == [] and audited.compared > 60
    (recall,) = [each for each in audited.results["evaluations"] if each["name"] == "books: recall"]
    (grid,) = recall["lengths"]
    by_place = {p["x"]: p["cells"] for b in recall["beside"] if b["metric"] == "right" for p in b["places"]}
    assert (recall["axis"], grid["x"], sorted(by_place)) == ("difficulties", 3, [8, 16, 32])
    assert grid["best_constant"] == pytest.approx((1 / 8 + 1 / 16 + 1 / 32) / 3)
    asked = [(i, cell) for i, cell in enumerate(grid["cells"]) if cell["seeds"]]  # not rope under YaRN
    assert [cell["encoding"] for _, cell in asked] == ["rope", "darope"]
    for i, cell in asked:
        assert cell["mean"] == pytest.approx(np.mean([by_place[x][i]["mean"] for x in by_place]))
    (pair,) = grid["pairs"]
    assert {pair["first"], pair["second"]} == {"rope", "darope"} and pair["about"] == "models"

    darope("report", "judged.tar.zst", "--out", "alone", "--csv", "all.csv", "--tables", "tables",
           "--figures", "figures", cwd=place)  # fmt: skip
    for exported in ("all.csv", "tables/scores.csv"):
        assert "books: recall," in (place / exported).read_text()
    assert len(list((place / "figures").glob("books__recall*.svg"))) == 1


def test_models_that_read_other_documents_are_not_compared(place, retrieval):
    shutil.copytree(place / "mine", place / "other")
    (place / "elsewhere").mkdir()
    books = "\n".join(json.dumps({"text": prose(300, f"other{i}")}) for i in range(BOOKS))
    (place / "elsewhere" / "books.jsonl").write_text(books)
    run = place / "other" / "runs" / "set-rope-s0"
    darope("eval", run, "--positions", POSITIONS, "--documents", place / "elsewhere" / "books.jsonl")
    assert "data order differ" in darope("report", place / "other", code=2)


@pytest.mark.parametrize("name", ["darope", "rope"])
def test_the_microscope_shows_what_the_model_does(place, name):
    run, text = run_of(place, name), place / "page.txt"
    text.write_text(prose(8, "page"))
    darope("inspect", run, "--text", text, "--tokens", 100, "--out", place / "page.html")
    page = (place / "page.html").read_text()
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    data = json.loads(re.search(r"id='data'>(.*?)</script>", page, re.S)[1])
    encoding = original("cl100k", place / "own.tiktoken")
    ids = [len(encoding._mergeable_ranks), *encoding.encode_ordinary(text.read_text())][:100]
    assert data["tokens"] == ["", *(encoding.decode([i]) for i in ids[1:])]
    seen = []
    model = Reference(run, coordinates=lambda layer, c: seen.append(c) or c)
    for last in (99, 40):
        shares = model(torch.tensor([ids[: last + 1]]))[2]
        for layer in range(model.layers):
            for head in range(model.heads):
                keys, mine = data["attended"][layer][head][last], data["shares"][layer][head][last]
                np.testing.assert_allclose(mine, shares[layer][0, head].topk(8).values, atol=1e-3)
                np.testing.assert_allclose(shares[layer][0, head][keys], mine, atol=1e-3)
    if name == "rope":
        assert data["coordinates"][0][0] == list(range(100)) and "no coordinate" in data["note"]
        return
    for layer in range(model.layers):
        np.testing.assert_allclose(data["coordinates"][layer], seen[layer][0].T, atol=0.06)
    alpha = [model.w[f"model.layers.{i}.self_attn.darope.alpha"].tolist() for i in range(model.layers)]
    np.testing.assert_allclose(data["alpha"], alpha, atol=1e-3)


def test_generated_text_begins_as_documents_do(place):
    """Greedy, far beyond the training length, against the reference's own choices."""
    run, prompt = run_of(place, "darope"), "The "
    said = darope("generate", run, "--prompt", prompt, "--tokens", 300, "--temperature", 0)
    encoding = original("cl100k", place / "own.tiktoken")
    begin = len(encoding._mergeable_ranks)
    ids, model = [begin, *encoding.encode_ordinary(prompt)], Reference(run)
    for _ in range(12):
        ids.append(int(model(torch.tensor([ids]))[0][0, -1].argmax()))
        if ids[-1] == begin + 1:
            break
    expected = b"".join(encoding.decode_single_token_bytes(i) for i in ids if i < begin).decode(
        errors="replace"
    )
    assert said.startswith(expected)
