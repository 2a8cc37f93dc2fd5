#!/usr/bin/env python3
"""Tells a bundle of the first version which of its test examples come from one source.

    .venv/bin/python docs/results/clusters.py BUNDLE RUN OUT

RUN is the folder of any run of the present version on the same prepared data, however short: its scores name
the cluster of every example. The bundle's examples must be the same ones, by number and by tokens scored; its
scores stay as they are.
"""

import io
import json
import pathlib
import sys
import tarfile

import zstandard


def clusters_of(lines):
    """(number, scored tokens, cluster) of every example, by metric. Examples are counted within their metric,
    as the first version numbered them."""
    found = {}
    for line in sorted(lines, key=lambda line: line["example"]):
        of_metric = found.setdefault((line["metric"], line["x"]), [])
        of_metric.append((len(of_metric), line["tokens"], line.get("cluster")))
    return found


def with_clusters(text, known, name):
    lines = [json.loads(line) for line in text.splitlines()]
    for key, examples in clusters_of(lines).items():
        if [example[:2] for example in examples] != [example[:2] for example in known.get(key, [])]:
            sys.exit(f"clusters: {name} was not tested on the examples of the run: {key[0]} differs")
    for line in lines:
        line["cluster"] = known[line["metric"], line["x"]][line["example"]][2]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def main(bundle, run, out):
    told = pathlib.Path(run, "results.jsonl").read_text().splitlines()
    known = clusters_of(map(json.loads, told))
    packed = io.BytesIO()
    with (
        zstandard.open(bundle) as stream,
        tarfile.open(fileobj=stream, mode="r|") as before,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as after,
    ):
        for member in before:
            data = before.extractfile(member).read()
            if pathlib.Path(member.name).match("results*.jsonl"):
                data = with_clusters(data.decode(), known, member.name).encode()
                member.size = len(data)
            after.addfile(member, io.BytesIO(data))
    pathlib.Path(out).write_bytes(zstandard.compress(packed.getvalue(), 19))


if __name__ == "__main__":
    main(*sys.argv[1:])
