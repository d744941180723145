# JupyterLab with the course, as an ordinary user.
#
#   docker build --tag gpulab .
#   docker run --rm --publish 127.0.0.1:8888:8888 --gpus all gpulab
#
# The wheels bring CUDA; the driver and the NVIDIA container toolkit come from the host. Without --gpus all everything
# runs on the CPU, and GPU rows stay pending.

# Any Debian-like image with Python 3.11 to 3.13, its venv module and apt will do.
ARG BASE=python:3.12-slim
FROM ${BASE}

# TORCH=no leaves PyTorch, Lightning and CUDA out (5 GB less): JupyterLab and grader start, chapters do not run.
ARG TORCH=yes

# For a host whose driver is of CUDA 12 (525 to 579): TORCH_BACKEND=cu126, or cu128 for a GPU of the Blackwell generation.
ARG TORCH_BACKEND

# For a host with a GPU, in place of the ONNX Runtime for CPUs: ONNX_RUNTIME="onnxruntime-gpu[cuda,cudnn]>=1.31,<1.32". For a
# driver of CUDA 12: ONNX_RUNTIME="onnxruntime-gpu[cuda,cudnn]>=1.26,<1.27".
ARG ONNX_RUNTIME

# Where PyPI is reached by an index or a certificate of one's own, they are given here, as is false for UV_NO_CACHE by those
# who mount a cache at /root/.cache/uv.
ARG UV_DEFAULT_INDEX
ARG SSL_CERT_FILE
ARG UV_NO_CACHE=true

ENV VIRTUAL_ENV=/opt/gpulab \
    PATH=/opt/gpulab/bin:$PATH \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy \
    PYTHONDONTWRITEBYTECODE=1 \
    ORT_DISABLE_TELEMETRY=1 \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility

# A virtual environment even here: Debian's own Python refuses pip outside of one.
RUN python3 -m venv "$VIRTUAL_ENV" \
 && pip install --quiet ${UV_DEFAULT_INDEX:+--index-url "$UV_DEFAULT_INDEX"} "uv>=0.9,<1" \
 && useradd --create-home --non-unique --uid 1000 --shell /bin/bash student

# Dependencies before the course: this layer, the large one, is kept until pyproject.toml changes.
WORKDIR /home/student/course
COPY pyproject.toml constraints.txt cuda12.txt ./
RUN python -c "import tomllib; needed = tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies']; \
print(*(need for need in needed if '$TORCH' == 'yes' or not need.startswith(('torch', 'pytorch'))), sep='\n')" > /tmp/needed.txt \
 && if [ -n "${TORCH_BACKEND:-}" ]; then \
      grep -vE '^(torch|torchvision|triton|numba-cuda|nvidia-|cuda-)' constraints.txt > /tmp/constraints.txt; \
      uv pip install --quiet --torch-backend "$TORCH_BACKEND" --override cuda12.txt --constraint /tmp/constraints.txt \
        --requirement /tmp/needed.txt; \
    else uv pip install --quiet --constraint constraints.txt --requirement /tmp/needed.txt; fi \
 && if [ "$TORCH" = yes ]; then uv pip install --quiet --no-deps lightning-bolts==0.7.0; fi \
 && if [ -n "${ONNX_RUNTIME:-}" ]; then uv pip uninstall --quiet onnxruntime && uv pip install --quiet "$ONNX_RUNTIME"; fi \
 && rm /tmp/needed.txt

COPY --chown=1000:1000 . ./
RUN uv pip install --quiet --no-deps --editable . \
 && rm -f /tmp/uv-*.lock \
 && chown 1000:1000 .

USER student
ENV JUPYTER_CONFIG_PATH=/home/student/course/jupyter
EXPOSE 8888
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8888/api', timeout=4)"]
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--port=8888", "--no-browser"]
