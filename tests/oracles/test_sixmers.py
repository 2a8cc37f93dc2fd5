"""Six-mers against a plain reading of their definition, and FASTA records against the list of what the
files hold.
"""

import csv
import itertools
import random
import re

from programs import probe
from shared_data import shared, text_of_xz

WORDS = {"".join(word): 6 + i for i, word in enumerate(itertools.product("ATCG", repeat=6))}
SINGLE = {"A": 4102, "T": 4103, "C": 4104, "G": 4105, "N": 4106}


def tokenize(bases):
    out = []
    for run in re.findall("N|[ACGT]+", bases):
        whole = len(run) // 6 * 6
        out += [WORDS[run[i : i + 6]] for i in range(0, whole, 6)] + [SINGLE[base] for base in run[whole:]]
    return out


def ours(path):
    lines = probe("signal_probe", "sixmers", path).splitlines()
    return [
        (lines[i], int(lines[i + 1]), [int(t) for t in lines[i + 2].split()]) for i in range(0, len(lines), 3)
    ]


def test_random_sequences(tmp_path):
    rng = random.Random(1)
    records = {
        f"r{i}": "".join(rng.choices("ACGTN", [1, 1, 1, 1, share], k=rng.randint(1, 3000)))
        for i, share in enumerate([0, 0.01, 0.1, 0.5, 2, 100] * 10)
    }
    lines = (f">{name}\n" + "\n".join(re.findall(".{1,61}", bases)) + "\n" for name, bases in records.items())
    (tmp_path / "a.fa").write_text("".join(lines))
    assert ours(tmp_path / "a.fa") == [(name, len(bases), tokenize(bases)) for name, bases in records.items()]


def test_real_sequences(tmp_path):
    text = text_of_xz(shared("data", "genome", "valid.fa.xz"))
    (tmp_path / "valid.fa").write_text(text)
    listed = {
        f"{row['assembly']}.{row['chrom']}:{row['start1']}-{row['end1']}": int(row["length"])
        for row in csv.DictReader(shared("data", "genome", "segments.tsv").open(), delimiter="\t")
        if row["split"] == "valid"
    }
    found = ours(tmp_path / "valid.fa")
    assert {name: length for name, length, _ in found} == listed
    records = dict(part.split("\n", 1) for part in text.split(">")[1:])
    for name, _, tokens in found:
        assert tokens == tokenize(records[name].replace("\n", "")), name
