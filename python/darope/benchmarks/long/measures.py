"""How texts are compared in the scripts of LongBench, CrossCodeEval and RepoBench, quirks included."""

from __future__ import annotations

import re
import string
from collections import Counter
from difflib import SequenceMatcher

__all__ = [
    "class_named",
    "code_similarity",
    "edit_similarity",
    "number_found",
    "paragraph_found",
    "rouge_l",
    "token_f1",
]


def edit_similarity(told: str, right: str) -> float:
    """fuzzywuzzy's ratio without python-Levenshtein, from 0 to 1: percents are whole."""
    if told == right:
        return 1.0
    return round(100 * SequenceMatcher(None, told, right).ratio()) / 100 if told and right else 0.0


def plain_words(text: str) -> list[str]:
    kept = "".join(each for each in text.lower() if each not in string.punctuation)
    return re.sub(r"\b(?:a|an|the)\b", " ", kept).split()


def token_f1(told: str, right: str) -> float:
    ours, theirs = plain_words(told), plain_words(right)
    shared = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * shared / (len(ours) + len(theirs)) if shared else 0.0


def common_words(one: list[str], other: list[str]) -> set[str]:
    """Of a longest common subsequence; of several, the one that drops words of `other` first, from behind."""
    longest = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, word in enumerate(one):
        for j, against in enumerate(other):
            same = word == against
            longest[i + 1][j + 1] = longest[i][j] + 1 if same else max(longest[i][j + 1], longest[i + 1][j])
    found, i, j = set(), len(one), len(other)
    while i and j:
        if one[i - 1] == other[j - 1]:
            found.add(one[i - 1])
            i, j = i - 1, j - 1
        elif longest[i - 1][j] > longest[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return found


def rouge_l(told: str, right: str) -> float:
    """ROUGE-L of the package rouge: over sentences between dots, and each word counts once."""
    ours, theirs = ([" ".join(s.split()).split(" ") for s in text.split(".") if s] for text in (told, right))
    if not ours or not theirs:
        return 0.0
    shared = set().union(*(common_words(one, other) for one in theirs for other in ours))
    precision = len(shared) / len(set().union(*ours))
    recall = len(shared) / len(set().union(*theirs))
    return 2 * precision * recall / (precision + recall + 1e-8)


def class_named(told: str, right: str, classes: list[str]) -> float:
    """One over the number of classes that are named, if the right one is among them. A class whose name is
    part of the right one's does not count; but the one listed behind such a class is never looked at.
    """
    named = [each for each in classes if each in told]
    at = 0
    while at < len(named):
        if named[at] in right and named[at] != right:
            del named[at]
        at += 1
    return 1 / len(named) if right in named else 0.0


def number_found(told: str, right: str) -> float:
    """The share of the numbers that are the right one."""
    numbers = re.findall(r"\d+", told)
    return numbers.count(str(right)) / len(numbers) if numbers else 0.0


def paragraph_found(told: str, right: str) -> float:
    return number_found(told, re.search(r"Paragraph (\d+)", right)[1])


def code_similarity(told: str, right: str) -> float:
    """Of the first line that has no mark of a comment or of a block."""
    lines = told.lstrip("\n").split("\n")
    code = (line for line in lines if not any(mark in line for mark in ("`", "#", "//")))
    return edit_similarity(next(code, ""), right)
