"""Copies are found whatever was done to hide them, and two independent answers are not taken for copies."""

from __future__ import annotations

import ast
import itertools
import json
import random
import re
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from courses import ROOT

from grader.authoring import answers
from grader.cli.main import main
from grader.dev import sample
from grader.intake.discovery import find_submissions
from grader.model.course import Course
from grader.model.notebooks import Role, load_key
from grader.report import similar_page
from grader.similarity import compare, winnowing
from grader.similarity.compare import ComparedCell, Document
from grader.similarity.tokens import tokens_of

COURSE = Course(ROOT)
LEAST = 60
NOT_INDEPENDENT = {
    (
        "accuracy_cost",
        "older exporter, a reader of its own, symmetric, per tensor",
        "calibrated on training pictures",
    ): "two edits of one script",
    ("accuracy_cost", "reference", "calibrated on training pictures"): "likewise",
    ("train_amp_clipped", "reference", "adds up gradients that it asks for by name"): "one loop, edited",
}
"""Pairs of the bank's written-out right answers that one author made from one text."""


def document(student, **sources):
    return Document(student, tuple(ComparedCell(name, source) for name, source in sources.items()))


def percent(first, second, base=frozenset()):
    """How similar two texts are as two submissions; 0 when they are not listed at the lowest bar."""
    pairs = compare.similar_pairs([document("a", x=first), document("b", x=second)], set(base), 1)
    return pairs[0].percent if pairs else 0.0


def right_answers(chapter, key):
    """Exercise → the bank's right answers that are written out, not made from another one by a few edits."""
    found = {}
    for name in key.exercises:
        path = chapter.answers / f"{name}.py"
        text = path.read_text(encoding="utf-8")
        made = set(re.findall(r'^# %% right[^:]*: (.+?) — .*\bfrom "', text, re.MULTILINE))
        found[name] = [one for one in answers.parse(text, name, str(path)) if one.kind == "right"]
        found[name] = [one for one in found[name] if one.title not in made]
    return found


class Renamed(ast.NodeTransformer):
    """Every name that the author of a function can choose gets another one."""

    def __init__(self, tree):
        self.own = {
            node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        self.own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        self.own |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}

    def visit_Name(self, node):
        return ast.Name(f"my_{node.id}_2", node.ctx) if node.id in self.own else node

    def visit_arg(self, node):
        return ast.arg(f"my_{node.arg}_2")

    def visit_FunctionDef(self, node):
        node.name = f"my_{node.name}_2"
        return self.generic_visit(node)


def disguised(source, seed):
    """A copy with other names, another layout, other comments, and its functions in another order."""
    tree = ast.parse(source)
    tree = Renamed(tree).visit(tree)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    others = [node for node in tree.body if not isinstance(node, ast.FunctionDef)]
    random.Random(seed).shuffle(functions)
    tree.body = others + functions
    return "# all of this is mine\n" + ast.unparse(ast.fix_missing_locations(tree)).replace("\n", "  # mine\n")


@pytest.mark.parametrize("chapter", COURSE.chapters(), ids=lambda chapter: chapter.name)
def test_independent_right_answers_are_no_copies(chapter):
    """Of the whole bank, exercise by exercise: the bar leaves only those that one author made from one text."""
    key = load_key(chapter)
    base = compare.given(key)
    listed = set()
    for name, bank in right_answers(chapter, key).items():
        for first, second in itertools.combinations(bank, 2):
            if percent(first.source, second.source, base) >= LEAST:
                listed.add((name, first.title, second.title))
    names = set(key.exercises)
    assert listed == {pair for pair in NOT_INDEPENDENT if pair[0] in names}


@pytest.mark.parametrize("chapter", COURSE.chapters(), ids=lambda chapter: chapter.name)
def test_two_independent_submissions_are_no_copies(chapter):
    """Whole notebooks: each student has another right answer to every exercise."""
    key = load_key(chapter)
    bank = right_answers(chapter, key)
    most = max(map(len, bank.values()))
    made = {name for name, _, _ in NOT_INDEPENDENT}
    class_of = [
        document(
            f"student{which}",
            **{name: one[which].source for name, one in bank.items() if which < len(one) and name not in made},
        )
        for which in range(most)
    ]
    assert compare.similar_pairs(class_of, compare.given(key), LEAST) == []


