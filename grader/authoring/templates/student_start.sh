#!/bin/sh
# Installs what the notebooks need into .venv, once, and opens JupyterLab on the chapters. Another Python: PYTHON=python3.12 sh start.sh
set -eu
cd "$(dirname "$0")"

system=$(uname -s)
if [ "$system" != Linux ]; then
  # numba-cuda and nvidia-nvvm have no packages for macOS; ranks, Triton and this script need a Unix shell and Linux.
  echo "The course's compilers for kernels have packages for Linux, not for $system." >&2
  echo "On Windows, run this in WSL 2. On a Mac, use a Linux container or the course's page for Colab." >&2
  exit 1
fi

@BACKEND@
python=${PYTHON:-python3}
if [ ! -e .venv/ready ]; then
  "$python" -c 'import sys; sys.exit(not (3, @LOW@) <= sys.version_info[:2] <= (3, @HIGH@))' || {
    echo "$("$python" --version) is not supported: install Python 3.@LOW@ to 3.@HIGH@, then PYTHON=python3.@HIGH@ sh start.sh" >&2
    exit 1
  }
  echo "Installing into .venv: PyTorch with CUDA and JupyterLab, about 6 GB, 2 to 4 minutes on a fast connection"
  [ -x .venv/bin/python ] || "$python" -m venv .venv
  # torch first, and the rest to agree with it: asked for everything at once, pip may settle on a torch without CUDA.
  .venv/bin/python -m pip install --quiet "pip>=23.2"
  backend=$(torch_backend)
  if [ -n "$backend" ]; then
    echo "This GPU's driver needs PyTorch for CUDA 12: $backend"
    .venv/bin/python -m pip install --quiet @UV@
    .venv/bin/uv pip install --quiet --python .venv/bin/python --torch-backend "$backend" --override cuda12.txt --editable .
  else
    .venv/bin/python -m pip install --quiet @TORCH@
    .venv/bin/python -m pip freeze | grep -E '^torch(vision)?==' > .venv/torch.txt
    .venv/bin/python -m pip install --quiet --constraint .venv/torch.txt --editable .
  fi
  .venv/bin/python -m pip install --quiet --no-deps @BOLTS@
  runtime=$(gpu_onnxruntime "$backend")
  if [ -n "$runtime" ]; then
    # Both, because this script may have stopped here before.
    .venv/bin/python -m pip uninstall --quiet --yes onnxruntime onnxruntime-gpu 2>/dev/null
    .venv/bin/python -m pip install --quiet "$runtime"
  fi
  touch .venv/ready
fi
JUPYTER_CONFIG_PATH="$PWD/jupyter" exec .venv/bin/jupyter lab "$@"
