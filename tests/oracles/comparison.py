"""Writes the folders of a comparison as `darope compare` leaves them, with made-up scores."""

import json
import math
import random

# dataset: family, chance, true chance, best constant
DATASETS = {
    "reverse_string": ("context-free", 0.1, 0.1, 0.1),
    "bucket_sort": ("context-sensitive", 0.1, 0.1, 0.12),
    "stack_manipulation": ("context-free", 0.33, 0.5, 0.52),
    "assoc_recall": ("retrieval", 0.1, 0.1, 0.11),
}
LENGTHS = (1, 2, 8)
# accuracy at 1x, 2x, 8x
ACCURACY = {
    "nope": {
        "reverse_string": (0.43, 0.20, 0.05),
        "bucket_sort": (0.86, 0.74, 0.63),
        "stack_manipulation": (0.84, 0.65, 0.52),
    },
    "rope:base=10000": {
        "reverse_string": (0.99, 0.33, 0.10),
        "bucket_sort": (0.986, 0.60, 0.11),
        "stack_manipulation": (0.87, 0.53, 0.46),
    },
    "hope": {
        "reverse_string": (0.98, 0.51, 0.13),
        "bucket_sort": (0.97, 0.67, 0.45),
        "stack_manipulation": (0.92, 0.53, 0.52),
    },
    "pope": {
        "reverse_string": (0.965, 0.43, 0.13),
        "bucket_sort": (0.995, 0.63, 0.17),
        "stack_manipulation": (0.90, 0.57, 0.31),
    },
    "cope": {
        "reverse_string": (0.97, 0.37, 0.12),
        "bucket_sort": (0.983, 0.83, 0.50),
        "stack_manipulation": (0.97, 0.55, 0.48),
    },
    "darope": {
        "reverse_string": (0.982, 0.40, 0.12),
        "bucket_sort": (0.985, 0.56, 0.25),
        "stack_manipulation": (0.93, 0.57, 0.50),
    },
}


def score(rng, mean):
    """The share of 20 answer bytes that are right."""
    return sum(rng.random() < mean for _ in range(20)) / 20


def write_run(folder, dataset, encoding, seed, accuracies, examples=256, **changes):
    family, chance, true_chance, constant = DATASETS.get(dataset, ("", None, None, None))
    run = {
        "schema": 1,
        "dataset": dataset,
        "family": family,
        "encoding": encoding,
        "seed": seed,
        "status": "finished",
        "steps": 900,
        "tokens": 460800,
        "parameters": 132480 + 96 * len(encoding),
        "seconds": 3.1 + 0.4 * len(encoding),
        "tokens_per_second": 148645.0 / (1 + 0.02 * len(encoding)),
        "peak_memory_bytes": 310 << 20,
        "shared_init": f"{dataset}{seed}" * 4,
        "data_order": f"order{dataset}{seed}" * 3,
        "config_without_encoding": "config" * 6,
        "chance": chance,
        "true_chance": true_chance,
        "best_constant": {str(x): constant for x in LENGTHS} if constant else None,
        "commit": "233e1dc",
        "machine": "two cores, no GPU",
        "torch": "2.11.0",
        **changes,
    }
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(run))
    settings = {"dataset": dataset, "seed": seed, "encoding": encoding, "layers": 2, "d_model": 64}
    (folder / "config.yaml").write_text(
        "".join(f"{key}: {json.dumps(value)}\n" for key, value in settings.items())
    )
    rng = random.Random(f"{dataset}/{encoding}/{seed}")
    with (folder / "results.jsonl").open("w") as out:
        for x, mean in zip(LENGTHS, accuracies):
            for example in range(examples):
                value = score(rng, mean)
                for metric, number in (("token_accuracy", value), ("exact_match", float(value == 1))):
                    out.write(
                        json.dumps({"metric": metric, "x": x, "example": example, "value": number}) + "\n"
                    )
    with (folder / "metrics.jsonl").open("w") as out:
        for step in range(1, 901):
            loss = 0.1 + 2.2 * math.exp(-step * (accuracies or [0.5])[0] / 150) + 0.05 * rng.random()
            out.write(json.dumps({"global_step": step, "loss/out": loss, "optim/lr": 4e-3}) + "\n")


# test loss in nats, as far apart as music and signals have it
LOSSES = {
    "jsb": (0.45, {"nope": 0.71, "rope-10k": 0.004, "hope": 0.002, "pope": 0.003, "darope": 0}),
    "maestro": (1.42, {"nope": 0.09, "rope-10k": 0.006, "hope": 0.011, "pope": -0.005, "darope": 0}),
    "sleep-edf": (4.22, {"nope": 0.21, "rope-10k": 0.001, "hope": 0.002, "pope": 0.03, "darope": 0}),
}


def write_losses(out, examples=120):
    """Datasets without lengths, scored by their loss."""
    for dataset, (level, gaps) in LOSSES.items():
        shared = random.Random(dataset)
        hard = [shared.gauss(level, 0.05) for _ in range(examples)]
        for encoding, gap in gaps.items():
            for seed in range(2):
                folder = out / "runs" / f"{dataset}-{encoding}-s{seed}"
                write_run(
                    folder,
                    dataset,
                    encoding,
                    seed,
                    (),
                    family="music" if dataset != "sleep-edf" else "signals",
                    best_constant=None,
                )
                rng = random.Random(f"{dataset}/{encoding}/{seed}")
                lines = (
                    {
                        "metric": "nll",
                        "x": 1,
                        "example": i,
                        "value": hard[i] + gap + rng.gauss(0, 0.004),
                        "tokens": 2047,
                    }
                    for i in range(examples)
                )
                (folder / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def write_comparison(out, extra=()):
    """The quick start: one dataset nobody learns, one run that diverged; `extra` is more (dataset,
    encoding) names.
    """
    for encoding, accuracy in ACCURACY.items():
        for seed in range(2):
            rng = random.Random(f"seed/{encoding}/{seed}")
            for dataset in DATASETS:
                means = [
                    min(1, max(0, m + rng.gauss(0, 0.01))) for m in accuracy.get(dataset, (0.11, 0.1, 0.1))
                ]
                diverged = dataset == "stack_manipulation" and encoding == "pope" and seed == 1
                name = f"{dataset}-{encoding.replace(':', '_').replace('=', '_')}-s{seed}"
                write_run(
                    out / "runs" / name,
                    dataset,
                    encoding,
                    seed,
                    means,
                    **({"status": "diverged", "steps": 411} if diverged else {}),
                )
    for i, (dataset, encoding) in enumerate(extra):
        write_run(out / "runs" / f"extra{i}", dataset, encoding, 0, (0.9, 0.5, 0.2), examples=20)
