"""lm-eval's own tasks over rows from this disk: prompts, answers, filters and metrics stay as they are there.

Only programs that a model wrote are scored otherwise: lm-eval fetches the code that runs them, we have ours.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from datasets import Dataset
from lm_eval.api.task import ConfigurableTask
from lm_eval.tasks import TaskManager
from lm_eval.tasks._yaml_loader import load_yaml

from .rows import Splits
from .sandbox import passes

__all__ = ["make_task", "manager"]


@lru_cache(maxsize=1)
def manager() -> TaskManager:
    return TaskManager()


def pass_at_1(references: list[str], predictions: list[list[str]], **_) -> float:
    programs = [prediction[0] if isinstance(prediction, list) else prediction for prediction in predictions]
    results = [passes(f"{program}\n{test}") for program, test in zip(programs, references)]
    return sum(results) / len(results)


def complete_prompts(answers: list[list[str]], docs: list[dict]) -> list[list[str]]:
    return [[doc["prompt"] + answer for answer in each] for each, doc in zip(answers, docs)]


METRIC = {"metric": pass_at_1, "aggregation": "mean", "higher_is_better": True}
COMPLETE = {"name": "create_test", "filter": [{"function": "custom", "filter_fn": complete_prompts}]}


def of_code(stock: str, config: dict, splits: Splits) -> dict:
    """The parts that lm-eval takes from modules which fetch a scorer when they are imported."""
    config = {**config, "metric_list": [METRIC], "unsafe_code": False}
    if stock == "humaneval":
        return {**config, "filter_list": [COMPLETE]}
    return {**config, "fewshot_config": {"sampler": "first_n", "samples": splits["prompt"]}}


def make_task(stock: str, splits: Splits) -> ConfigurableTask:
    is_code = stock in ("humaneval", "mbpp")
    config = load_yaml(Path(manager().task_index[stock].yaml_path), resolve_func=not is_code)
    if is_code:
        config = of_code(stock, config, splits)
    for key in ("dataset_path", "dataset_name", "tag"):
        config.pop(key, None)
    for key in ("training_split", "validation_split", "fewshot_split"):
        if config.get(key) not in splits:
            config.pop(key, None)
    if "test" in splits and not {"fewshot_split", "training_split"} & config.keys() and not is_code:
        config["fewshot_split"] = "test"  # of which lm-eval leaves out the question itself
    config["custom_dataset"] = lambda **_: {name: Dataset.from_list(rows) for name, rows in splits.items()}
    return ConfigurableTask(config=config)
