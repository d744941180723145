"""A stand-in for NVIDIA's driver: two libraries, compiled here, that show one GPU and write down who asks them what.

How far this goes: NVML's stand-in answers all that the course asks about a GPU. That of CUDA answers `cuInit`, counts
and describes the device (which is enough for Numba to list it), and hands out a context. PyTorch refuses it: the CUDA
runtime in its wheels asks `cuGetExportTable` for tables that NVIDIA has not documented, and gives up without them. So
no tensor, no kernel and no time can be had from it. What it can show is who asks for the GPU, when, and what the course
makes of one that fails.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NAME = "NVIDIA Stub 1000"
NOTE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A line: the process, whether it is a fork (its command line is then its parent's), what it is, and the call. */
static int command_of(int pid, char* into, int size) {
    char path[64]; snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    int file = open(path, O_RDONLY), length = file < 0 ? 0 : read(file, into, size - 1);
    if (file >= 0) close(file);
    for (int i = 0; i < length; i++) if (into[i] == 0 || into[i] == '\n' || into[i] == ' ') into[i] = '_';
    into[length > 0 ? length : 0] = 0;
    return length;
}
static void note(const char* call) {
    char own[3000], parent[3000], line[4000];
    command_of(getpid(), own, sizeof own); command_of(getppid(), parent, sizeof parent);
    const char* kind = strcmp(own, parent) ? "-" : "fork";
    int size = snprintf(line, sizeof line, "CALL %d %s %s %s\n", getpid(), kind, call, own);
    int log = open(LOG, O_WRONLY | O_APPEND);  /* from inside a sandbox it cannot be written to */
    if (log >= 0) { if (write(log, line, size < (int)sizeof line ? size : (int)sizeof line - 1)) {} close(log); }
}
"""
CUDA = r"""
int cuInit(unsigned flags) { note("cuInit"); return 0; }
int cuDriverGetVersion(int* version) { *version = 13020; return 0; }
int cuDeviceGetCount(int* count) { note("cuDeviceGetCount"); *count = 1; return 0; }
int cuDeviceGet(int* device, int index) { *device = index; return 0; }
int cuDeviceGetName(char* name, int size, int device) { snprintf(name, size, "%s", NAME); return 0; }
int cuDeviceTotalMem_v2(unsigned long* bytes, int device) { *bytes = 16000000000ul; return 0; }
int cuDeviceGetUuid_v2(char* id, int device) { memset(id, 7, 16); return 0; }
int cuDeviceGetAttribute(int* value, int which, int device) {
    switch (which) {
        case 1: *value = 1024; break;  /* threads per block */
        case 10: *value = 32; break;   /* of a warp */
        case 16: *value = 40; break;   /* multiprocessors */
        case 75: *value = 8; break;    /* compute capability, major */
        case 76: *value = 0; break;
        default: *value = 1;
    }
    return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
    note("cuDevicePrimaryCtxRetain"); *context = (void*)16; return 0;
}
/* Tables of the driver that are documented nowhere. NVRTC does without them if the table says that it is empty; the
   CUDA runtime does not. */
int cuGetExportTable(const void** table, const void* id) {
    static const unsigned long empty[1] = { sizeof(unsigned long) };
    note("cuGetExportTable"); *table = empty; return 801;
}
static int not_supported(void) { note("another"); return 801; }
int cuGetErrorString(int error, const char** text) { *text = "the stub cannot do this"; return 0; }
int cuGetErrorName(int error, const char** text) { *text = "CUDA_ERROR_NOT_SUPPORTED"; return 0; }
int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long flags, void* status) {
    char second[128]; snprintf(second, sizeof second, "%s_v2", name);
    void* own = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!(*function = dlsym(own, second)) && !(*function = dlsym(own, name))) *function = not_supported;
    return 0;
}
int cuGetProcAddress(const char* name, void** function, int version, unsigned long flags) {
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
"""
NVML = r"""
typedef struct { unsigned long long total, free, used; } Memory;
static int opened;
int nvmlInitWithFlags(unsigned flags) { note("nvmlInit"); opened++; return 0; }
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlInit(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { note("nvmlShutdown"); opened--; return 0; }
const char* nvmlErrorString(int code) { return "the stub cannot do this"; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) { snprintf(text, size, "580.95"); return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { if (!opened) return 1; *count = 1; return 0; }
int nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) { *device = (void*)8; return index ? 2 : 0; }
int nvmlDeviceGetName(void* device, char* text, unsigned size) { snprintf(text, size, "%s", NAME); return 0; }
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) { snprintf(text, size, "GPU-07070707"); return 0; }
int nvmlDeviceGetMemoryInfo(void* device, Memory* found) {
    found->total = found->free = 16000000000ull; found->used = 0; return 0;
}
int nvmlDeviceGetClockInfo(void* device, int which, unsigned* mhz) { *mhz = 300; return 0; }
int nvmlDeviceGetMaxClockInfo(void* device, int which, unsigned* mhz) { *mhz = 1500; return 0; }
int nvmlDeviceGetComputeMode(void* device, int* mode) { *mode = 0; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void* found) { *count = 0; return 0; }
"""


@dataclass(frozen=True)
class Call:
    """One call, as the driver saw it."""

    process: int
    forked: bool
    """Whether the process is a fork: it has its parent's command line."""
    name: str
    command: str
    """The process's command line, with `_` between its words."""


def compiled(folder: Path) -> Path:
    """The folder, with both libraries in it and an empty log; the log takes other lines too."""
    (folder / "calls").touch()
    folder.chmod(0o755)  # pytest's are for one user, and a student's process is another
    for name, source in {"libcuda.so.1": CUDA, "libnvidia-ml.so.1": NVML}.items():
        file = folder / f"{name}.c"
        file.write_text(NOTE + source)
        options = ["-shared", "-fPIC", "-w", f'-DLOG="{folder / "calls"}"', f'-DNAME="{NAME}"', f"-Wl,-soname,{name}"]
        subprocess.run(["cc", *options, "-o", name, file.name, "-ldl"], cwd=folder, check=True, timeout=60)
    return folder


def calls(lines: list[str]) -> Iterator[Call]:
    """The calls among the lines of a log."""
    for line in lines:
        if line.startswith("CALL "):
            _, process, fork, name, command = line.split(" ")
            yield Call(int(process), fork == "fork", name, command)
