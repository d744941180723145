"""Numbers about a class: what it found hard, which mistakes it made, what is slow or pending."""

from __future__ import annotations

from dataclasses import replace

import pytest
from class_results import NEEDS_GPU, fault
from recorded_class import TESTS, judged, result_of

from gpulab import check
from gpulab.check.outcomes import Mismatch, collecting
from gpulab.measuring.speedup import Noisy
from grader.model.results import CellResult, Verdict
from grader.report import class_statistics as report_numbers
from grader.report.class_statistics import common_faults, faults_in


def test_pass_rate_and_share_leave_pending_out(results):
    """What is not decided counts neither way."""
    numbers = {one.grade_id: one for one in report_numbers.cell_numbers(results)}
    assert numbers["bandwidth_test"].pass_rate == 6 / 7
    assert numbers["bandwidth_gpu"].pass_rate == 1.0
    assert numbers["KINDS_test"].mean_share == pytest.approx((6 + 0.875) / 8)
    assert numbers["double_test"].verdicts[Verdict.FAILED] == 2
    nobody = report_numbers.cell_numbers([result_of("ada", NEEDS_GPU)])
    assert nobody[-1].pass_rate is None and nobody[-1].mean_share is None


def test_discrimination_is_the_correlation_with_the_rest():
    """Worked by hand: all or nothing on one test, against the share of the other 8 points."""
    weak = (fault("no"), judged("KINDS_test", Verdict.FAILED), judged("bandwidth_test", Verdict.FAILED))
    cells = [(), (), (), weak, weak, (judged("bandwidth_test", Verdict.FAILED),)]
    numbers = report_numbers.cell_numbers([result_of(f"s{place}", *one) for place, one in enumerate(cells)])
    # double: 1 1 1 0 0 1; the rest: 1 1 1 3/8 3/8 5/8; both from their means: r = 0.25 · … = 0.8932…
    x, y = [1, 1, 1, 0, 0, 1], [1, 1, 1, 3 / 8, 3 / 8, 5 / 8]
    mean_x, mean_y = sum(x) / 6, sum(y) / 6
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    spread = (sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y)) ** 0.5
    assert numbers[0].discrimination == pytest.approx(covariance / spread)
    assert numbers[3].discrimination is None  # everybody has the same there
    assert report_numbers.cell_numbers([result_of("a"), result_of("b", *weak)])[0].discrimination is None


def test_faults_are_the_mistakes_that_checks_name(capsys):
    """The known mistake, else where the value differs, without the numbers of the case."""
    mistakes = {12.5: "Bits for bytes. A byte has 8 bits."}
    with pytest.raises(check.WrongAnswer) as caught:
        check.close(12.5, 1.5625, "row 'T4', e.g. 3.2", mistakes=mistakes)
    assert faults_in(fault(str(caught.value), *caught.value.mismatches)) == ["Bits for bytes. A byte has 8 bits."]
    with collecting() as found:
        right = {"a": 1, "b": 1, "c": 2, "d": 3}
        check.share({"a": "x", "b": 1, "c": 7}, right, 4, "KINDS", {"a": {"x": "Text won't do."}})
    assert faults_in(fault("KINDS: 1 of 4 right.", *found)) == [
        "Text won't do.",
        "'c': another value",
        "'d': no answer.",
    ]


@pytest.mark.parametrize(
    ("message", "faults"),
    [
        ("", []),
        ("f(1): you returned 2, expected 3. Why.", ["f(1): you returned 2, expected 3. Why."]),
        ("two\nlines", ["two lines"]),
    ],
)
def test_a_message_without_fields_is_a_fault_as_a_whole(message, faults):
    """Of a test's own assertion, or in a result of an earlier version; nothing is guessed from its words."""
    assert faults_in(fault(message)) == faults


def test_common_faults_count_students(results):
    """The same mistake on other numbers is one fault; each student counts once; most frequent first."""
    faults = common_faults(results)
    assert (faults[0].exercise, faults[0].text, faults[0].students) == ("double", "You added 2.", ("cleo", "dan"))
    assert {one.text for one in faults[1:]} == {"No.", "The call gave no answer within 10 s.", "The process ended."}
    half = Mismatch("a", "1", "2", "Half.")
    twice = [fault("Half.", half, half), fault("Half.", half, grade_id="bandwidth_gpu")]
    assert [len(one.students) for one in common_faults([result_of("x", *twice)])] == [1, 1]


def test_slowest_and_waiting(results):
    """Who waits for what, and which test took longest for whom."""
    slow = CellResult("double_test", Verdict.FAILED, 0.0, 2.0, seconds=9.5)
    (first, *_) = report_numbers.slowest([*results, result_of("zoe", slow)])
    assert (first.grade_id, first.longest_seconds, first.student, first.median_seconds) == (
        "double_test",
        9.5,
        "zoe",
        0.5,
    )
    gpu, ours = report_numbers.waiting(results)
    assert (gpu.reason, gpu.points, gpu.students) == ("needs a GPU", 12.0, ("ada", "ben", "cleo", "hal"))
    assert (ours.reason, ours.points, ours.grade_ids) == ("harness error", 3.0, ("bandwidth_test",))


def test_noise_is_told_from_our_faults(results):
    """Times that differ too much to be worth points wait for a quiet machine, not for us."""
    noisy = judged("double_test", Verdict.HARNESS_ERROR, message="Too noisy to tell, grade again: 1.2× ± 0.9.")
    noisy = replace(noisy, cause=Noisy.cause)
    rows = {row.reason: row for row in report_numbers.waiting([*results, result_of("zoe", noisy)])}
    assert rows["too noisy to tell"].students == ("zoe",)
    assert rows["too noisy to tell"].remedy == "grade again on a quiet machine"
    assert rows["harness error"].grade_ids == ("bandwidth_test",)


def test_tests_whose_times_differ_are_listed_beside_the_slow_ones():
    """One that is slow for nobody, but takes one student thrice as long as the next."""

    def timed(name, seconds):
        return CellResult(name, Verdict.PASSED, TESTS[name][0], TESTS[name][0], seconds=seconds)

    def student(name, share):
        steady = [timed(test, 9.0) for test in list(TESTS)[1:]]
        return result_of(name, timed("double_test", share), *steady)

    rows = report_numbers.slow_and_noisy([student(str(n), 0.1 * (1 + n)) for n in range(6)], slow=1)
    assert [row.grade_id for row in rows] == ["KINDS_test", "double_test"]
    assert rows[1].noise > 0.25
    assert rows[0].spread_seconds == 0.0
    few = report_numbers.slow_and_noisy([student(str(n), 0.1 * (1 + n)) for n in range(3)], slow=1)
    assert [row.grade_id for row in few] == ["KINDS_test"]  # three tell nothing about spread
