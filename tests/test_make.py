"""The Makefile, in a folder of its own: what it refuses, when it installs, and that a failing check counts.

An environment is never made here; CI does that by running these tests in a fresh clone.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from drawn import SHARE, TESTS, left_out

from gpulab.doctor.onnx_runtimes import FOR_CUDA

ROOT = Path(__file__).resolve().parents[1]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`make` in `folder`, as if this test were not itself run by `make test`."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", *arguments]
    return subprocess.run(command, cwd=folder, env=inherited, capture_output=True, text=True, timeout=60)


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`make` in `folder`, which gets the Makefile and what it installs from first."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    return run(folder, *arguments)


def stand_ins(folder: Path, bodies: Mapping[str, str]) -> None:
    """Makes shell scripts the programs of the environment in `folder`."""
    binaries = folder / ".venv" / "bin"
    binaries.mkdir(parents=True)
    for name, body in bodies.items():
        (binaries / name).write_text(f"#!/bin/sh\n{body}\n")
        (binaries / name).chmod(0o755)


def interpreter(folder: Path, prelude: str) -> str:
    """An interpreter that runs `prelude` before the program it is given, in a script."""
    script = folder / "some-python"
    program = f"import sys; program = sys.argv.pop(); {prelude}; exec(program)"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{program}" "$2"\n')
    script.chmod(0o755)
    return f"PYTHON={script}"


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_refuses_other_systems_and_says_what_to_use(platform: str, tmp_path: Path) -> None:
    done = make(tmp_path, "lab", interpreter(tmp_path, f"sys.platform = '{platform}'"))
    assert done.returncode != 0
    assert f"and this is {platform}. On Windows, use WSL 2; on a Mac, a Linux container" in done.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize("version", [(3, 10, 9), (3, 14, 0)])
def test_refuses_other_pythons_in_one_sentence(version: tuple[int, ...], tmp_path: Path) -> None:
    done = make(tmp_path, "lint", interpreter(tmp_path, f"sys.version_info = {version}"))
    assert done.returncode == 2
    written = ".".join(map(str, version))
    assert f"this is Python {written}, the course needs 3.11, 3.12 or 3.13" in done.stderr
    assert "make PYTHON=python3.1" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_names_the_missing_debian_package(tmp_path: Path) -> None:
    """Debian's python3 has no ensurepip until python3-venv is there; half an environment would be left behind."""
    prelude = "import importlib.util; importlib.util.find_spec = lambda name: None"
    done = make(tmp_path, "lint", interpreter(tmp_path, prelude))
    assert done.returncode == 2
    assert f"apt install python3.{sys.version_info[1]}-venv" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_says_when_the_disk_is_too_small(tmp_path: Path) -> None:
    prelude = "import shutil, types; shutil.disk_usage = lambda path: types.SimpleNamespace(free=2.5e9)"
    done = make(tmp_path, "lint", interpreter(tmp_path, prelude))
    assert done.returncode == 2
    assert "2.5 GB left on this disk" in done.stderr


def test_shows_what_installing_waits_for(tmp_path: Path) -> None:
    """Of what uv says those lines stay that explain the wait, or why it failed; nobody reads the list of packages."""
    said = "Resolved 208\nDownloading torch (514.2MiB)\n + torch==2.15.0\n - numpy==1.0\n ~ gpulab==0\nerror: no\n"
    (tmp_path / "said.txt").write_text(said)
    more = tmp_path / "more.mk"
    more.write_text("include Makefile\nfilter:\n\t@$(WITHOUT_LIST) < said.txt\n")
    done = make(tmp_path, "--file=more.mk", "filter")
    assert done.stdout == "  Resolved 208\n  Downloading torch (514.2MiB)\n  error: no\n"


