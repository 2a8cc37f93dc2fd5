"""Runs of the program in Hugging Face's library: loaded, continued, exported, and made of a Llama."""

import base64
import collections
import hashlib
import json
import math
import os
import random
import shutil
import subprocess
import sys

import darope
import pytest
import torch
from conftest import NAMES, ROOT

transformers = pytest.importorskip("transformers", reason="needs transformers")
import darope.hf  # noqa: E402
from darope.hf.retrofit import import_llama  # noqa: E402
from darope.hf.tokenizer import byte_tokenizer, rank_tokenizer, tokenizer_for  # noqa: E402

PROGRAM = os.environ.get("DAROPE_BINARY", str(ROOT / "build" / "darope"))
SMALL = "model.dim=32 model.n_layers=2 model.n_heads=2 model.hidden_multiple=8 model.base=100 threads=1"
TRAINED = [name for name in NAMES if name != "yarn"]
PROMPT = "the cat"
auto = transformers.AutoModelForCausalLM.from_pretrained


def call(*words, code=0):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=200)
    assert done.returncode == code, (done.returncode, done.stderr)
    return done


def module(*words, code=0):
    return call(sys.executable, "-m", "darope.hf", *words, code=code)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of a few steps on a text, by its encoding and style."""
    text = tmp_path_factory.mktemp("data") / "text.txt"
    text.write_text("the cat sat on the mat, and the dog sat on the log.\n\n" * 300)
    config = text.with_name("config.yaml")
    config.write_text("name: small\n")
    made = {}

    def make(encoding, style="lingua"):
        if (encoding, style) not in made:
            folder = tmp_path_factory.mktemp("runs") / "run"
            settings = f"""
                data.path={text} model.encoding={encoding} model.style={style} dump_dir={folder} steps=12
                optim.lr=0.01 data.seq_len=32 data.batch_size=8 data.test_examples=2 {SMALL}
            """
            call(PROGRAM, "train", config, *settings.split())
            made[encoding, style] = folder
        return made[encoding, style]

    return make


@pytest.mark.parametrize("encoding", TRAINED)
def test_generation_is_that_of_the_program(run, encoding):
    folder = run(encoding)
    said = call(
        PROGRAM, "generate", folder, "--prompt", PROMPT, "--tokens", "40", "--temperature", "0"
    ).stdout
    model, tokenizer = auto(folder), byte_tokenizer()
    assert model.config.eos_token_id == tokenizer.eos_token_id == 256
    prompt = tokenizer(PROMPT, return_tensors="pt")
    ids = model.generate(**prompt, max_new_tokens=40, do_sample=False)
    assert tokenizer.decode(ids[0], skip_special_tokens=True) == said.removesuffix("\n")


def test_bytes_are_ids():
    text = "Ünïcode,  two spaces\n\ttab \U0001f600"
    ids = byte_tokenizer()(text)["input_ids"]
    assert ids == list(text.encode()) and byte_tokenizer().decode(ids) == text


# As tiktoken defines its encodings, which it would load from the network.
PATTERNS = {
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "r50k": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
}
HARD = [
    "'s",
    "'S",
    "'Ve",
    "'",
    "\r\n",
    "\n\n",
    "\t",
    "\u00a0",
    "\u3000",
    "1234567",
    "\u4e16\u754c",
    "e\u0301",
]
HARD += [
    "\U0001f468",
    "hello",
    "World",
    " the",
    "  ",
    "   ",
    " ",
    "\n",
    "(",
    "...",
    " !?",
    "def f(x):\n    return",
]


@pytest.mark.parametrize("name", PATTERNS)
def test_ranks_give_the_ids_of_tiktoken(name, tmp_path):
    tiktoken = pytest.importorskip("tiktoken")
    text = (ROOT / "docs" / "data.md").read_text()
    data = text.encode()
    common = collections.Counter(data[i : i + n] for n in range(2, 13) for i in range(len(data) - n))
    tokens = [bytes([byte]) for byte in range(256)] + [token for token, _ in common.most_common(2000)]
    ranks = tmp_path / "own.tiktoken"
    ranks.write_bytes(b"".join(base64.b64encode(t) + b" %d\n" % rank for rank, t in enumerate(tokens)))
    ours = rank_tokenizer(name, ranks)
    theirs = tiktoken.Encoding(
        name,
        pat_str=PATTERNS[name],
        mergeable_ranks={token: rank for rank, token in enumerate(tokens)},
        special_tokens={},
    )
    assert (ours.bos_token_id, ours.eos_token_id) == (len(tokens), len(tokens) + 1)
    rng = random.Random(0)
    for document in [text, *("".join(rng.choices(HARD, k=rng.randint(1, 40))) for _ in range(1000))]:
        ids = ours(document)["input_ids"]
        assert ids == theirs.encode_ordinary(document) and ours.decode(ids) == document, document


def test_a_run_on_prepared_text_has_its_tokenizer(tmp_path):
    text = tmp_path / "text.jsonl"
    text.write_text("".join(f'{{"text": "{i} cats sat on the mat"}}\n' for i in range(500)))
    call(PROGRAM, "data", "prepare", "text", text, "--out", tmp_path / "data")
    (tmp_path / "config.yaml").write_text(f"data:\n  root_dir: {tmp_path / 'data'}\n")
    assert tokenizer_for(tmp_path)("cat")["input_ids"] == list(b"cat")


def test_the_card_tells_of_data_and_scores(tmp_path):
    text = tmp_path / "a|b.jsonl"
    text.write_text(
        "".join(f'{{"text": "{i} cats sat on the mat, {i * i} on the log"}}\n' for i in range(500))
    )
    data, folder, out = tmp_path / "data", tmp_path / "run", tmp_path / "out"
    call(PROGRAM, "data", "prepare", "text", text, "--out", data)
    settings = f"data.root_dir={data} dump_dir={folder} steps=2 data.seq_len=32 data.batch_size=2 {SMALL}"
    (tmp_path / "config.yaml").write_text("model:\n  encoding: rope\n")
    call(PROGRAM, "train", tmp_path / "config.yaml", *settings.split())
    call(PROGRAM, "eval", folder, "data.test_examples=5")
    module("export", folder, "--to", "hf", out)
    card = (out / "README.md").read_text()
    digest = hashlib.sha256(text.read_bytes()).hexdigest()
    assert f"| ` a\\|b.jsonl ` | {text.stat().st_size} | {digest} |" in card
    assert "| kind | text |" in card and "| tokenizer | bytes |" in card
    (asked,) = (folder / "evals").glob("*/*")
    for file, step, what in [
        (folder / "results.jsonl", 2, ""),
        (asked / "results.jsonl", asked.parent.name, asked.name),
    ]:
        scores = [json.loads(line) for line in file.read_text().splitlines()]
        mean = math.fsum(row["value"] for row in scores) / len(scores)
        row = next(line for line in card.splitlines() if line.startswith(f"| {step} | {what} |"))
        assert f"{mean:.4f} nats per token" in row and f"| {len(scores)} |" in row
    long = tmp_path / "long.jsonl"
    long.write_text(2 * (json.dumps({"text": 30 * "the cat sat on the mat. "}) + "\n"))
    call(PROGRAM, "eval", folder, "--positions", 64, "--documents", long)
    module("export", folder, "--to", "hf", tmp_path / "asked")
    card = (tmp_path / "asked" / "README.md").read_text()
    assert "| loss | band 1 |" in card and "| loss by position | position 0 |" in card
    config = folder / "config.yaml"
    config.write_text(config.read_text() + "# ```\n# <img src=x>\n")
    module("export", folder, "--to", "hf", tmp_path / "fenced")
    assert (tmp_path / "fenced" / "README.md").read_text().count("\n````") == 2
    results = folder / "results.jsonl"
    results.write_text(results.read_text().replace('"value":', '"value":-', 1))
    assert (
        "is not what the run wrote" in module("export", folder, "--to", "hf", tmp_path / "b", code=3).stderr
    )


@torch.no_grad()
@pytest.mark.parametrize("encoding", ["pope", "darope;nope", "learned"])
def test_export_loads_by_its_own_code(run, encoding, tmp_path):
    out = tmp_path / "out"
    said = module("export", run(encoding), "--to", "hf", out).stdout
    assert str(out) in said and "trust_remote_code=True" in said and said.count("\n") == 1
    code = (
        "import sys, torch; from transformers import AutoModelForCausalLM, AutoTokenizer\n"
        f"model = AutoModelForCausalLM.from_pretrained({str(out)!r}, trust_remote_code=True)\n"
        f"ids = AutoTokenizer.from_pretrained({str(out)!r})({PROMPT!r}, return_tensors='pt').input_ids\n"
        "print(model(ids).logits.double().sum().item())"
    )
    printed = float(call(sys.executable, "-c", code).stdout)
    ids = torch.tensor([list(PROMPT.encode())])
    assert printed == pytest.approx(auto(run(encoding))(ids).logits.double().sum().item(), rel=1e-6)
    without = call(sys.executable, "-c", "import sys; sys.modules['darope'] = None\n" + code, code=1)
    assert "this model needs the package darope" in without.stderr
    card = (out / "README.md").read_text()
    assert (
        f"| encoding | {encoding.partition(';')[0]}" in card and "optim:" in card and "| steps | 12 |" in card
    )
    assert "is not empty" in module("export", run(encoding), "--to", "hf", out, code=2).stderr


@pytest.mark.parametrize("to", ["hf", "stock"])
def test_an_export_that_fails_leaves_nothing(run, to, tmp_path):
    """The card is made last, of scores that were changed behind the program's back."""
    changed = tmp_path / "run"
    shutil.copytree(run("rope"), changed)
    scores = changed / "results.jsonl"
    scores.write_text(scores.read_text().replace('"value":', '"value":1', 1))
    assert "results.jsonl" in module("export", changed, "--to", to, tmp_path / "out", code=3).stderr
    assert [each.name for each in tmp_path.iterdir()] == ["run"]


