"""`darope bench` end to end on models of nothing, and its opponents against our decoder: what is compared
computes the same."""

import csv
import json
import subprocess
import sys

import pytest
import torch
from commands import done, on_a_terminal, refused, run
from programs import BUILD, ROOT
from safetensors.torch import load_file

OPPONENTS = ROOT / "bench" / "opponents"
sys.path.insert(0, str(OPPONENTS))

import decoder  # noqa: E402

TINY = ["--size=quick", "--rounds=2", "--steps=2", "device=cpu", "threads=1", "data.batch_size=2"]
TABLE_1 = ["nope", "rope", "hope", "yarn", "pope", "cope", "darope"]  # of the paper
HEADS, LAYERS = 3, 2  # of the probe


def loaded(folder, encoding, spec, style):
    """The probe's model in PyTorch, its loss and tokens."""
    got = subprocess.run([BUILD / "gradient_probe", style, spec, folder], capture_output=True, text=True)
    assert got.returncode == 0, got.stderr
    w = {name: x.float() for name, x in load_file(folder / "model.safetensors").items()}
    hidden = w["model.layers.0.mlp.up_proj.weight"].shape[0]
    shape = {"layers": LAYERS, "width": 24, "heads": HEADS, "hidden": hidden, "vocabulary": 13, "length": 16}
    model = decoder.Decoder(shape | {"style": style, "tied": style == "nanogpt"}, encoding)
    own = {"embedding.weight": w["model.embed_tokens.weight"], "norm.weight": w["model.norm.weight"]}
    own["head.weight"] = w.get("lm_head.weight", w["model.embed_tokens.weight"])
    for i in range(LAYERS):
        at, to = f"model.layers.{i}.", f"blocks.{i}."
        own[to + "norm1.weight"] = w[at + "input_layernorm.weight"]
        own[to + "norm2.weight"] = w[at + "post_attention_layernorm.weight"]
        own[to + "qkv.weight"] = torch.cat([w[f"{at}self_attn.{c}_proj.weight"] for c in "qkv"])
        own[to + "out.weight"] = w[at + "self_attn.o_proj.weight"]
        up = ["gate", "up"] if style == "lingua" else ["up"]
        own[to + "up.weight"] = torch.cat([w[f"{at}mlp.{c}_proj.weight"] for c in up])
        own[to + "down.weight"] = w[at + "mlp.down_proj.weight"]
        for name, x in w.items():
            if name.startswith(f"{at}self_attn.{encoding}."):
                own[f"{to}learned.{name.rsplit('.', 1)[1]}"] = x
    tables = {name: x for name, x in model.state_dict().items() if name not in own and "." not in name}
    model.load_state_dict(own | tables)  # every other name has to be there
    i = torch.arange(26)
    ids = ((5 * i + i * i) % 13).view(2, 13)
    return model, float(got.stdout), ids


@pytest.mark.parametrize("style", ["lingua", "nanogpt"])
@pytest.mark.parametrize("encoding", TABLE_1)
def test_an_opponent_computes_what_ours_does(tmp_path, encoding, style):
    """Sums of 24 numbers in float32 beside float64."""
    spec = {"pope": "pope:delta_init=uniform", "cope": "cope:npos_max=64"}.get(encoding, encoding)
    model, loss, ids = loaded(tmp_path, encoding, spec, style)
    assert model.loss(ids[:, :-1], ids[:, 1:]).item() == pytest.approx(loss, abs=1e-5)
    model.chunks = 3
    assert model.loss(ids[:, :-1], ids[:, 1:]).item() == pytest.approx(loss, abs=1e-5)
    with torch.no_grad():
        every = model.head(model.hidden(ids))
        torch.testing.assert_close(model.last_logits(ids), every[:, -1], rtol=1e-4, atol=1e-5)
        caches = model.caches(2, 16)
        for at in range(ids.shape[1]):
            step = model.next_logits(ids[:, at : at + 1], torch.tensor([at]), caches)
            torch.testing.assert_close(step, every[:, at], rtol=1e-4, atol=1e-5)


def rows(folder, *words):
    return [json.loads(line) for line in done("bench", *words, "--json", cwd=folder).splitlines()]


def check(row):
    assert len(row["seconds"]) == 2 and row["best_seconds"] == min(row["seconds"]) > 0
    assert row["floor_seconds"] > 0 and row["peak_bytes"] is None and row["machine"] and row["date"]


@pytest.mark.parametrize("verb", ["prefill", "decode"])
def test_every_encoding_of_the_papers_table_beside_its_opponent(tmp_path, verb):
    """Opponents take seconds to start: all encodings for ours, one for theirs."""
    whats = ["batch 1", "batch 4" if verb == "prefill" else "batch 32"]
    got = rows(tmp_path, verb, *TINY, "--encodings", ",".join(TABLE_1))
    assert [(row["encoding"], row["what"]) for row in got] == [(e, what) for e in TABLE_1 for what in whats]
    both = rows(tmp_path, verb, *TINY, "--encodings=darope", "--opponents=eager")
    assert [row["who"] for row in both] == ["darope", "eager"] * 2
    for row in [*got, *both]:
        check(row)
        assert row["tokens_per_second"] > 0
    for ours, theirs in zip(both[::2], both[1::2]):
        assert theirs["ratio"] == pytest.approx(theirs["best_seconds"] / ours["best_seconds"])


