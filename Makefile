# Everything a fresh clone needs: make grade, make lab, make test, make bench, make gpu. Each is a line or two over the CLI;
# what they have in common is that they first make .venv, when it is missing or pyproject.toml has changed.
#
#   PYTHON=python3.12   another interpreter for .venv (3.11 to 3.13)
#   CHAPTER=01          another chapter for `make grade`
#   ARGS="--no-browser" passed on to the command
#   BACKEND=cu126       PyTorch for this CUDA instead of the one that the driver needs; BACKEND= for the one on PyPI
#   RUNTIME=            ONNX Runtime for CPUs also where there is a GPU
#   CONSTRAINTS=        the newest versions that pyproject.toml allows, instead of those that last passed all tests

PYTHON ?= python3
CHAPTER ?= 01_gpu_architecture
ARGS ?=
CONSTRAINTS ?= constraints.txt

# Empty without a GPU and where the driver is of CUDA 13.
BACKEND ?= $(shell . ./grader/authoring/templates/torch_backend.sh 2>/dev/null && torch_backend)

# Empty without a GPU. It is installed in place of onnxruntime, which pyproject.toml asks for.
RUNTIME ?= $(shell . ./grader/authoring/templates/torch_backend.sh 2>/dev/null && gpu_onnxruntime "$(BACKEND)")

VENV := .venv
READY := $(VENV)/.ready
BIN := $(CURDIR)/$(VENV)/bin

# Declares pytorch-lightning<2 but works with 2.6 (gpulab.bolts), so it is installed after the rest and without its pins.
BOLTS := lightning-bolts==0.7.0

# Installs ten times as fast as pip. It uses the index and the certificates from pip's settings (SETTINGS).
UV := uv>=0.9,<1

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help grade lab bench bars gpu site images test upgrade clean
.PHONY: lint types tests alone build-check release-check verify thorough notebooks sample-class