@torch.no_grad()
@pytest.mark.parametrize("encoding", ["rope", "hope", "yarn:factor=4"])
def test_export_as_a_llama(run, encoding, tmp_path):
    folder = run(encoding if encoding == "hope" else "rope")
    chosen = ["--encoding", encoding] if "yarn" in encoding else []
    said = module("export", folder, "--to", "stock", tmp_path / "out", *chosen).stdout
    assert f"LlamaForCausalLM.from_pretrained('{tmp_path / 'out'}')" in said
    stock = transformers.LlamaForCausalLM.from_pretrained(tmp_path / "out")
    options = {"encoding": encoding} if chosen else {}
    ids = torch.randint(256, (1, 100), generator=torch.Generator().manual_seed(1))
    expected = auto(folder, **options)(ids).logits
    assert (stock(ids).logits - expected).abs().max() < 1e-4 * expected.abs().max()


REFUSED = {
    "darope": ("lingua", [], "cannot express darope"),
    "sinusoidal": ("lingua", [], "cannot express sinusoidal"),
    "learned": ("lingua", [], "cannot express learned"),
    "rope;nope": ("lingua", [], "one encoding in all layers"),
    "rope": ("nanogpt", [], "with gelu is no Llama"),
    "hope": ("lingua", ["--encoding", "yarn:ramp=paper"], "cannot express yarn:ramp=paper"),
}


