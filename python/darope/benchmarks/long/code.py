"""The next line of code, with other files of the repository before it: CrossCodeEval (Ding et al., 2023) and
RepoBench 1.1 (Liu et al., 2023).
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ..rows import objects_of
from .measures import edit_similarity
from .question import Question

__all__ = [
    "CROSSCODEEVAL",
    "REPOBENCH",
    "crosscodeeval_question",
    "crosscodeeval_judge",
    "first_line",
    "identifiers",
    "repobench_question",
    "repobench_judge",
    "rows_of",
    "statement",
]

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
CROSSCODEEVAL = {language: f"{language}/line_completion_rg1_bm25.jsonl" for language in KEYWORDS}
REPOBENCH = {
    f"{language}-{setting}": f"{language}/{setting}.jsonl"
    for language in ("python", "java")
    for setting in ("cross_file_first", "cross_file_random", "in_file")
}
OF_OTHER_FILES = 12800 / 16384  # CrossCodeEval's share of a prompt
STRINGS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|' + r"'[^'\\]*(?:\\.[^'\\]*)*'")


def rows_of(folder: Path, files: dict[str, str]) -> dict[str, list[dict]]:
    found = {part: objects_of(folder / name) for part, name in files.items() if (folder / name).is_file()}
    if not found:
        raise ValueError(f"{folder} should hold one of {', '.join(files.values())}")
    return found


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


def crosscodeeval_question(
    part: str, row: dict, length: int, ends: Callable[[str, int, int], str]
) -> Question:
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


def crosscodeeval_judge(asked: Question, told: str) -> dict[str, float]:
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


def repobench_question(part: str, row: dict, length: int, tokens: Callable[[str], int]) -> Question:
    """Lines of other files go from behind until the prompt fits."""
    room, mark = 128, "#" if part.startswith("python") else "//"
    try:
        snippets = [f"{mark} Path: {each['path']}\n{each['snippet']}\n\n" for each in row["context"]]
        others = f"{mark} Repo Name: {row['repo_name']}\n" + "".join(snippets)
        own = f"{mark} Path: {row['file_path']}\n{row['import_statement']}\n{row['cropped_code']}\n"
        right = row["next_line"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"a row of RepoBench's {part} does not fit ({error!r})") from None
    excess = tokens(others) + tokens(own) - (length - room)
    if excess > 0:
        lines = others.split("\n")
        while lines and excess >= 0:
            excess -= tokens(lines.pop())
        others = "\n".join(lines) + "\n\n" if lines else ""
    return Question(
        part=part,
        length=length,
        prompt=re.sub("\n{4,}", "\n\n", others + own),
        bare=None,
        lead="",
        right=right,
        answers=[right],
        room=room,
    )


def first_line(told: str, language: str) -> str:
    """The first that is no comment; where there is none, the first."""
    begins, ends, single = (
        (('"""', "'''"), ('"""', "'''"), "#") if language == "python" else ("/*", "*/", "//")
    )
    lines, inside = told.lstrip("\n").split("\n"), False
    for line in lines:
        bare = line.strip()
        if not bare:
            continue
        if not inside and bare.startswith(begins):
            inside = True
        elif inside:
            inside = not bare.endswith(ends)
        elif not bare.startswith(single):
            return line
    return lines[0]


def repobench_judge(asked: Question, told: str) -> dict[str, float]:
    line, right = first_line(told, asked.part.split("-")[0]), asked.answers[0]
    return {
        "edit_similarity": edit_similarity(line, right),
        "exact_match": float(line.split() == right.split()),
    }