@pytest.mark.parametrize("name", ["02_cuda_basics", "03_shared_memory", "05_mixed_precision", "09_inference"])
def test_a_disguised_copy_is_found(name):
    """Of every answer that is long enough to be evidence, in a chapter of each kind."""
    chapter = COURSE.chapter(name)
    key = load_key(chapter)
    base, tried = compare.given(key), 0
    for one in itertools.chain(*right_answers(chapter, key).values()):
        own = ComparedCell("", one.source).fingerprints - base
        if len(own) < 2 * compare.LEAST_SHARED or one.source.startswith("%%"):
            continue
        copy = disguised(one.source, tried)
        assert copy.split() != one.source.split()
        assert percent(one.source, copy, base) >= LEAST, one
        tried += 1
    assert tried >= 3


CUDA = '''
SCALE_CU = r"""
// scales
__global__ void scale(const float* x, float* y, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < n; i += gridDim.x * blockDim.x) {
        y[i] = factor * x[i] + (i > 0 ? x[i - 1] : 0.0f);
        if (y[i] < 0.0f) { y[i] = -y[i]; }
        __syncthreads();
    }
}
"""
'''


def test_a_kernel_in_a_string_counts_as_code():
    """CUDA C++ with other names, comments and line breaks; another kernel is another kernel."""
    copy = CUDA.replace("factor", "a").replace("scale(", "mine(").replace("// scales", "/* mine */")
    copy = re.sub(r"\by\b", "out", copy).replace("; ", ";\n   ")
    assert percent(CUDA, copy) == 100
    assert "blockIdx" in tokens_of(CUDA).texts


def test_code_that_the_chapter_gives_is_no_evidence():
    base = set(ComparedCell("", CUDA).grams.tolist())
    assert percent(CUDA, CUDA, base) == 0


def test_pasting_the_chapters_own_cells_is_no_evidence():
    """Two students who both copied every code cell of the release, the stubs too, into a cell of their own."""
    key = load_key(COURSE.chapter("03"))
    cells = [key.released[cell.id] for cell in key.cells if cell.role is not Role.PROSE]
    assert percent("\n".join(cells), "\n".join(cells)) == 100
    class_of = [Document(name, tuple(ComparedCell("", source) for source in cells)) for name in "ab"]
    assert compare.similar_pairs(class_of, compare.given(key), 1) == []


def test_short_answers_are_no_evidence():
    """Two students who both write the only short answer that there is."""
    assert (
        percent("def blocks_for(n, threads):\n    return -(-n // threads)", "def blocks_for(a, b):\n  return -(-a//b)")
        == 0
    )


def test_what_much_of_the_class_writes_is_usual():
    """One way to write it, with an end of their own each: nobody stands out."""
    ends = [
        f"\n\ndef own{n}(x):\n" + "".join(f"    x = x {'+-*/'[(n >> k) % 4]} {n}{k}\n" for k in range(9))
        for n in range(30)
    ]
    class_of = [document(f"s{n:02}", x=CUDA + ends[n]) for n in range(30)]
    assert compare.similar_pairs(class_of, set(), LEAST) == []
    assert len(compare.similar_pairs(class_of[:4], set(), LEAST)) > 0


def test_thirty_equal_submissions_are_found_all_the_same():
    """What everybody has is usual only where it was written more than once."""
    class_of = [document(f"s{n:02}", x=CUDA) for n in range(30)]
    assert len(compare.similar_pairs(class_of, set(), LEAST)) == 30 * 29 / 2


def test_one_copied_answer_is_found_in_another_cell():
    """Moved into a helper cell, between answers of their own."""
    first = document("a", one="def peak(a):\n    return sorted(a)[-1]", two=CUDA)
    second = document("b", one="def peak(a):\n    return max(a)", **{"": CUDA.replace("factor", "k")})
    (pair,) = compare.similar_pairs([first, second], set(), LEAST)
    assert ("two", 100) in [(one.exercise, one.percent) for one in pair.exercises]


@pytest.mark.parametrize(
    "evil",
    [
        '"""\\' * 30_000,
        "/*" * 90_000,
        "'\\" * 90_000,
        "(" * 180_000,
        "\x1b[2J\x00é漢" * 20_000,
        'f"{' * 60_000,
        "__global__ /*" * 14_000,
        '\'\\n"""' * 30_000,
    ],
    ids=["quotes", "comments", "escapes", "brackets", "controls", "formats", "kernels", "nested"],
)
def test_no_text_takes_long(evil):
    """Unclosed and nested ones, each as long as a submission may be."""
    started = time.process_time()
    tokens_of(evil)
    assert time.process_time() - started < 5


