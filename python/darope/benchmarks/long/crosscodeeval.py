"""CrossCodeEval (Ding et al., 2023): the next statement, with what was found in other files before it."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ..rows import some_of
from .measures import edit_similarity
from .question import Question
from .suite import WHOLE, Source, Suite, of_rows

__all__ = ["SUITE", "identifiers", "question", "statement"]

# What is no identifier, as CrossCodeEval lists it: JavaScript's words for TypeScript, and no true or false.
KEYWORDS = {
    "python": {*keyword.kwlist} - {"True", "False"},
    "java": set(
        """abstract assert boolean break byte case catch char class const continue default do double else enum
        extends final finally float for goto if implements import instanceof int interface long native new
        package private protected public return short static strictfp super switch synchronized this throw
        throws transient try var void volatile while""".split()
    ),
    "csharp": set(
        """abstract as base bool break byte case catch char checked class const continue decimal default
        delegate do double else enum event explicit extern finally fixed float for foreach goto if implicit in
        int interface internal is lock long namespace new null object operator out override params private
        protected public readonly ref return sbyte sealed short sizeof stackalloc static string struct switch
        this throw try typeof uint ulong unchecked unsafe ushort using virtual void volatile while""".split()
    ),
    "typescript": set(
        """break case catch class const continue debugger default delete do else enum export extends finally
        for function if implements import in instanceof interface let new package private protected public
        return static super switch this throw try typeof var void while with yield""".split()
    ),
}
FILES = {language: f"{language}/line_completion_rg1_bm25.jsonl" for language in KEYWORDS}
OF_OTHER_FILES = 12800 / 16384  # of a prompt, in the authors' settings
STRINGS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|' + r"'[^'\\]*(?:\\.[^'\\]*)*'")


@cache
def python_parser():
    try:
        import tree_sitter
        import tree_sitter_python
    except ImportError:
        raise ValueError(
            "CrossCodeEval parses Python: run pip install tree-sitter tree-sitter-python"
        ) from None
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language()))


def is_python(code: str) -> bool:
    nodes = [python_parser().parse(code.encode()).root_node]
    while nodes:
        node = nodes.pop()
        if node.type == "ERROR":
            return False
        nodes += node.children
    return True


def statement(prompt: str, told: str, language: str) -> str:
    """The first one. In Python it ends with the first line behind which the whole is sound; elsewhere behind
    the first bracket or semicolon, unless that is the first character.
    """
    if language == "python":
        for end in re.finditer("(?<=.)\n", told, re.DOTALL):
            if is_python(prompt + told[: end.start()]):
                return told[: end.start()].rstrip()
        return told
    end = re.search("[;{}]", told)
    return told[: end.end()] if end and end.start() else told


def without_comments(code: str) -> str:
    return re.sub("//.*", "", re.sub("#.*", "", code))


def identifiers(code: str, language: str) -> list[str]:
    words = re.findall(r"\w+", STRINGS.sub("", code))
    return [word for word in words if re.match("[_a-zA-Z]", word) and word not in KEYWORDS[language]]


def question(part: str, row: dict, length: int, ends: Callable[[str, int, int], str]) -> Question:
    """The first tokens of what was found in other files, and the last ones of the file itself."""
    room = 50
    try:
        others, own, right = row["crossfile_context"]["text"], row["prompt"], row["groundtruth"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"a row of CrossCodeEval's {part} does not fit ({error!r})") from None
    of_others = int(length * OF_OTHER_FILES)
    before = ends(others, of_others, 0) + "\n"
    return Question(
        part=part,
        length=length,
        prompt=before + ends(own, 0, max(0, length - room - of_others - 2)),
        bare=None,
        lead="",
        right=right,
        answers=[right],
        room=room,
        facts=(own,),
    )


def judge(asked: Question, told: str) -> dict[str, float]:
    told = without_comments(statement(asked.facts[0], told, asked.part))
    right = without_comments(asked.answers[0])
    lines, right_lines = (
        [each.strip() for each in text.split("\n") if each.strip()] for text in (told, right)
    )
    ours, theirs = identifiers(told, asked.part), identifiers(right, asked.part)
    named = len({*ours}) + len({*theirs})
    return {
        "edit_similarity": edit_similarity(told.strip(), right.strip()),
        "exact_match": float(lines == right_lines),
        "identifier_match": float(ours == theirs),
        "identifier_f1": 2 * len({*ours} & {*theirs}) / named if named else 0.0,
    }


def check(data: Path, books: Path) -> None:
    if "python" in some_of(data / "crosscodeeval", FILES):
        python_parser()


def questions(source: Source, length: int) -> list[Question]:
    files = some_of(source.data / "crosscodeeval", FILES)
    return of_rows(source, files, lambda part, row: question(part, row, length, source.ends))


SUITE = Suite(
    metrics={
        "edit_similarity": ("edit similarity", "matching characters of the statement and the right one"),
        "exact_match": ("exact match", "statements whose lines are the right ones"),
        "identifier_match": (
            "identifiers that match",
            "statements with the right identifiers in their order",
        ),
        "identifier_f1": ("identifier F1", "identifiers that the statement and the right one share"),
    },
    judge=judge,
    check=check,
    questions=questions,
    times=WHOLE,
)
