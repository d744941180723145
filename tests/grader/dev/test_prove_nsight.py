"""Recorded reports of Nsight: both tools made up as programs on PATH that print what the real ones print."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from gpulab.doctor import hardware
from gpulab.doctor.hardware import Gpu
from grader.dev.prove import nsight, proof_bundle, report, steps
from grader.dev.prove import nsight_tables as tables
from grader.dev.prove.run import StepResult
from grader.model.course import Course, CourseError

ON = {"device": "NVIDIA H200", "driver": "580.95", "day": "2026-01-02", "torch": "2.11"}
SYMBOL = "grader::prove::kernels::{}[abi:v1,cw51cXTLSUwv1s](Array<float, 2, C, mutable, aligned>, Array<float, 2, C, mutable, aligned>)"  # noqa: E501 - a name as numba makes it

KERNELS = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n" + "".join(
    f'{30 - at},{9000 - 1000 * at},1,{9000 - 1000 * at}.0,{9000 - 1000 * at}.0,4000,9000,0.0,"{SYMBOL.format(name)}"\n'
    for at, name in enumerate(tables.kernel_names())
)
COPIES = """Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Operation
100.0,1048576,2,524288.0,524288.0,500000,548576,34347.0,[CUDA memcpy Host-to-Device]
"""
CALLS = """Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
88.1,9123456,6,1520576.0,1500000.5,900000,2100000,400000.0,cuLinkCreate_v2
11.9,1234567,2,617283.5,617283.5,600000,634567,24440.0,"cuMemcpyHtoD_v2"
"""
STATS = """
Generating SQLite file /tmp/x/kernels.sqlite from /tmp/x/kernels.nsys-rep
Processing [/tmp/x/kernels.sqlite] with [/opt/nvidia/nsight-systems/2025.3.2/host-linux-x64/reports/{}.py]...
{}
"""
NSYS = """#!/bin/sh
case "$1" in
--version) echo "NVIDIA Nsight Systems version 2025.3.2.474-253236389321v0" ;;
profile)
  for word; do case "$word" in --output=*) touch "${word#--output=}.nsys-rep" ;; esac; done
  echo "Generated: a report" ;;
stats) [ -e "$7" ] && cat "$(dirname "$0")/$3.txt" ;;
esac
"""
VALUES = {
    "gpu__time_duration.sum": "6,112.000000",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "21.5",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "82.25",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "91.0",
    "launch__registers_per_thread": "18",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "32,768",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "131,072",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": "32,768",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "1,048,576",
    "smsp__inst_executed_op_shared_ld.sum": "0",
}
UNITS = {"gpu__time_duration.sum": "ns", "launch__registers_per_thread": "register/thread"}
FIXED = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size")
NCU = """#!/bin/sh
[ "$1" = --version ] && printf 'NVIDIA (R) Nsight Compute Command Line Profiler\\nCopyright (c) 2018-2025\\nVersion 2025.3.1.0 (build 36398880) (public-release)\\n' && exit 0
cat "$(dirname "$0")/raw.txt"
"""  # noqa: E501 - as it is printed
REFUSED = (
    "==PROF== Connected to process 4711 (/usr/bin/python3.11)\n==ERROR== ERR_NVGPUCTRPERM - The user does not have "
    "permission to access NVIDIA GPU Performance Counters on the target device 0. For instructions on enabling "
    "permissions and to get more information see https://developer.nvidia.com/ERR_NVGPUCTRPERM\n"
)


def raw() -> str:
    """What `ncu --csv --page raw` prints of the six kernels."""
    names = [*FIXED, *VALUES]
    lines = [names, ["" for _ in FIXED] + [UNITS.get(name, "") for name in VALUES]]
    for at, kernel in enumerate(tables.kernel_names()):
        fixed = [str(at), "4711", "python3.11", "a-host", SYMBOL.format(kernel), "1", "7", "(32, 32, 1)", "(32, 32, 1)"]
        lines.append([*fixed, *VALUES.values()])
    rows = "\n".join(",".join(f'"{cell}"' for cell in line) for line in lines)
    return f'==PROF== Connected to process 4711 (/usr/bin/python3.11)\n==PROF== Profiling "a" - 0: 0%....100%\n{rows}\n'


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with both tools, the first on PATH; what they print lies beside them."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, source in (("nsys", NSYS), ("ncu", NCU)):
        program(folder / name, source)
    for what, text in (("kernel", KERNELS), ("copy", COPIES), ("call", CALLS)):
        name = tables.REPORTS[what][0]
        (folder / f"{name}.txt").write_text(STATS.format(name, text))
    (folder / "raw.txt").write_text(raw())
    monkeypatch.setattr(nsight, "PLACES", {"nsys": (), "ncu": ()})
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def program(path: Path, source: str) -> None:
    path.unlink(missing_ok=True)
    path.write_text(source)
    path.chmod(0o755)


def test_both_reports_are_short_tables_with_their_origin(tools: Path, tmp_path: Path) -> None:
    folder = tmp_path / "h200"
    assert nsight.profile_kernels(folder, ON) == [
        nsight.NsightReport("nsys", "nsys_summary.csv"),
        nsight.NsightReport("ncu", "ncu_kernels.csv"),
    ]
    seen, counted = (folder / nsight.FILES[tool] for tool in ("nsys", "ncu"))
    assert max(path.stat().st_size for path in (seen, counted)) < 3000
    assert "a-host" not in counted.read_text()  # nothing of the machine but its GPU
    head = [line for line in seen.read_text().splitlines() if line.startswith("#")]
    assert head[1:4] == [
        "# device: NVIDIA H200",
        "# driver: 580.95",
        "# tool: NVIDIA Nsight Systems version 2025.3.2.474-253236389321v0",
    ]
    assert "--trace=cuda" in head[4] and "grader.dev.prove.kernels" in head[4] and head[5] == "# day: 2026-01-02"
    rows = table(seen)
    assert rows[0] == {"what": "kernel", "name": "prove_copy", "calls": "1", "total_us": "9", "median_us": "9"}
    assert [row["name"] for row in rows if row["what"] == "kernel"] == tables.kernel_names()
    assert rows[6]["name"] == "[CUDA memcpy Host-to-Device]"
    assert rows[7] == {
        "what": "call",
        "name": "cuLinkCreate_v2",
        "calls": "6",
        "total_us": "9123.46",
        "median_us": "1500",
    }
    first = table(counted)[0]
    assert first["kernel"] == "prove_copy"
    assert [float(first[name]) for name in ("duration_us", "memory_percent", "registers_per_thread")] == [
        6.112,
        82.25,
        18,
    ]
    assert [first["sectors_per_load"], first["sectors_per_store"], first["turns_per_shared_load"]] == ["4", "32", "0"]


@pytest.mark.parametrize("ends_with", [0, 1])
def test_counters_that_are_refused_are_told_with_the_remedy(tools: Path, tmp_path: Path, ends_with: int) -> None:
    """Nsight Compute may end with 0 all the same. The other tool's report is written."""
    (tools / "raw.txt").write_text(REFUSED)
    program(tools / "ncu", NCU + f"exit {ends_with}\n")
    seen, counted = nsight.profile_kernels(tmp_path / "h200", ON)
    assert seen.file and not counted.file
    assert "ERR_NVGPUCTRPERM" in counted.why_not
    assert "NVreg_RestrictProfilingToAdminUsers=0" in counted.why_not
    assert not (tmp_path / "h200" / "ncu_kernels.csv").exists()


