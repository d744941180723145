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

ENV VIRTUAL_ENV=/opt/gpulab \
    PATH=/opt/gpulab/bin:$PATH \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    ORT_DISABLE_TELEMETRY=1 \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility

# A virtual environment even here: Debian's own Python refuses pip outside of one.
RUN python3 -m venv "$VIRTUAL_ENV" \
 && pip install --quiet "pip>=23.2" \
 && useradd --create-home --non-unique --uid 1000 --shell /bin/bash student

# Dependencies before the course: this layer, the large one, is kept until pyproject.toml changes. torch comes first and
# the rest agrees with it, for the reason given in the Makefile.
WORKDIR /home/student/course
COPY pyproject.toml ./
RUN python -c "import tomllib; needed = tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies']; \
print(*(need for need in needed if '$TORCH' == 'yes' or not need.startswith(('torch', 'pytorch'))), sep='\n')" > /tmp/needed.txt \
 && { grep '^torch' /tmp/needed.txt || true; } | xargs -r pip install --quiet \
 && { pip freeze | grep -E '^torch(vision)?==' || true; } > /tmp/torch.txt \
 && pip install --quiet --constraint /tmp/torch.txt --requirement /tmp/needed.txt \
 && if [ "$TORCH" = yes ]; then pip install --quiet --no-deps lightning-bolts==0.7.0; fi \
 && rm /tmp/needed.txt /tmp/torch.txt

COPY --chown=1000:1000 . ./
RUN pip install --quiet --no-deps --editable . \
 && chown 1000:1000 .

USER student
ENV JUPYTER_CONFIG_PATH=/home/student/course/jupyter
EXPOSE 8888
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8888/api', timeout=4)"]
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--port=8888", "--no-browser"]