def test_winnowing_keeps_its_promise():
    """A passage of GRAM + WINDOW - 1 tokens that two texts share leaves a common fingerprint."""
    draw = random.Random(5)
    for _ in range(100):
        passage = [str(draw.randrange(50)) for _ in range(winnowing.GRAM + winnowing.WINDOW - 1)]
        sides = []
        for _ in range(2):
            around = [[f"o{draw.random()}" for _ in range(draw.randrange(60))] for _ in range(2)]
            hashes = winnowing.grams(around[0] + passage + around[1])
            sides.append(set(hashes[winnowing.chosen(hashes)].tolist()))
        assert sides[0] & sides[1]


def unlike(bank, number):
    """A submission in which every answer differs from everybody's: statements of its own between the bank's."""
    draw = random.Random(number)
    answers_of = {}
    for name, sources in bank.right.items():
        own = "".join(f"\nv{draw.randrange(99)} = [{draw.random()}, {draw.random()}]" for _ in range(6))
        answers_of[name] = draw.choice(sources) + own
    return bank.notebook(answers_of)


@pytest.mark.alone
def test_two_hundred_submissions_take_two_seconds(tmp_path):
    """Bar: 2 s. Processor time, and twice of it, since other work on this machine slows this too."""
    chapter = COURSE.chapter("03")
    key, bank = load_key(chapter), sample._bank(chapter)
    for number in range(200):
        path = tmp_path / f"s{number:03}" / f"{chapter.name}.ipynb"
        path.parent.mkdir()
        path.write_text(json.dumps(unlike(bank, number)), encoding="utf-8")
    started = time.process_time()
    documents, unread = compare.read_class(find_submissions(tmp_path, chapter.name), key)
    base = compare.given(key)
    compare.similar_pairs(documents, base, LEAST)
    seconds = time.process_time() - started
    assert len(documents) == 200
    assert not unread
    print(f"{seconds:.2f} s")
    assert seconds < 4


def test_the_page_shows_both_sides_and_escapes_them(tmp_path):
    key = load_key(COURSE.chapter("03"))
    name = key.exercises[0]
    evil = "<script>alert(1)</script>"
    first = document(evil, **{name: CUDA + f"# {evil}\x1b[2J\n"})
    second = document("ben", **{name: "x = 1\n" + CUDA})
    pairs = compare.similar_pairs([first, second], set(), LEAST)
    page = tmp_path / "similar.html"
    similar_page.write(pairs, set(), key, 2, [f"{evil}: unreadable"], page)
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "\x1b" not in text
    assert text.count('class="same"') > 10
    assert '<li data-n="1">x = 1</li>' in text, "a line that only one has is not marked"
    assert re.search(r'class="same">\s*y\[i\] = factor', text)


class TestCommand:
    def run(self, monkeypatch, *arguments):
        monkeypatch.chdir(ROOT)
        return CliRunner().invoke(main, ["similar", *map(str, arguments)])

    @pytest.fixture(autouse=True)
    def apart(self, tmp_path, monkeypatch):
        """Reports of this test go to a folder of its own."""
        monkeypatch.setattr(Course, "work", property(lambda course: tmp_path / "work"))

    def test_a_class_with_copies(self, tmp_path, monkeypatch):
        sample.make_class(COURSE, COURSE.chapter("02"), tmp_path / "class")
        result = self.run(monkeypatch, "02", tmp_path / "class")
        assert result.exit_code == 0, result.output
        assert "15 submissions compared" in result.output
        assert "omar-cut-off" in result.output
        assert re.search(r"anna-solved +zoë-solved +100", result.output)
        assert not re.search(r"anna-solved +bela-differently", result.output)
        page = (tmp_path / "work" / "reports" / "02_cuda_basics" / "similar.html").read_text(encoding="utf-8")
        assert "anna-solved</b> and <b>" in page

    def test_one_submission_alone(self, tmp_path, monkeypatch):
        path = tmp_path / "class" / "anna" / "02_cuda_basics.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(COURSE.chapter("02").release.read_bytes())
        result = self.run(monkeypatch, "02", tmp_path / "class")
        assert result.exit_code == 0, result.output
        assert "1 submission compared: a comparison needs two" in result.output

    def test_what_is_not_there_is_a_line(self, tmp_path, monkeypatch):
        (tmp_path / "empty").mkdir()
        for folder, says in ((tmp_path / "empty", "no submissions here"), (tmp_path / "none", "not there")):
            result = self.run(monkeypatch, "02", folder)
            assert result.exit_code == 2
            assert says in result.output
        result = self.run(monkeypatch, "02")
        assert result.exit_code == 2
        assert "grader collect" in result.output
        assert not Path(tmp_path / "work").exists()