# Not only for our own commands: nbgrader looks for alembic on PATH.
export PATH := $(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Set by another active environment: IPython warns about it, and a warning fails a test.
unexport VIRTUAL_ENV

help:
	@echo "make grade   grade a bundled class of chapter $(CHAPTER), show the table and write the report"
	@echo "make lab     open JupyterLab on the chapters in notebooks/"
	@echo "make test    everything that CI checks"
	@echo "make bench   seconds and memory per submission, compared with nbgrader autograde (long: ARGS=\"--stock 8\")"
	@echo "make bars    speed, memory, and counts of the engine that runs PTX on the CPU, each with its bound"
	@echo "make gpu     the whole course on this machine's GPU, and the evidence in data/machines/"
	@echo "make site    the course as a static web site, without answers, in work/site/html"
	@echo "make images  the pictures in docs/images, drawn anew with a real browser"
	@echo "make upgrade the newest versions of all packages, and a new constraints.txt; run make test afterwards"
	@echo "make clean   remove .venv and the tools' caches, but never work/, which holds grades"

# ---------------------------------------------------------------------------------------------------- commands

grade: $(READY)
	@grader sample $(CHAPTER)
	@grader autograde $(CHAPTER) $(ARGS)

# Submitting copies into an exchange folder; a chapter is put there once, so that Nbgrader > Assignment List offers it.
lab: export JUPYTER_CONFIG_PATH := $(CURDIR)/jupyter
lab: $(READY)
	@for folder in notebooks/*/; do \
	  chapter=$$(basename "$$folder"); \
	  if [ -z "$${GPULAB_EXCHANGE:-}" ] && [ ! -d "work/exchange/gpulab/outbound/$$chapter" ]; then \
	    nbgrader release_assignment "$$chapter" --log-level=ERROR; \
	  fi; \
	done
	@jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) $(ARGS)

bench: $(READY)
	@grader bench $(CHAPTER) $(ARGS)
	@grader bench $(CHAPTER) --whole 200

# From that folder: inside tests/, the folder of gpulab's tests would hide the package.
bars: $(READY)
	@cd tests/gpulab && PYTHONPATH=$(CURDIR) python -m trace_ptx.bars

gpu: $(READY)
	@grader prove $(ARGS)

site: $(READY)
	@grader site $(ARGS)

images: $(READY)
	@python docs/images.py

# Resolves everything again; if the tests do not pass, git has the earlier versions of this file. The list is written
# while the ONNX Runtime for CPUs is installed, which other machines need.
upgrade: $(READY)
	@$(WITHOUT_RUNTIME)
	@$(SETTINGS); uv pip install --python $(BIN)/python --upgrade --editable ".[dev]" 2>&1 | $(WITHOUT_LIST)
	@{ sed -n '/^#/p' constraints.txt; uv pip freeze --python $(BIN)/python --exclude-editable; } > constraints.new
	@mv constraints.new constraints.txt
	$(if $(RUNTIME),@$(WITH_RUNTIME))
	@touch $(READY)

clean:
	@rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache

# ------------------------------------------------------------------------------------------------------- tests

# From the cheapest step to the most expensive one, so that failures show early. Steps that keep one core busy run in parallel.
test: $(READY)
	+@$(STEPS) lint
	+@$(STEPS) --jobs=2 --output-sync=target types build-check release-check
	+@$(STEPS) tests
	+@$(STEPS) notebooks
	+@$(STEPS) --jobs=2 --output-sync=target verify sample-class SAMPLE=3
	@printf '\nAll of make test passed:\n'
	@for part in tests alone notebooks; do printf '%-10s %s\n' $$part "$$(tail -n 1 work/test/$$part.log)"; done
	@cat work/test/*-again.txt 2>/dev/null | sed 's/^FAILED/only in a second try, by itself, passed/' || true

STEPS = $(MAKE) --no-print-directory

step = @printf '\n==> %s\n' '$(1)'

lint: $(READY)
	$(call step,1/8 ruff: style)
	@ruff check .
	@ruff format --check .

types: $(READY)
	$(call step,2/8 mypy: types)
	@mypy

# Up to five tests that fail while others run are tried once more by themselves, since a machine may be too busy for them. They
# stand in the closing lines of `make test`; what fails twice fails. $(1) names the logs, $(2) are pytest's arguments.
define tried
	@mkdir -p work/test && rm -f work/test/$(1)-again.txt
	@pytest $(2) $(3) --timeout 400 $(ARGS) | tee work/test/$(1).log || { \
	  [ $$? = 1 ] && grep '^FAILED ' work/test/$(1).log > work/test/$(1)-again.txt && \
	  [ $$(wc -l < work/test/$(1)-again.txt) -le 5 ] && ! grep -q '^ERROR ' work/test/$(1).log && \
	  printf '\n==> once more, by themselves\n' && pytest $(2) --last-failed --last-failed-no-failures none --timeout 400 $(ARGS); }
endef

# Drawn by this number: a seventh of the test files marked `long`, a sixth of the answers that meet readings of a GPU.
# `make tests DRAWN_BY=` runs all.
DRAWN_BY ?= $(shell date +%s)
tests: export DRAWN_BY := $(DRAWN_BY)
# Seeds for what tests draw by themselves: a second try uses the same ones.
tests: export ANSWERS_SEED ?= $(DRAWN_BY)
tests: export SEARCH_SEED ?= $(DRAWN_BY)
tests: $(READY)
	$(call step,5/8 pytest: the two packages)
	$(call tried,tests,tests -m "not alone",--numprocesses 4 --dist loadfile --no-loadscope-reorder)
	+@$(STEPS) alone

# What is graded here needs no more of what a course does.
alone: export GPULAB_PRELOAD := numpy torch gpulab.measuring gpulab.check
alone: $(READY)
	$(call tried,alone,$$(grep --recursive --files-with-matches --include='test_*.py' 'mark\.alone' tests) -m alone)

build-check: $(READY)
	$(call step,3/8 grader build --check: built notebooks agree with their sources)
	@grader build --check

release-check: $(READY)
	$(call step,4/8 grader release --check: what students get is what we would release and holds no answer)
	@grader release --check

# `make verify` grades every answer; `make test` draws a share of the right ones and of the others each time.
SAMPLE := 100
verify: $(READY)
	$(call step,6/8 grader verify: right answers pass and wrong and hostile ones do not)
	@grader verify --sample $(SAMPLE)

# Everything that `make test` only draws a sample of.
thorough: verify
	@SEARCH_ALL=1 ALL_ANSWERS=1 pytest --timeout 1200 -m "not alone" \
		$$(grep --recursive --files-with-matches --include='test_*.py' 'pytest\.mark\.long,\?$$\|environ.*ALL_ANSWERS\|^from \(confronted\|drawn\)' tests)

notebooks: $(READY)
	$(call step,7/8 nbval: every chapter runs and says what it said)
	@mkdir -p work/test
	@pytest --nbval-lax solutions -p no:cacheprovider --numprocesses 3 --dist loadfile | tee work/test/notebooks.log

# In a copy of the course: existing grades must neither be changed nor make this step skip work.
TRIAL := work/test/course
sample-class: $(READY)
	$(call step,8/8 the sample class is graded from end to end)
	@rm -rf $(TRIAL) && mkdir -p $(TRIAL)
	@cp -r answers data nbgrader_config.py notebooks solutions $(TRIAL)
	@cd $(TRIAL) && grader sample $(CHAPTER)
	@cd $(TRIAL) && grader autograde $(CHAPTER)
	@cd $(TRIAL)/work && ls gradebook.db reports/$(CHAPTER)/grades.csv reports/$(CHAPTER)/report.html >/dev/null

# ------------------------------------------------------------------------------------------------ installation

define CHECK_PYTHON
import importlib.util, pathlib, shutil, sys
def stop(what, remedy):
    sys.exit(f"{sys.executable}: {what}. {remedy}")
if sys.platform != "linux":
    stop(f"the course's compilers for kernels (numba-cuda, nvidia-nvvm) are installed on Linux, and this is {sys.platform}",
         "On Windows, use WSL 2; on a Mac, a Linux container: see Requirements in README.md")
version = ".".join(map(str, sys.version_info[:3]))
if not (3, 11) <= sys.version_info[:2] <= (3, 13):
    found = [name for name in ("python3.13", "python3.12", "python3.11") if shutil.which(name)]
    name = found[0] if found else "python3.12"
    stop(f"this is Python {version}, the course needs 3.11, 3.12 or 3.13",
         f"{'Use' if found else 'Install one and use'} it: make PYTHON={name} ...")
if not importlib.util.find_spec("ensurepip"):
    stop("it cannot make virtual environments", f"On Debian: apt install python3.{sys.version_info[1]}-venv")
free_gb = shutil.disk_usage(".").free / 1e9
if free_gb < 9 and not pathlib.Path("$(VENV)").exists():
    stop(f"{free_gb:.1f} GB left on this disk, PyTorch with its CUDA libraries needs 9 to install", "Make room first.")
endef
export CHECK_PYTHON

# uv also uses an index or certificates that are set for pip, in its files or by its variables.
define SETTINGS
pip_says() { $(VENV)/bin/python -m pip config list 2>/dev/null | sed -nE "s/^(:env:|global|install)\\.$$1='(.*)'$$/\2/p" | sed q; }; \
index=$${UV_DEFAULT_INDEX:-$$(pip_says index-url)}; \
certificates=$${SSL_CERT_FILE:-$$(pip_says cert)}; \
if [ -n "$$index" ]; then export UV_DEFAULT_INDEX="$$index"; fi; \
if [ -n "$$certificates" ]; then export SSL_CERT_FILE="$$certificates"; fi
endef

# uv's output without its list of 180 packages.
WITHOUT_LIST := awk '!/^ [-+~] / { print "  " $$0; fflush() }'

# Two ONNX Runtimes write the same files, so both go before another one comes: removing one of two breaks the other.
NO_RUNTIME = uv pip uninstall --python $(BIN)/python --quiet onnxruntime onnxruntime-gpu 2>/dev/null
WITHOUT_RUNTIME = if uv pip show --python $(BIN)/python --quiet onnxruntime-gpu 2>/dev/null; then $(NO_RUNTIME); fi
WITH_RUNTIME = $(NO_RUNTIME); $(SETTINGS); uv pip install --python $(BIN)/python --quiet "$(RUNTIME)"

# Compiled here, on all cores, because nothing writes these files later where PYTHONDONTWRITEBYTECODE is set. Our own packages
# too: each of the many processes that the tests start would compile them again.
SELDOM := /tests?/|/site-packages/(pip|mypyc?)/

# An older driver: PyTorch and Numba for CUDA 12, and of the versions that passed the tests all but those of CUDA's own.
CHOSEN = $(strip $(BACKEND))
CUDA12 = --torch-backend $(CHOSEN) --override cuda12.txt $(if $(CONSTRAINTS),--constraint $(VENV)/constraints.txt)
OF_CUDA := ^(torch|torchvision|triton|numba-cuda|nvidia-|cuda-)

$(READY): pyproject.toml $(CONSTRAINTS) Makefile
	@$(PYTHON) -c "$$CHECK_PYTHON"
	@if [ -e $@ ]; then echo "Bringing $(VENV) up to date: pyproject.toml has changed"; \
	else echo "Installing into $(VENV): PyTorch with CUDA and JupyterLab, about 6 GB, 1 to 3 minutes on a fast connection"; fi
	@[ -x $(VENV)/bin/pip ] || $(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet "$(UV)"
	$(if $(CHOSEN),@echo "This GPU's driver needs PyTorch for CUDA 12: $(CHOSEN)")
	$(if $(and $(CHOSEN),$(CONSTRAINTS)),@grep -vE '$(OF_CUDA)' $(CONSTRAINTS) > $(VENV)/constraints.txt)
	@$(WITHOUT_RUNTIME)
	@$(SETTINGS); uv pip install --python $(BIN)/python $(if $(CHOSEN),$(CUDA12),$(if $(CONSTRAINTS),--constraint $(CONSTRAINTS))) --editable ".[dev]" 2>&1 | $(WITHOUT_LIST)
	@$(SETTINGS); uv pip install --python $(BIN)/python --quiet --no-deps "$(BOLTS)"
	$(if $(RUNTIME),@echo "ONNX Runtime for this GPU: $(RUNTIME)")
	$(if $(RUNTIME),@$(WITH_RUNTIME))
	@python -m compileall -qq -j 0 -x '$(SELDOM)' $(VENV)/lib gpulab grader || true  # some templates are no Python
	@python -c "import torchvision" || { echo "torch and torchvision in $(VENV) do not fit together: make clean, then again" >&2; exit 1; }
	@touch $@
	@echo "Installed: $$(python --version), $$(uv pip freeze --python $(BIN)/python | awk -F== '$$1 ~ /^(torch|jupyterlab|nbgrader)$$/ { printf "%s%s %s", sep, $$1, $$2; sep = ", " }')"
