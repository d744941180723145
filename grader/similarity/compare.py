"""Compares every submission of a class with every other, after the chapter's own text has been taken out.

Reads notebooks, runs nothing. What a reader sees of a pair is `report.similar_page`'s.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from grader.intake.discovery import FoundSubmission
from grader.model import submission
from grader.model.course import CourseError
from grader.model.notebooks import ChapterKey, Role
from grader.model.submission import Action
from grader.similarity import winnowing
from grader.similarity.tokens import CodeTokens, tokens_of

LEAST_SHARED = 12
"""Fingerprints that a pair must share: about forty tokens, more than two answers have in common by chance."""
COMMON_SHARE = 0.1
COMMON_LEAST = 10
"""What more submissions than this number and this share of the class have is the usual way to write it."""
MAX_CHARACTERS = 200_000
"""Of one submission; the code of a whole chapter has a tenth of that."""
FENCED = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class ComparedCell:
    """One of a student's cells."""

    exercise: str
    """Grade id; empty for a cell that answers no exercise."""
    source: str

    @cached_property
    def tokens(self) -> CodeTokens:
        """The normalized tokens."""
        return tokens_of(self.source)

    @cached_property
    def grams(self) -> winnowing.Hashes:
        """The hash of every few tokens in a row."""
        return winnowing.grams(self.tokens.texts)

    @cached_property
    def fingerprints(self) -> frozenset[int]:
        """The hashes that winnowing keeps."""
        return frozenset(self.grams[winnowing.chosen(self.grams)].tolist())

    def lines(self, hashes: set[int]) -> set[int]:
        """Lines, counted from 0, of the tokens that any of these hashes stands for."""
        covered: set[int] = set()
        for start, value in enumerate(self.grams.tolist()):
            if value in hashes:
                covered.update(self.tokens.lines[start : start + winnowing.GRAM])
        return covered


@dataclass(frozen=True)
class Document:
    """What one student wrote."""

    student: str
    parts: tuple[ComparedCell, ...]
    cut: bool = False
    """Whether it was too long to be compared as a whole."""

    @cached_property
    def grams(self) -> set[int]:
        """Every hash of every part."""
        return {value for part in self.parts for value in part.grams.tolist()}


@dataclass(frozen=True)
class Overlap:
    """How much of an answer is in another submission."""

    exercise: str
    """Grade id; empty for everything together."""
    shared: int
    """Fingerprints that both have."""
    of: int
    """Fingerprints of the smaller side."""

    @property
    def percent(self) -> float:
        """Shared fingerprints, of a hundred of the smaller side."""
        return 100 * self.shared / self.of if self.of else 0.0


@dataclass(frozen=True)
class SimilarPair:
    """Two submissions that share more than the chapter gives."""

    first: Document
    second: Document
    whole: Overlap
    exercises: tuple[Overlap, ...]
    """Those of which enough is shared, most first."""

    @property
    def percent(self) -> float:
        """The largest share, of a hundred."""
        return max(one.percent for one in (self.whole, *self.exercises))


def read_class(found: Iterable[FoundSubmission], key: ChapterKey) -> tuple[list[Document], list[str]]:
    """What each student wrote, and a line for each submission that cannot be read."""
    documents, unread = [], []
    for one in found:
        if one.problem:
            unread.append(one.line)
            continue
        try:
            documents.append(_document(one.student, submission.read(one.path, key), key))
        except CourseError as error:
            unread.append(str(error))
    return documents, unread


def _document(student: str, submitted: submission.Submission, key: ChapterKey) -> Document:
    """The cells that the student wrote or changed, as far as they are compared."""
    parts: list[ComparedCell] = []
    room = MAX_CHARACTERS
    for step in submitted.steps:
        own = step.key
        if step.action is not Action.RUN or (own is not None and step.source == key.released.get(own.id)):
            continue
        if len(step.source) > room:
            return Document(student, tuple(parts), cut=True)
        room -= len(step.source)
        parts.append(ComparedCell(own.grade_id if own is not None and own.role is Role.SOLUTION else "", step.source))
    return Document(student, tuple(parts))


def given(key: ChapterKey) -> set[int]:
    """Hashes of all code that the chapter gives: its cells, the exercises' stubs, and code in its prose."""
    texts = [text for source in key.released.values() for text in (source, *FENCED.findall(source))]
    return {value for text in texts for value in ComparedCell("", text).grams.tolist()}


def similar_pairs(documents: Sequence[Document], base: set[int], least_percent: float) -> list[SimilarPair]:
    """Pairs that share at least so much of an exercise or of everything, most similar first.

    Args:
        documents: what each student wrote.
        base: hashes that everybody was given.
        least_percent: of the smaller side's fingerprints, in [0, 100].
    """
    own = [_own(document, base) for document in documents]
    usual = _usual(own)
    owners: dict[int, list[int]] = defaultdict(list)
    for index, prints in enumerate(own):
        for value in prints.keys() - usual:
            owners[value].append(index)
    shared: Counter[tuple[int, str, int]] = Counter()
    for value, indexes in owners.items():
        for index in indexes:
            exercise = own[index][value]
            shared.update((index, exercise, other) for other in indexes if other != index)
    sizes = [Counter(exercise for value, exercise in prints.items() if value not in usual) for prints in own]
    together: dict[tuple[int, int], dict[str, list[Overlap]]] = defaultdict(lambda: defaultdict(list))
    for (index, exercise, other), count in shared.items():
        pair = (min(index, other), max(index, other))
        together[pair][exercise].append(Overlap(exercise, count, sizes[index][exercise]))
    pairs = []
    for (first, second), found in together.items():
        count = sum(shared[first, exercise, second] for exercise in sizes[first])
        whole = Overlap("", count, min(sizes[first].total(), sizes[second].total()))
        best = (max(overlaps, key=lambda one: one.percent) for overlaps in found.values())
        enough = [one for one in best if one.shared >= LEAST_SHARED and one.percent >= least_percent]
        if enough or (whole.shared >= LEAST_SHARED and whole.percent >= least_percent):
            enough.sort(key=lambda one: (-one.percent, -one.shared))
            pairs.append(SimilarPair(documents[first], documents[second], whole, tuple(enough)))
    return sorted(pairs, key=lambda pair: (-pair.percent, -pair.whole.shared, pair.first.student, pair.second.student))


def _own(document: Document, base: set[int]) -> dict[int, str]:
    """Fingerprint → the exercise that it is in, without what the chapter gives."""
    return {value: part.exercise for part in document.parts for value in part.fingerprints if value not in base}


def _usual(own: Sequence[dict[int, str]]) -> set[int]:
    """Fingerprints that much of the class has; submissions that agree in all of theirs count once."""
    distinct = {frozenset(prints) for prints in own}
    limit = max(COMMON_LEAST, COMMON_SHARE * len(distinct))
    return {
        value for value, count in Counter(value for prints in distinct for value in prints).items() if count > limit
    }