@pytest.mark.parametrize("encoding", REFUSED)
def test_what_is_no_llama_is_refused(run, encoding, tmp_path):
    style, options, reason = REFUSED[encoding]
    out = tmp_path / "out"
    refusal = module("export", run(encoding, style), "--to", "stock", out, *options, code=2)
    assert reason in refusal.stderr and refusal.stderr.count("\n") == 1 and not out.exists()


def llama(folder, **settings):
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=257,
        hidden_size=32,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=32,
        initializer_range=0.3,
        **settings,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@torch.no_grad()
@pytest.mark.parametrize("encoding", ["darope", "rope", "hope", "learned"])
@pytest.mark.parametrize("tied", [True, False])
def test_a_llama_becomes_a_run_that_goes_on(encoding, tied, tmp_path):
    source, out = llama(tmp_path / "llama", tie_word_embeddings=tied), tmp_path / "run"
    module("import", source, "--encoding", encoding, "--out", out)
    ids = torch.randint(256, (2, 32), generator=torch.Generator().manual_seed(1))
    apart = (
        (auto(source)(ids).logits - darope.hf.DaropeForCausalLM.from_pretrained(out)(ids).logits).abs().max()
    )
    assert (apart < 1e-4) == (encoding in ("darope", "rope"))
    call(PROGRAM, "ckpt", "verify", out)
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat, and the dog sat on the log.\n\n" * 300)
    small = ["data.seq_len=32", "data.batch_size=2", "data.test_examples=2", "threads=1", "device=cpu"]
    done = call(PROGRAM, "train", out / "import.yaml", f"data.path={text}", "steps=2", *small)
    assert "resuming from" in done.stderr and "0000000000" in done.stderr
    assert auto(out).config.encoding.startswith(encoding)