def test_a_tool_that_is_missing_is_named_and_an_earlier_report_stays(tools: Path, tmp_path: Path) -> None:
    nsight.profile_kernels(tmp_path, ON)
    before = (tmp_path / "nsys_summary.csv").read_bytes()
    (tools / "nsys").unlink()
    seen, counted = nsight.profile_kernels(tmp_path, ON)
    assert (
        seen.why_not
        == "nsys: Nsight Systems is not installed. It comes with the CUDA toolkit, or by itself from NVIDIA."
    )
    assert counted.file
    assert (tmp_path / "nsys_summary.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("#!/bin/sh\necho 'RuntimeError: CUDA error: out of luck' >&2\nexit 3\n", "ended with 3: RuntimeError: CUDA"),
        ("#!/bin/sh\nexit 7\n", "ended with 7: without a word"),
        ("#!/bin/sh\nexit 0\n", "wrote no report"),
        ("no program\n", "cannot be started"),
        (NSYS.replace("cat ", ": "), "saw nothing of prove_copy, prove_stride2"),
    ],
)
def test_a_tool_that_fails_says_how(tools: Path, tmp_path: Path, source: str, words: str) -> None:
    program(tools / "nsys", source)
    assert words in nsight.profile_kernels(tmp_path / "h200", ON)[0].why_not


def test_a_tool_that_never_ends_is_stopped(tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tools / "nsys", "#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr(nsight, "SECONDS", 0.2)
    assert "not done after 0.2 s" in nsight.profile_kernels(tmp_path / "h200", ON)[0].why_not


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"ID"', '"Id"', "printed no table"),
        ('"ns"', '"us"', "gives no duration in nanoseconds"),
        ('"6,112.000000"', '"n/a"', "gives 'n/a' where a number"),
        ("prove_tree_sum", "another", "saw nothing of prove_tree_sum"),
    ],
)
def test_a_table_that_is_another_one_is_not_taken(tools: Path, tmp_path: Path, old: str, new: str, words: str) -> None:
    (tools / "raw.txt").write_text(raw().replace(old, new))
    assert words in nsight.profile_kernels(tmp_path / "h200", ON)[1].why_not


def test_other_columns_are_an_error_of_ours() -> None:
    with pytest.raises(CourseError, match="other columns than it had"):
        tables.summary("kernel", KERNELS.replace("Med (ns)", "Median"))


def test_the_step_reports_what_is_missing_and_the_bundle_carries_what_there_is(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hardware, "gpus", lambda: (Gpu("NVIDIA H200", 143_000.0, 1980, 1980, "580.95"),))
    (tools / "raw.txt").write_text(REFUSED)
    course = Course(tmp_path / "course")
    outcome = steps.inspect(course, [], lambda text: None)
    assert len(outcome.findings) == 1 and "ERR_NVGPUCTRPERM" in outcome.findings[0]
    page = report.text([StepResult("nsight", outcome.findings, outcome.data)], ON)
    assert "- nsys: nsys_summary.csv" in page and "- ncu: no report: ncu: may not read" in page
    packed = tmp_path / "proof.tar.xz"
    assert proof_bundle.pack(course, packed) == ["data/machines/h200/nsys_summary.csv"]
    (tmp_path / "elsewhere").mkdir()
    assert proof_bundle.apply(Course(tmp_path / "elsewhere"), packed) == ["data/machines/h200/nsys_summary.csv"]


def table(path: Path) -> list[dict[str, str]]:
    """The rows of a report."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))