def settings(folder: Path, **variables: str) -> list[str]:
    """What uv gets: index and certificates, where pip has `variables` and its file in `folder`."""
    more = folder / "more.mk"
    show = 'printf "%s\\n" "$${UV_DEFAULT_INDEX:-}" "$${SSL_CERT_FILE:-}"'
    more.write_text(f"include Makefile\nVENV := {sys.prefix}\nshow:\n\t@$(SETTINGS); {show}\n")
    unset = [f"--unset={name}" for name in ("UV_DEFAULT_INDEX", "PIP_INDEX_URL", "SSL_CERT_FILE", "PIP_CERT")]
    given = [f"{name}={value}" for name, value in variables.items()]
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    command = ["env", *unset, f"PIP_CONFIG_FILE={folder / 'pip.conf'}", *given, "make", "--file=more.mk", "show"]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(command, cwd=folder, env=inherited, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()


def test_uv_is_told_what_pip_was_told(tmp_path: Path) -> None:
    """A site that has an index of its own has set it for pip, in a file or by a variable."""
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = https://one.test/simple\ncert = /one.pem\n")
    assert settings(tmp_path) == ["https://one.test/simple", "/one.pem"]
    assert settings(tmp_path, PIP_INDEX_URL="https://two.test", PIP_CERT="/two.pem") == ["https://two.test", "/two.pem"]
    own = settings(tmp_path, UV_DEFAULT_INDEX="https://three.test", PIP_INDEX_URL="https://two.test")
    assert own == ["https://three.test", "/one.pem"]


def test_installs_again_when_the_pins_change(tmp_path: Path) -> None:
    """An environment that is newer than pyproject.toml is left alone, an older one is brought up to date."""
    (tmp_path / ".venv").mkdir()
    ready = tmp_path / ".venv" / ".ready"
    make(tmp_path, "help")
    ready.touch()
    fresh = run(tmp_path, "--dry-run", "lint").stdout
    os.utime(ready, (1_000_000_000, 1_000_000_000))
    stale = run(tmp_path, "--dry-run", "lint").stdout
    assert "ruff check" in fresh
    assert "pip install" not in fresh
    assert stale.index('".[dev]"') < stale.index("--no-deps") < stale.index("ruff check")


def test_installs_the_versions_that_passed(tmp_path: Path) -> None:
    """Unless told otherwise; what they are, `make upgrade` writes anew, below the comment that is there."""
    typed = make(tmp_path, "--dry-run", "lint").stdout
    assert '--constraint constraints.txt --editable ".[dev]"' in typed
    assert "--constraint" not in run(tmp_path, "--dry-run", "lint", "CONSTRAINTS=").stdout
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    tool = tmp_path / ".venv" / "bin" / "uv"
    tool.write_text('#!/bin/sh\nif [ "$2" = freeze ]; then echo torch==99.0; else echo "$*" > asked; fi\n')
    tool.chmod(0o755)
    tool.with_name("python").symlink_to(sys.executable)
    (tmp_path / ".venv" / ".ready").touch()
    assert run(tmp_path, "upgrade").returncode == 0
    first, *others = (tmp_path / "constraints.txt").read_text().splitlines()
    assert first.startswith("#")
    assert others[-1] == "torch==99.0"
    assert not any("==" in line for line in others[:-1])
    assert "--upgrade" in (tmp_path / "asked").read_text()


SMI = {"535.161.07, 8.0": "cu126", "575.57, 12.0": "cu128", "580.95, 7.0": "cu126", "580.95, 9.0": "", "470.2, 8.0": ""}


@pytest.mark.parametrize(("says", "backend"), SMI.items())
def test_installs_for_the_driver(tmp_path: Path, says: str, backend: str) -> None:
    """A driver of CUDA 12, or a GPU older than Turing, gets PyTorch and Numba for CUDA 12; all others what passed."""
    templates = tmp_path / "grader/authoring/templates"
    templates.mkdir(parents=True)
    shutil.copy(ROOT / "grader/authoring/templates/torch_backend.sh", templates)
    tool = tmp_path / "tools" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\necho '{says}'\n")
    tool.chmod(0o755)
    make(tmp_path, "help")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    own = {**inherited, "PATH": f"{tool.parent}:{inherited['PATH']}"}
    command = ["make", "--dry-run", "lint"]
    typed = subprocess.run(
        command, cwd=tmp_path, env=own, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert (f'"{FOR_CUDA[12 if backend else 13]}"' in typed) is (says[:3] != "470")
    if backend:
        assert f"--torch-backend {backend} --override cuda12.txt --constraint .venv/constraints.txt --editable" in typed
    else:
        assert "--constraint constraints.txt --editable" in typed
        assert "--torch-backend" not in typed


DRIVERS = {
    "525.147.05": 12, "530.41.03": 12, "535.183.01": 12, "545.29.06": 12, "550.144.03": 12, "555.58.02": 12,
    "560.35.03": 12, "565.57.01": 12, "570.133.20": 12, "575.64.03": 12, "580.95.05": 13, "590.44.01": 13,
    "470.256.02": 0, "520.61.05": 0,
}  # fmt: skip
"""Driver → major version of the CUDA whose builds run on it and are to be had; 0: none does, PyPI's is installed."""
CARDS = {
    "6.0": "P100",
    "7.0": "V100",
    "7.5": "T4",
    "8.0": "A100",
    "8.9": "L4",
    "9.0": "H100",
    "10.0": "B200",
    "12.0": "5090",
}


@pytest.mark.parametrize("driver", DRIVERS)
def test_the_build_is_chosen_by_driver_and_gpu(tmp_path: Path, driver: str) -> None:
    """CUDA 13 has no code for GPUs before Turing, and CUDA 12.6 none for Blackwell."""
    tool = tmp_path / "nvidia-smi"
    script = ROOT / "grader/authoring/templates/torch_backend.sh"
    path = f"{tmp_path}:{os.environ['PATH']}"
    for capability, card in CARDS.items():
        tool.write_text(f"#!/bin/sh\nprintf '%s\\n' '{driver}, {capability}' '{driver}, {capability}'\n")
        tool.chmod(0o755)
        command = ["sh", "-euc", f". {script}; torch_backend"]
        chosen = subprocess.run(command, env={"PATH": path}, capture_output=True, text=True, timeout=60, check=True)
        old, blackwell = float(capability) < 7.5, float(capability) >= 10
        for_12 = DRIVERS[driver] == 12 or (DRIVERS[driver] == 13 and old)
        assert chosen.stdout.strip() == (("cu128" if blackwell else "cu126") if for_12 else ""), card


@pytest.mark.parametrize("driver", DRIVERS)
def test_the_onnx_runtime_is_of_the_cuda_that_pytorch_is_of(tmp_path: Path, driver: str) -> None:
    """On every GPU that some build serves; a driver that none runs on gets the ONNX Runtime for CPUs."""
    tool = tmp_path / "nvidia-smi"
    script = ROOT / "grader/authoring/templates/torch_backend.sh"
    for capability, card in CARDS.items():
        tool.write_text(f"#!/bin/sh\nprintf '%s\\n' '{driver}, {capability}' '{driver}, {capability}'\n")
        tool.chmod(0o755)
        both = 'echo "$(torch_backend)|$(gpu_onnxruntime "$(torch_backend)")"'
        path = f"{tmp_path}:{os.environ['PATH']}"
        command = ["sh", "-euc", f". {script}; {both}"]
        chosen = subprocess.run(command, env={"PATH": path}, capture_output=True, text=True, timeout=60, check=True)
        backend, _, runtime = chosen.stdout.strip().partition("|")
        expected = FOR_CUDA[12 if backend else 13] if DRIVERS[driver] else ""
        assert runtime == expected, card


def test_without_a_driver_nothing_else_is_installed(tmp_path: Path) -> None:
    """Neither where `nvidia-smi` is missing nor where it fails."""
    script = ROOT / "grader/authoring/templates/torch_backend.sh"
    command = ["/bin/sh", "-euc", f'. {script}; torch_backend; gpu_onnxruntime ""']
    assert subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=True).stdout == ""
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho 'NVIDIA-SMI has failed'\nexit 9\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    assert subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=True).stdout == ""


