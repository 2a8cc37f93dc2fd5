"""What files of runs, comparisons, checkpoints and datasets are called. src/runs owns the names and what is
in the files (docs/run-folder.md); this is the one place in Python that knows them.
"""

from __future__ import annotations

TEMPORARY = ".part-"  # how the names of what is not whole yet begin

# of a run
SETTINGS = "config.yaml"
MANIFEST = "manifest.json"
FACTS = "run.json"  # there when the run has ended
SCORES = "results.jsonl"
METRICS = "metrics.jsonl"
VALIDATIONS = "metrics.eval.jsonl"
CHECKPOINTS = "checkpoints"

# of a checkpoint
MODEL = "model.safetensors"
MODEL_CONFIG = "config.json"  # as Hugging Face reads it
OPTIMIZER = "optim.safetensors"
TRAIN_STATE = "train_state.json"
CHECKSUMS = "MANIFEST.json"
COMPLETE = "COMPLETE"

# of a comparison
RUNS = "runs"
RESULTS = "results.json"

# of a prepared dataset
DATA_MANIFEST = "manifest.json"
RANKS = "tokenizer.tiktoken"
