"""Scores of runs on benchmarks, with what biases comparisons fixed and said.

lm-eval takes the training length for the longest prompt, and cuts from the left what is longer: nothing
beyond it would be measured. Here a prompt is never cut; one that is too long for `max_length` is an error.
Every prompt begins as every document did in training.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch
from lm_eval.evaluator import simple_evaluate
from lm_eval.models.huggingface import HFLM
from tokenizers.processors import TemplateProcessing
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast
from transformers.utils.logging import disable_progress_bar

from ..hf.checkpoints import newest_checkpoint, step_of
from ..hf.tokenizer import tokenizer_for
from ..hf.weights import require_plain_weights
from .long.ask import score_long
from .long.suites import SUITES
from .table import find
from .tasks import make_task, manager

__all__ = ["Options", "Scored", "check", "is_out_of_memory", "load", "score"]


@dataclass(frozen=True)
class Options:
    data: Path
    max_length: int | None = (
        None  # tokens of the longest prompt with its answer; None: eight times training's
    )
    batch_size: int = 8
    dtype: str = "float32"
    device: str = "cpu"
    limit: int | None = None  # questions of each part, for a first look
    shots: int | None = None  # worked examples before a question; None: as lm-eval has it
    lengths: tuple[int, ...] | None = None  # of long prompts; None: the training length, times 1, 2, 4 and 8
    books: Path | None = None  # that hide what is asked for; None: data / "books"
    prompts: Path | None = None  # where long prompts are kept; None: here
    run_programs: bool = False  # let tasks of code run what the model writes


@dataclass(frozen=True)
class Scored:
    """What `darope eval RUN --scores` takes: metrics as docs/run-folder.md describes them, and scores."""

    name: str
    hash: str  # of all prompts and answers: models with the same one were asked the same
    metrics: list[dict]
    scores: list[dict]
    parts: list[str] = field(default_factory=list)  # of long prompts: what the clusters are called
    bands: list[dict] = field(default_factory=list)  # of long prompts: quartiles over tasks


def begins_with_a_document(tokenizer: PreTrainedTokenizerFast) -> int:
    """Lets every text begin with the id that stands before a document: its own, or the end of another."""
    token = tokenizer.bos_token or tokenizer.eos_token
    number = tokenizer.convert_tokens_to_ids(token)
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{token} $A", special_tokens=[(token, number)]
    )
    return number


class Uncut(HFLM):
    """Refuses where lm-eval would cut a prompt from the left with a warning."""

    def _loglikelihood_tokens(self, requests, *args, **named):
        for _, context, continuation in requests:
            self.refuse_long(len(context) + len(continuation) - 1)
        return super()._loglikelihood_tokens(requests, *args, **named)

    def tok_batch_encode(self, strings, *args, left_truncate_len=None, **named):
        ids, mask = super().tok_batch_encode(strings, *args, **named)
        self.refuse_long(ids.shape[1], left_truncate_len)
        return ids, mask

    def refuse_long(self, length: int, most: int | None = None) -> None:
        most = self.max_length if most is None else most
        if length > most:
            raise ValueError(
                f"a prompt has {length} tokens, and {most} may be read: "
                "give a larger --max-length, or fewer --shots"
            )


def load(run: str, options: Options) -> tuple[Uncut, int | None]:
    """The model, and the step it was trained to."""
    tokenizer = tokenizer_for(run)
    if tokenizer is None:
        raise ValueError(f"{run} is no model of text, or its data no longer lie where they did")
    disable_progress_bar()
    checkpoint = newest_checkpoint(run)
    require_plain_weights(checkpoint)
    model = AutoModelForCausalLM.from_pretrained(
        checkpoint, dtype=getattr(torch, options.dtype), use_safetensors=True, trust_remote_code=False
    )
    model = model.to(options.device).eval()
    uncut = Uncut(
        pretrained=model,
        tokenizer=tokenizer,
        max_length=options.max_length or 8 * model.config.max_position_embeddings,
        batch_size=options.batch_size,
        add_bos_token=True,
        prefix_token_id=begins_with_a_document(tokenizer),
        logits_cache=False,
    )
    return uncut, step_of(checkpoint)


def is_out_of_memory(error: BaseException) -> bool:
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "can't allocate memory" in str(error)


def check(name: str, options: Options) -> None:
    """Refuses an unknown name, and files that are not there, before hours are spent."""
    if name in SUITES:
        SUITES[name].check(options.data, options.books or options.data / "books")
        return
    benchmark = find(name, beside=tuple(SUITES))
    if benchmark.runs_programs and not options.run_programs:
        raise ValueError(f"{name} runs programs that the model writes: allow it with --run-programs")
    for read in benchmark.parts(options.data).values():
        read(options.data)


def score(model: Uncut, name: str, options: Options) -> Scored:
    if name in SUITES:
        return Scored(name, **score_long(model, name, options))
    benchmark = find(name)
    tasks = [make_task(stock, read(options.data)) for stock, read in benchmark.parts(options.data).items()]
    if options.shots is not None:
        for task in tasks:
            task.set_config(key="num_fewshot", value=options.shots)
    result = simple_evaluate(
        model,
        tasks=tasks,
        limit=options.limit,
        bootstrap_iters=0,
        log_samples=True,
        task_manager=manager(),
    )
    shots = tasks[0].config.num_fewshot or 0
    asked = hashlib.sha256()
    scores: list[dict] = []
    for cluster, example, sample in numbered(result["samples"]):
        asked.update(repr((sample["arguments"], sample["target"])).encode())
        place = {"axis": "shots", "x": shots, "example": example, "cluster": cluster}
        for metric in benchmark.metrics:
            if metric in sample:
                scores.append({"metric": metric, **place, "value": float(sample[metric]), "tokens": 1})
    metrics = [describe(each, benchmark.chance) for each in benchmark.metrics]
    return Scored(name, asked.hexdigest(), metrics, scores)


def numbered(samples: dict[str, list[dict]]) -> Iterator[tuple[int, int, dict]]:
    """Questions counted through. Those of one subject are a cluster, where there are subjects. Where a task
    reads an answer in several ways, the first of them counts.
    """
    example = 0
    for part, name in enumerate(sorted(samples)):
        first = samples[name][0]["filter"]
        ours = [each for each in samples[name] if each["filter"] == first]
        for sample in sorted(ours, key=lambda each: each["doc_id"]):
            yield (part if len(samples) > 1 else example), example, sample
            example += 1


TITLES = {
    "acc": "accuracy",
    "acc_norm": "accuracy, by likelihood for each byte",
    "exact_match": "exact match",
    "pass_at_1": "programs that pass",
}


def describe(metric: str, chance: float) -> dict:
    return {
        "name": metric,
        "axis": {"name": "shots", "unit": "", "meaning": "worked examples before the question"},
        "title": TITLES[metric],
        "unit": "yes or no",
        "meaning": f"lm-eval's {metric}",
        "higher_better": True,
        "chance": chance,
    }