BAD_LLAMAS = {
    "biases": (dict(attention_bias=True), "its projections have biases"),
    "another activation": (dict(hidden_act="gelu"), "its activation is gelu"),
    "stretched": (
        dict(rope_parameters=dict(rope_type="linear", factor=2.0, rope_theta=1e4)),
        "its rope_type is linear",
    ),
}


@pytest.mark.parametrize("what", BAD_LLAMAS)
def test_what_is_no_plain_llama_is_refused(what, tmp_path):
    settings, reason = BAD_LLAMAS[what]
    out = tmp_path / "run"
    source = llama(tmp_path / "llama", **settings)
    refusal = module("import", source, "--encoding", "darope", "--out", out, code=2)
    assert reason in refusal.stderr and refusal.stderr.count("\n") == 1 and not out.exists()


@pytest.mark.parametrize("kind", ["gpt_neox", "olmo"])  # with norms of another kind
def test_a_model_of_another_kind_is_refused(kind, tmp_path):
    sizes = dict(vocab_size=257, hidden_size=32, intermediate_size=96, num_hidden_layers=1)
    config = transformers.AutoConfig.for_model(kind, num_attention_heads=4, **sizes)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / "other")
    with pytest.raises(ValueError, match=f"cannot become a run: its type is {kind}, not llama"):
        import_llama(tmp_path / "other", "darope", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_folder_without_weights_of_its_own_is_refused(run, tmp_path):
    for name in ("one-rope-s0", "one-yarn-s0"):
        shutil.copytree(run("rope"), tmp_path / "mine" / "runs" / name)
    scored = tmp_path / "mine" / "runs" / "one-yarn-s0"
    config = (scored / "config.yaml").read_text()
    (scored / "config.yaml").write_text(config.replace('weights_of: ""', "weights_of: one-rope-s0"))
    for folder, said in {
        tmp_path / "mine": "mine holds 2 runs: give one of them, such as",
        tmp_path / "mine" / "runs": "runs holds 2 runs: give one of them, such as",
        scored: "has no weights: it scored those of",
    }.items():
        refusal = module("export", folder, "--to", "hf", tmp_path / "out", code=2).stderr
        assert said in refusal and "one-rope-s0" in refusal and refusal.count("\n") == 1


def test_a_folder_that_is_none_is_refused(tmp_path):
    for words in (
        ["export", tmp_path / "no", "--to", "hf"],
        ["import", tmp_path / "no", "--encoding", "rope"],
    ):
        refusal = module(*words, *(["--out"] if words[0] == "import" else []), tmp_path / "out", code=2)
        assert "is no folder" in refusal.stderr and refusal.stderr.count("\n") == 1