UV = """\
#!{python}
import sys
from collections.abc import Mapping
from pathlib import Path
kept, asked = Path("packages"), sys.argv[2:]
there = set(kept.read_text().split())
named = {{word.split("[")[0] for word in asked if word.startswith("onnxruntime")}}
if asked[0] == "show":
    sys.exit(not named <= there)
elif asked[0] == "freeze":
    print(*(f"{{name}}==9" for name in sorted(there)), sep="\\n")
elif asked[0] == "uninstall":
    if "files" in there and named & there:
        there -= {{"files"}}  # of two side by side, they were the other's too
    there -= named
elif asked[0] == "install":
    new = named | ({{"onnxruntime"}} if ".[dev]" in asked else set())
    if new - there:
        there |= new | {{"files"}}
kept.write_text(" ".join(there))
"""
"""A uv that knows two packages, and whether the files that both of them write are there."""
ON_GPU, ON_CPU = {"onnxruntime-gpu", "files"}, {"onnxruntime", "files"}


@pytest.mark.parametrize("runtime", ["", FOR_CUDA[12], FOR_CUDA[13]])
@pytest.mark.parametrize("target", ["lint", "upgrade"])
@pytest.mark.parametrize("before", [set(), ON_CPU, ON_GPU, ON_CPU | ON_GPU], ids=["new", "CPU", "GPU", "both"])
def test_one_onnx_runtime_is_installed_and_whole(before: set[str], target: str, runtime: str, tmp_path: Path) -> None:
    """Whatever was there; and what `make upgrade` writes is for machines without a GPU too."""
    binaries = tmp_path / ".venv" / "bin"
    binaries.mkdir(parents=True)
    for name, text in {"uv": UV.format(python=sys.executable), "pip": "", "python": "", "ruff": ""}.items():
        (binaries / name).write_text(text or "#!/bin/sh\n")
        (binaries / name).chmod(0o755)
    (tmp_path / "packages").write_text(" ".join(before))
    done = make(tmp_path, target, "PYTHON=true", "BACKEND=", f"RUNTIME={runtime}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert set((tmp_path / "packages").read_text().split()) == (ON_GPU if runtime else ON_CPU)
    if target == "upgrade":
        pins = (tmp_path / "constraints.txt").read_text().splitlines()
        assert "onnxruntime==9" in pins
        assert not any("onnxruntime-gpu" in line for line in pins)


def test_of_the_versions_that_passed_those_of_cuda_are_left_out(tmp_path: Path) -> None:
    """They are of CUDA 13, and would keep anything for CUDA 12 from being installed."""
    (pattern,) = re.findall(r"^OF_CUDA := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    kept = [line for line in lines if not re.search(pattern, line)]
    assert {"torch", "nvidia-cublas", "cuda-bindings"} <= {line.split("==")[0] for line in set(lines) - set(kept)}
    assert any(line.startswith("numpy==") for line in kept)
    assert not any("cuda" in line or "cu13" in line for line in kept if not line.startswith("#"))


def test_test_runs_every_check_in_order(tmp_path: Path) -> None:
    done = make(tmp_path, "--dry-run", "test")
    commands = [
        "ruff check .",
        "ruff format --check .",
        "mypy",
        "grader build --check",
        "grader release --check",
        'pytest tests -m "not alone"',
        "pytest $(grep --recursive --files-with-matches --include='test_*.py' 'mark\\.alone' tests) -m alone",
        "pytest --nbval-lax solutions",
        "grader verify --sample 3",
        "grader sample",
        "grader autograde",
    ]
    typed = [line.split(" | tee ")[0].split(" && ")[-1] for line in done.stdout.splitlines()]
    lines = [line for line in typed if line.startswith(("ruff", "mypy", "pytest", "grader"))]
    assert len(lines) == len(commands)
    assert all(line.startswith(command) for line, command in zip(lines, commands, strict=True))


def test_verify_by_itself_grades_every_answer(tmp_path: Path) -> None:
    assert "grader verify --sample 100\n" in make(tmp_path, "--dry-run", "verify").stdout


@pytest.mark.parametrize(
    ("failing", "said", "unsaid"),
    [
        ("mypy", "ran ruff", "ran pytest tests"),  # which of the steps beside it have begun by then is left to chance
        ("pytest", "ran pytest tests", "ran grader verify"),
        ("grader", "ran ruff", "ran pytest tests"),
    ],
)
def test_a_failing_check_fails_the_whole(failing: str, said: str, unsaid: str, tmp_path: Path) -> None:
    """A test run that is shown through a pipe still counts, and nothing runs after it."""
    names = ("ruff", "mypy", "grader", "pytest")
    stand_ins(tmp_path, {name: f"echo ran {name} $*\n{'exit 1' if name == failing else ''}" for name in names})
    make(tmp_path, "help")
    (tmp_path / ".venv" / ".ready").touch()
    done = run(tmp_path, "test")
    assert done.returncode == 2
    assert said in done.stdout
    assert unsaid not in done.stdout


@pytest.mark.parametrize(
    ("failed", "other", "again", "passes"),
    [(1, "", 0, True), (5, "", 0, True), (6, "", 0, False), (1, "", 1, False), (1, "ERROR tests/test_b.py", 0, False)],
)
def test_a_few_failed_tests_have_a_second_try(
    failed: int, other: str, again: int, passes: bool, tmp_path: Path
) -> None:
    """By themselves, and their names are listed; many failures, errors on collecting, and second failures count."""
    lines = "\n".join(f"FAILED tests/test_a.py::test_{number} - busy" for number in range(failed))
    crowd = f'echo "{lines}"; echo "{other}"; exit 1'
    fake = f'case "$*" in *--last-failed*) exit {again};; *numprocesses*loadfile*no-load*) {crowd};; esac'
    stand_ins(tmp_path, {"ruff": "", "mypy": "", "grader": "", "pytest": fake})
    make(tmp_path, "help")
    (tmp_path / ".venv" / ".ready").touch()
    done = run(tmp_path, "tests")
    assert (done.returncode == 0) is passes, done.stdout + done.stderr
    kept = (tmp_path / "work/test/tests-again.txt").read_text().splitlines()
    assert len(kept) == failed


def test_every_long_test_file_is_drawn_by_some_seed() -> None:
    assert left_out("") == frozenset()
    long = {path for path in TESTS.rglob("test_*.py") if re.search(r"\bmark\.long\b[,\n]", path.read_text())}
    drawn = [long - left_out(str(seed)) for seed in range(60)]
    assert {len(some) for some in drawn} == {math.ceil(SHARE * len(long))}
    assert set().union(*drawn) == long


def test_ci_runs_what_the_readme_says() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "exec make test" in script.read_text()
    assert "make test" in (ROOT / "README.md").read_text()
