"""docs/run-folder.schema.json, held against the files of a folder."""

import json

import jsonschema
from programs import ROOT

SCHEMA = json.loads((ROOT / "docs" / "run-folder.schema.json").read_text())


def validate(name, text):
    entry = {**SCHEMA, "$ref": f"#/$defs/{name.replace('/', '~1')}"}
    jsonschema.Draft202012Validator(entry).validate(json.loads(text))


def validate_folder(folder):
    """Every JSON file of a run's or a comparison's folder; the entries of the schema that were asked."""
    seen = set()
    for path in folder.rglob("*.json*"):
        name = f"evals/{path.name}" if "evals" in path.parts and path.name == "manifest.json" else path.name
        if name in ("config.json", "results.json"):  # Hugging Face's, and the report's
            continue
        texts = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
        assert texts or name == "metrics.eval.jsonl"  # nothing was validated
        for text in texts:
            validate(name, text)
        seen.add(name)
    return seen