def test_what_a_row_says_of_its_work(tmp_path):
    """quick: 2 layers, 64 wide, GELU of 256, tied head of 256, sequences of 32."""
    got = {row["what"]: row for row in rows(tmp_path, "prefill", *TINY, "--encodings=rope")}
    layer, last = 4 * 64 * 64 + 2 * 64 * 256, 64 * 64 + 2 * 64 * 256
    products = 32 * (2 * layer - last) + last + 64 * 256
    for batch in (1, 4):
        assert got[f"batch {batch}"]["operations"] == batch * 2 * (products + 2 * 32 * 32 * 64)
        assert got[f"batch {batch}"]["bytes"] == 4 * (2 * layer + 64 * 256)


def test_steps_and_the_loop_around_them(tmp_path):
    step = rows(tmp_path, "step", *TINY, "--encodings=rope", "--opponents=eager,eager-chunks")
    assert [row["who"] for row in step] == ["darope", "eager", "darope", "eager-chunks"]
    loop = rows(tmp_path, "train", *TINY, "--encodings=rope")
    assert [row["what"] for row in loop] == ["bare step", "whole loop"]
    assert loop[1]["ratio"] == pytest.approx(loop[1]["best_seconds"] / loop[0]["best_seconds"])
    for row in [*step, *loop]:
        check(row)


def test_kernels(tmp_path):
    config = ["model.style=lingua", "model.tied=false"]
    got = rows(tmp_path, "kernels", *TINY, *config, "--encodings=nope,rope,pope,darope", "--opponents=eager")
    ours = [(row["encoding"], row["what"]) for row in got if row["who"] == "darope"]
    rotated = [(e, f"encode, {way}") for e in ("rope", "pope", "darope") for way in ("forward", "backward")]
    rest = [("", f"{part}, {way}") for way in ("forward", "backward") for part in ("add and norm", "swiglu")]
    assert ours == [*rotated, *rest, ("", "head loss, both")]
    assert len(got) == 2 * len(ours)
    for row in got:
        check(row)
    moved = {(row["encoding"], row["what"]): row["bytes"] for row in got}
    numbers = 4 * 2 * 32 * 64  # bytes of q: 2 sequences of 32 tokens, 64 wide
    assert moved["rope", "encode, forward"] == moved["rope", "encode, backward"] == 4 * numbers
    assert moved["pope", "encode, forward"] == 6 * numbers
    assert moved["darope", "encode, forward"] == 5 * numbers  # and the layer's input
    assert moved["darope", "encode, backward"] == 8 * numbers


def test_sizes_settings_and_csv(tmp_path):
    """A config of the trainer, with settings behind it; rows go behind those that are there."""
    config = ROOT / "configs" / "quick" / "train.yaml"
    words = [f"--size={config}", *TINY[1:], "model.dim=32", "--encodings=rope"]
    (row,) = rows(tmp_path, "step", *words, "--csv=speed.csv")
    assert (row["size"], row["batch"], row["length"]) == ("train", 2, 32)
    rows(tmp_path, "train", *words, "--csv=speed.csv")
    with open(tmp_path / "speed.csv") as file:
        table = list(csv.DictReader(file))
    assert [(line["bench"], line["what"]) for line in table] == [
        ("step", ""),
        ("train", "bare step"),
        ("train", "whole loop"),
    ]
    assert [float(x) for x in table[0]["seconds"].split()] == pytest.approx(row["seconds"])
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n")
    answer = run("bench", "step", *words, "--csv=mine.csv", cwd=tmp_path)
    assert answer.returncode == 2 and "it has other columns" in answer.stderr and not answer.stdout
    assert (tmp_path / "mine.csv").read_text() == "a,b\n1,2\n"


def test_what_is_refused(tmp_path):
    assert "size" in refused("bench", "step", "--size=2b", cwd=tmp_path)
    assert "model.dropout" in refused(
        "bench", "step", *TINY, "--opponents", "--json", "model.dropout=0.1", cwd=tmp_path
    )
    for setting in ("grad_acc_steps=2", "recompute=full", "dtype=bf16"):
        said = refused("bench", "step", *TINY, "--opponents=eager", setting, cwd=tmp_path)
        assert setting.split("=")[0] in said
    for variant in ("lazy", "eager-", ","):
        said = refused("bench", "step", *TINY, f"--opponents={variant}", cwd=tmp_path)
        assert f"the opponent '{variant.strip(',')}' is not known" in said
    settings = ["bench", "prefill", "--size=quick", "--encodings", "rope,hope", "data.batch_size=0"]
    assert "data.batch_size" in refused(*settings, cwd=tmp_path)  # the last is no encoding
    assert "data.batch_size" in refused("bench", "step", "--size=quick", "data.batch_size=0", cwd=tmp_path)
    assert "none/speed.csv" in refused("bench", "step", *TINY, "--csv=none/speed.csv", cwd=tmp_path)


@pytest.mark.parametrize("encoding", ["fire", "rope:base=10000"])
def test_ours_is_timed_where_an_opponent_has_no_such_encoding(tmp_path, encoding):
    words = [*TINY, "--encodings", encoding, "--opponents=eager", "--json"]
    answer = run("bench", "step", *words, cwd=tmp_path)
    assert answer.returncode == 1 and f"the opponents have no '{encoding}': they know nope, " in answer.stderr
    (row,) = map(json.loads, answer.stdout.splitlines())
    assert (row["who"], row["encoding"]) == ("darope", encoding)


def test_a_terminal_sees_a_bar(tmp_path):
    sent = on_a_terminal("bench", "prefill", *TINY, "--encodings=rope", cwd=tmp_path).decode()
    assert "round [" in sent and "4/4" in sent
