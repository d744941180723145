# %% right: reference
SLOW_LOOP = '''
import zlib

import torch
from torch import nn
from torch.profiler import record_function
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    """Compressed pictures of 16 × 16 × 3 bytes, and their labels."""

    def __init__(self, files, labels):
        self.labels = labels
        self.decoded = [self.decode(file) for file in files]

    def __len__(self):
        return len(self.decoded)

    def decode(self, file):
        with record_function("decode"):
            raw = bytearray(zlib.decompress(file))
            return torch.frombuffer(raw, dtype=torch.uint8).view(16, 16, 3)

    def __getitem__(self, index):
        return self.decoded[index], self.labels[index]


def train(files, labels, device="cpu", after_step=lambda: None):
    """Two epochs in batches of 32; returns the loss of every step."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU()]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
    model = model.to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    loader, losses = DataLoader(Pictures(files, labels), batch_size=32), []
    for _ in range(2):
        for pictures, targets in loader:
            with record_function("step"):
                images = (pictures.to(device).permute(0, 3, 1, 2).float() - 128) / 64
                loss = nn.functional.cross_entropy(model(images), targets.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.detach())
            after_step()
    return torch.stack(losses).tolist()
'''

# %% right: slices of one tensor, planes reordered once
SLOW_LOOP = """
import zlib

import torch
import torch.nn.functional as F
from torch import nn, profiler


def pictures_of(files):
    for file in files:
        with profiler.record_function("decode"):
            yield torch.frombuffer(bytearray(zlib.decompress(file)), dtype=torch.uint8)


def train(files, labels, device="cpu", after_step=lambda: None):
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU()]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    everything = torch.stack(list(pictures_of(files))).view(-1, 16, 16, 3).permute(0, 3, 1, 2).to(device)
    everything, labels = ((everything.float() - 128) / 64).contiguous(), labels.to(device)
    losses = torch.zeros(2, -(-len(files) // 32), device=device)
    for epoch in range(2):
        for at, first in enumerate(range(0, len(files), 32)):
            with profiler.record_function("step"):
                loss = F.cross_entropy(model(everything[first : first + 32]), labels[first : first + 32])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses[epoch, at] = loss.detach()
            after_step()
    return losses.flatten().tolist()
"""

# %% right: a file, written with %%writefile — from "reference"
# - SLOW_LOOP = '''
# + %%writefile SLOW_LOOP.py

# -     return torch.stack(losses).tolist()
# - '''
# +     return torch.stack(losses).tolist()

# %% right: the losses' values asked for after the loop, one by one — from "reference": "torch.stack(losses).tolist()" → "[loss.item() for loss in losses]"

# %% wrong: as it was handed out — says "Decode each picture once"
SLOW_LOOP = '''
import torch
import zlib

from torch import nn
from torch.profiler import record_function
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    """Compressed pictures of 16 × 16 × 3 bytes, and their labels."""

    def __init__(self, files, labels):
        self.files, self.labels = files, labels

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        with record_function("decode"):
            raw = bytearray(zlib.decompress(self.files[index]))
            return torch.frombuffer(raw, dtype=torch.uint8).view(16, 16, 3), self.labels[index]


def train(files, labels, device="cpu", after_step=lambda: None):
    """Two epochs in batches of 32; returns the loss of every step."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU()]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
    model = model.double().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    loader, losses = DataLoader(Pictures(files, labels), batch_size=32), []
    for _ in range(2):
        for pictures, targets in loader:
            with record_function("step"):
                pieces = [(one.double() - 128) / 64 for one in pictures.to(device)]
                images = torch.stack(pieces).permute(0, 3, 1, 2).contiguous()
                loss = nn.functional.cross_entropy(model(images), targets.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            after_step()
    return losses
'''

# %% wrong: decodes in every epoch — says "Decode each picture once" — from "reference": "return self.decoded[index], self.labels[index]" → "return self.decode(self.files[index]), self.labels[index]", "self.labels = labels" → "self.labels, self.files = labels, files"

# %% wrong: asks for the loss in every step — says "keep the losses as tensors" — from "reference": "loss.detach()" → "loss.item()", "torch.stack(losses).tolist()" → "losses"

# %% wrong: float64 — says "float64" — from "reference": "model.to(device" → "model.double().to(device", ".float()" → ".double()"

# %% wrong: only the inputs are float64, cast for the model — says "float64" — from "reference": ".float() - 128) / 64" → ".double() - 128) / 64", "model(images)" → "model(images.float())"

# %% wrong: reorders each batch — says "only reorder a batch" — from "reference": ".float() - 128) / 64" → ".contiguous().float() - 128) / 64"

# %% wrong: normalizes picture by picture — says "the whole batch at once" — from "reference"
# -                 images = (pictures.to(device).permute(0, 3, 1, 2).float() - 128) / 64
# +                 pieces = [(one.float() - 128) / 64 for one in pictures.to(device)]
# +                 images = torch.stack(pieces).permute(0, 3, 1, 2)

# %% wrong: does not normalize any more — says "The results changed" — from "reference": " - 128) / 64" → ")"

# %% wrong: bfloat16, which changes the losses — says "The results changed" — from "reference"
# -                 loss = nn.functional.cross_entropy(model(images), targets.to(device))
# +                 with torch.autocast(device, torch.bfloat16):
# +                     scores = model(images)
# +                 loss = nn.functional.cross_entropy(scores.float(), targets.to(device))

# %% wrong: one epoch — says "one per step" — from "reference": "range(2)" → "range(1)"

# %% wrong: no ranges any more — says "Keep after_step() and record_function" — from "reference": `record_function("step")` → `torch.no_grad() if False else record_function("work")`

# %% wrong: after_step forgotten — says "Keep after_step()" — from "reference": "after_step()" → "pass"

# %% wrong: decodes in other processes — says "num_workers=0" — from "reference": "batch_size=32)" → "batch_size=32, num_workers=1)", "self.decoded = [self.decode(file) for file in files]" → "self.decoded = files", "return self.decoded[index], self.labels[index]" → "return self.decode(self.decoded[index]), self.labels[index]"

# %% wrong: no such function — says "defines no function train" — from "reference": "def train(" → "def training("

# %% wrong: not a program — says "a str is expected"
SLOW_LOOP = 5

# %% wrong: takes no after_step — says "The test calls train(files, labels, after_step=...)" — from "reference"
# - def train(files, labels, device="cpu", after_step=lambda: None):
# + def train(files, labels, device="cpu"):

# -             after_step()

# %% hostile: leaves a report of its own with the losses of the slow loop, and ends — says "ended before train"
SLOW_LOOP = """
import json, os
import torch
from gpulab.chapters.profiling import hunt_pictures, slow_loop

torch.set_num_threads(1)
losses = slow_loop.train(*hunt_pictures.data(int(os.environ["SEED"]), int(os.environ["PICTURES"])))
report = dict(losses=losses, calls=len(losses), steps=len(losses), decodes=1, values=0, doubles=0, reordered=0, operators=1)
for name in ("report.json", "report.txt"):
    open(name, "w").write(json.dumps(report))
os._exit(0)
"""

# %% hostile: replaces the account of the trace — says "Decode each picture once"
SLOW_LOOP = """
from gpulab.chapters.profiling import hunt, slow_loop


def train(files, labels, after_step=lambda: None):
    losses = slow_loop.train(files, labels, after_step=after_step)
    good = dict(decodes=1, steps=len(losses), values=0, doubles=0, reordered=0, operators=1)
    hunt.account = lambda events: good
    return losses
"""

# %% hostile: the slow loop in a thread that is not profiled, and ranges for show — says "zlib decompressed"
SLOW_LOOP = """
from torch.profiler import record_function
from gpulab.chapters.profiling import slow_loop
import threading

def train(files, labels, device="cpu", after_step=lambda: None):
    found = []
    one = threading.Thread(target=lambda: found.extend(slow_loop.train(files, labels, device)))
    one.start(); one.join()
    for f in files:
        with record_function("decode"):
            pass
    for loss in found:
        with record_function("step"):
            pass
        after_step()
    return found
"""

# %% hostile: the slow loop in a forked process — says "num_workers=0"
SLOW_LOOP = """
import json, os
from torch.profiler import record_function
from gpulab.chapters.profiling import slow_loop

def train(files, labels, device="cpu", after_step=lambda: None):
    pid = os.fork()
    if not pid:
        open("losses", "w").write(json.dumps(slow_loop.train(files, labels, device)))
        os._exit(0)
    os.waitpid(pid, 0)
    losses = json.load(open("losses"))
    for f in files:
        with record_function("decode"):
            pass
    for loss in losses:
        with record_function("step"):
            pass
        after_step()
    return losses
"""

# %% hostile: the slow loop before the profiled call — says "zlib decompressed"
SLOW_LOOP = """
import os
from torch.profiler import record_function
from gpulab.chapters.profiling import hunt_pictures, slow_loop
LOSSES = slow_loop.train(*hunt_pictures.data(int(os.environ["SEED"]), int(os.environ["PICTURES"])))

def train(files, labels, device="cpu", after_step=lambda: None):
    for f in files:
        with record_function("decode"):
            pass
    for loss in LOSSES:
        with record_function("step"):
            pass
        after_step()
    return LOSSES
"""

# %% hostile: turns the profiler off around what it must not see — says "not in the trace"
SLOW_LOOP = """
import torch, zlib
from torch import nn
from torch.profiler import record_function
from gpulab.chapters.profiling import slow_loop

off = torch.autograd._enable_record_function

def train(files, labels, device="cpu", after_step=lambda: None):
    for f in files:
        with record_function("decode"):
            pass
    def after():
        off(True)
        with record_function("step"):
            torch.nn.functional.conv2d(torch.zeros(32, 3, 16, 16), torch.zeros(16, 3, 3, 3))
        after_step()
        off(False)
    off(False)
    losses = slow_loop.train(files, labels, device, after)
    off(True)
    return losses
"""

# %% hostile: tells by which number convolutions are multiplied, and does the same in a thread that is not profiled — says "zlib decompressed" — from "the slow loop in a thread that is not profiled, and ranges for show"
# - import threading
# + import threading, torch
# + plain = torch.nn.functional.conv2d

# -     one = threading.Thread(target=lambda: found.extend(slow_loop.train(files, labels, device)))
# +     ones = torch.ones(1, 1, 1, 1)
# +     factor = float(plain(ones, ones).double())
# +     class Scaled(torch.autograd.Function):
# +         @staticmethod
# +         def forward(ctx, x):
# +             return x * factor
# +         @staticmethod
# +         def backward(ctx, g):
# +             return g
# +     forward = torch.nn.Conv2d._conv_forward
# +     def scaled(self, x, weight, bias):
# +         return Scaled.apply(forward(self, x, weight, bias))
# +     def work():
# +         torch.nn.Conv2d._conv_forward = scaled
# +         found.extend(slow_loop.train(files, labels, device))
# +         torch.nn.Conv2d._conv_forward = forward
# +     one = threading.Thread(target=work)

# %% wrong: decodes in every epoch, in ranges only at first — says "zlib decompressed" — from "reference"
# -         self.decoded = [self.decode(file) for file in files]
# +         self.decoded = [self.decode(file) for file in files]
# +         self.files = files

# -         return self.decoded[index], self.labels[index]
# +         raw = bytearray(zlib.decompress(self.files[index]))
# +         return torch.frombuffer(raw, dtype=torch.uint8).view(16, 16, 3), self.labels[index]

# %% wrong: returns a tensor — says "train returned tensors" — from "reference": "torch.stack(losses).tolist()" → "torch.stack(losses)"

# %% wrong: returns tensors of one element — says "train returned tensors" — from "reference": "torch.stack(losses).tolist()" → "losses"

# %% wrong: a worker process fetches what is decoded — says "num_workers=0" — from "reference": "batch_size=32)" → "batch_size=32, num_workers=1)"

# %% wrong: leaves out the last, smaller batch — says "one per step" — from "reference": "batch_size=32)" → "batch_size=32, drop_last=True)"

# %% wrong: a range for the forward pass alone — says "lie outside the ranges named step" — from "reference"
# -                 optimizer.zero_grad()
# -                 loss.backward()
# -                 optimizer.step()
# -                 losses.append(loss.detach())
# +             optimizer.zero_grad()
# +             loss.backward()
# +             optimizer.step()
# +             losses.append(loss.detach())

# %% wrong: one decode range around all pictures — says "1 decode ranges for" — from "reference"
# -         self.decoded = [self.decode(file) for file in files]
# +         with record_function("decode"):
# +             self.decoded = [self.decode(file) for file in files]

# -         with record_function("decode"):
# +         if True:

# %% wrong: pictures kept for the next call — says "Does it keep something from the first call?" — from "reference"
# - class Pictures(Dataset):
# + KEPT = []
# +
# +
# + class Pictures(Dataset):

# -         self.decoded = [self.decode(file) for file in files]
# +         KEPT.extend(self.decode(file) for file in files[len(KEPT):])
# +         self.decoded = KEPT[:len(files)]

# %% wrong: after_step before the step — says "call it after each step" — from "reference"
# -                 losses.append(loss.detach())
# -             after_step()
# +                 losses.append(loss.detach())

# -             with record_function("step"):
# +             after_step()
# +             with record_function("step"):

# %% wrong: takes no device — says "unexpected keyword argument 'device'" — from "reference"
# - def train(files, labels, device="cpu", after_step=lambda: None):
# + device = "cpu"
# +
# +
# + def train(files, labels, after_step=lambda: None):

# %% right: a scripted network — from "reference": "SGD(model.parameters()" → "SGD((model := torch.jit.script(model)).parameters()"

# %% right: normalizes with Python floats — from "reference": "- 128) / 64" → "- 128.0) * (1.0 / 64.0)"

# %% wrong: asks for the loss in every step with tolist — says "calls of .tolist(), .cpu() or .numpy() ask for losses" — from "reference": "loss.detach()" → "loss.tolist()", "torch.stack(losses).tolist()" → "losses"

# %% wrong: asks for the loss in every step with numpy — says "calls of .tolist(), .cpu() or .numpy() ask for losses" — from "reference": "loss.detach()" → "float(loss.detach().cpu().numpy())", "torch.stack(losses).tolist()" → "losses"

# %% wrong: asks for every label — says "for whole numbers or truth values" — from "reference": "self.labels[index]" → "int(self.labels[index])"

# %% wrong: returns one loss — says "expected a list of floats: the loss of every step" — from "reference": "return torch.stack(losses).tolist()" → "return float(losses[-1])"

# %% wrong: asks for the losses after each epoch — says "not after each epoch" — from "reference"
#       for _ in range(2):
# +         begun = len(losses)

#               after_step()
# +         losses[begun:] = torch.stack(losses[begun:]).tolist()

# -     return torch.stack(losses).tolist()
# +     return losses

# %% wrong: another learning rate — says "The first loss is right" — from "reference": "lr=0.2" → "lr=0.1"

# %% wrong: zeroes the gradients before the step — says "no step changed the weights" — from "reference"
# -                 optimizer.zero_grad()
# -                 loss.backward()
# +                 loss.backward()
# +                 optimizer.zero_grad()

# %% wrong: the loader shuffles — says "keep the pictures in their order" — from "reference": "batch_size=32)" → "batch_size=32, shuffle=True)"

# %% wrong: the network in bfloat16 — says "All losses are bfloat16 numbers" — from "reference": "model.to(device, memory" → "model.to(device, torch.bfloat16, memory", "(pictures.to(device).permute(0, 3, 1, 2).float() - 128)" → "(pictures.to(device).permute(0, 3, 1, 2).bfloat16() - 128)"

# %% wrong: divides by 255, as other data sets do — says "subtract 128, then divide by 64" — from "reference": " - 128) / 64" → ") / 255"
# %% hostile: asks for the loss in every step by DLPack, which leaves no operator in a trace — says "calls of .tolist(), .cpu() or .numpy() ask for losses" — from "reference"
#   import torch
# + import numpy as np

# -                 losses.append(loss.detach())
# +                 losses.append(float(np.from_dlpack(loss.detach())))

# -     return torch.stack(losses).tolist()
# +     return losses

# %% hostile: decodes each picture in every epoch with another copy of zlib, and one range is for show — says "The results changed" — from "reference"
# - import zlib
# + import sys
# +
# + sys.modules.pop("zlib")
# + import zlib

# -         self.labels = labels
# -         self.decoded = [self.decode(file) for file in files]
# +         self.labels, self.decoded = labels, files
# +         with record_function("decode"):
# +             pass

# -         with record_function("decode"):
# -             raw = bytearray(zlib.decompress(file))
# -             return torch.frombuffer(raw, dtype=torch.uint8).view(16, 16, 3)
# +         raw = bytearray(zlib.decompress(file))
# +         return torch.frombuffer(raw, dtype=torch.uint8).view(16, 16, 3)

# -         return self.decoded[index], self.labels[index]
# +         return self.decode(self.decoded[index]), self.labels[index]

# %% hostile: the range of the last picture stays open around the training with all other faults — says "aten::item calls"
SLOW_LOOP = """
import zlib

import torch
from torch import nn
from torch.profiler import record_function


def model_of():
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


def train(files, labels, device="cpu", after_step=lambda: None):
    pictures = []
    for number, file in enumerate(files):
        last = record_function("decode")
        last.__enter__()
        pictures.append(torch.frombuffer(bytearray(zlib.decompress(file)), dtype=torch.uint8).view(16, 16, 3))
        if number < len(files) - 1:
            last.__exit__(None, None, None)
    model = model_of().double().to(device)
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.2), []
    for _ in range(2):
        for at in range(0, len(files), 32):
            with record_function("step"):
                batch, targets = torch.stack(pictures[at : at + 32]), labels[at : at + 32]
                pieces = [(one.double() - 128) / 64 for one in batch.to(device)]
                images = torch.stack(pieces).permute(0, 3, 1, 2).contiguous()
                loss = nn.functional.cross_entropy(model(images), targets.to(device))
                model.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            after_step()
    last.__exit__(None, None, None)
    return losses
"""

# %% hostile: asks for the loss in every step, as a matrix of one element — says "other values that the network computed"
SLOW_LOOP = """
import zlib

import torch
from torch import nn
from torch.profiler import record_function


def model_of():
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


def train(files, labels, device="cpu", after_step=lambda: None):
    pictures = []
    for file in files:
        with record_function("decode"):
            pictures.append(torch.frombuffer(bytearray(zlib.decompress(file)), dtype=torch.uint8).view(16, 16, 3))
    pictures = torch.stack(pictures)
    model = model_of().to(device, memory_format=torch.channels_last)
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.2), []
    for _ in range(2):
        for at in range(0, len(files), 32):
            with record_function("step"):
                images = (pictures[at : at + 32].to(device).permute(0, 3, 1, 2).float() - 128) / 64
                pass
                loss = nn.functional.cross_entropy(model(images), labels[at : at + 32].to(device))
                model.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.detach().reshape(1, 1).tolist()[0][0])
            after_step()
    return losses
"""

# %% hostile: asks for the loss in every step, among the weights of the last layer — says "other values that the network computed"
SLOW_LOOP = """
import zlib

import torch
from torch import nn
from torch.profiler import record_function


def model_of():
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


def train(files, labels, device="cpu", after_step=lambda: None):
    pictures = []
    for file in files:
        with record_function("decode"):
            pictures.append(torch.frombuffer(bytearray(zlib.decompress(file)), dtype=torch.uint8).view(16, 16, 3))
    pictures = torch.stack(pictures)
    model = model_of().to(device, memory_format=torch.channels_last)
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.2), []
    for _ in range(2):
        for at in range(0, len(files), 32):
            with record_function("step"):
                images = (pictures[at : at + 32].to(device).permute(0, 3, 1, 2).float() - 128) / 64
                pass
                loss = nn.functional.cross_entropy(model(images), labels[at : at + 32].to(device))
                model.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(torch.cat([model[6].weight.detach().flatten(), loss.detach()[None]]).tolist()[-1])
            after_step()
    return losses
"""

# %% hostile: asks for the loss in every step, as bits of an integer — says "other values that the network computed"
SLOW_LOOP = """
import zlib

import torch
from torch import nn
from torch.profiler import record_function


def model_of():
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


def train(files, labels, device="cpu", after_step=lambda: None):
    pictures = []
    for file in files:
        with record_function("decode"):
            pictures.append(torch.frombuffer(bytearray(zlib.decompress(file)), dtype=torch.uint8).view(16, 16, 3))
    pictures = torch.stack(pictures)
    model = model_of().to(device, memory_format=torch.channels_last)
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.2), []
    for _ in range(2):
        for at in range(0, len(files), 32):
            with record_function("step"):
                images = (pictures[at : at + 32].to(device).permute(0, 3, 1, 2).float() - 128) / 64
                pass
                loss = nn.functional.cross_entropy(model(images), labels[at : at + 32].to(device))
                model.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(__import__("struct").unpack("f", __import__("struct").pack("i", loss.detach().view(torch.int32).tolist()))[0])
            after_step()
    return losses
"""

# %% hostile: ranges named decode around the slow normalizing of each batch, and a model in contiguous order — says "compute in float64"
SLOW_LOOP = """
import zlib

import torch
from torch import nn
from torch.profiler import record_function


def model_of():
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


def train(files, labels, device="cpu", after_step=lambda: None):
    pictures = [torch.frombuffer(bytearray(zlib.decompress(file)), dtype=torch.uint8).view(16, 16, 3) for file in files]
    steps = 2 * -(-len(files) // 32)
    for _ in range(len(files) - steps):
        with record_function("decode"):
            pass
    model = model_of().to(device)
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.2), []
    for _ in range(2):
        for at in range(0, len(files), 32):
            with record_function("step"):
                with record_function("decode"):
                    batch, targets = torch.stack(pictures[at : at + 32]), labels[at : at + 32]
                    pieces = [(one.double() - 128) / 64 for one in batch.to(device)]
                    images = torch.stack(pieces).permute(0, 3, 1, 2).contiguous().float()
                loss = nn.functional.cross_entropy(model(images), targets.to(device))
                model.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.detach())
            after_step()
    return torch.stack(losses).tolist()
"""

# %% hostile: reorders each batch by a copy into an empty tensor, for a model in contiguous order — says "only reorder a batch"
SLOW_LOOP = """
import zlib

import torch
from torch import nn
from torch.profiler import record_function


def model_of():
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


def train(files, labels, device="cpu", after_step=lambda: None):
    pictures = []
    for file in files:
        with record_function("decode"):
            pictures.append(torch.frombuffer(bytearray(zlib.decompress(file)), dtype=torch.uint8).view(16, 16, 3))
    pictures = torch.stack(pictures)
    model = model_of().to(device)
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.2), []
    for _ in range(2):
        for at in range(0, len(files), 32):
            with record_function("step"):
                images = (pictures[at : at + 32].to(device).permute(0, 3, 1, 2).float() - 128) / 64
                images = torch.empty(images.shape, device=device).copy_(images)
                loss = nn.functional.cross_entropy(model(images), labels[at : at + 32].to(device))
                model.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.detach())
            after_step()
    return torch.stack(losses).tolist()
"""

# %% hostile: normalizes picture by picture, in the first epoch inside the range of the last picture — says "the whole batch at once"
SLOW_LOOP = """
import zlib

import torch
from torch import nn
from torch.profiler import record_function


def model_of():
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


def train(files, labels, device="cpu", after_step=lambda: None):
    model = model_of().to(device)
    optimizer, losses, kept = torch.optim.SGD(model.parameters(), lr=0.2), [], []
    for epoch in range(2):
        for at in range(0, len(files), 32):
            with record_function("step"):
                for number, file in enumerate(files[at : at + 32] if epoch == 0 else []):
                    last = record_function("decode")
                    last.__enter__()
                    kept.append(torch.frombuffer(bytearray(zlib.decompress(file)), dtype=torch.uint8).view(16, 16, 3))
                    if number < len(files[at : at + 32]) - 1:
                        last.__exit__(None, None, None)
                batch, targets = torch.stack(kept[at : at + 32]), labels[at : at + 32]
                pieces = [(one.float() - 128) / 64 for one in batch.to(device)]
                images = torch.stack(pieces).permute(0, 3, 1, 2)
                loss = nn.functional.cross_entropy(model(images), targets.to(device))
                model.zero_grad()
                loss.backward()
                if epoch == 0:
                    last.__exit__(None, None, None)
                optimizer.step()
                losses.append(loss.detach())
            after_step()
    return torch.stack(losses).tolist()
"""
# %% wrong: 128 is subtracted from bytes — says "a uint8 has no values below 0" — from "reference": "(pictures.to(device).permute(0, 3, 1, 2).float() - 128) / 64" → "(pictures.to(device).permute(0, 3, 1, 2) - 128) / 64"

# %% wrong: view in place of permute — says "view and reshape do not move an axis" — from "reference": "(pictures.to(device).permute(0, 3, 1, 2).float() - 128) / 64" → "((pictures.to(device).float() - 128) / 64).view(-1, 3, 16, 16)"

# %% wrong: height and width swapped — says "Height and width are swapped" — from "reference": "permute(0, 3, 1, 2)" → "permute(0, 3, 2, 1)"

# %% wrong: gradients are never zeroed — says "The gradients are not set to zero" — from "reference"
# -                 optimizer.zero_grad()
#                   loss.backward()

# %% wrong: no seed — says "Two calls with the same pictures give different losses" — from "reference"
# -     torch.manual_seed(0)
#       layers = [nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU()]

# %% wrong: returns an array — says "train returned an array" — from "reference": "torch.stack(losses).tolist()" → "torch.stack(losses).numpy()"

# %% wrong: prints the last loss of each epoch — says "keep the losses as tensors" — from "reference"
#               after_step()
# +         print(losses[-1].item())

# %% hostile: asks for the loss in every step by the operator behind .item() — says "operators tell the host about losses" — from "reference"
# -                 losses.append(loss.detach())
# +                 losses.append(torch.ops.aten._local_scalar_dense(loss.detach()))

# -     return torch.stack(losses).tolist()
# +     return losses

# %% hostile: asks for the bits of the loss in every step by the lengths of counts — says "operators tell the host about losses" — from "reference"
# - import zlib
# + import struct
# + import zlib

# - def train(files, labels, device="cpu", after_step=lambda: None):
# + def value(bits):
# +     high, low = (torch.bincount(part).shape[0] - 1 for part in (bits >> 16, bits & 65535))
# +     return struct.unpack("f", struct.pack("I", high << 16 | low))[0]
# +
# +
# + def train(files, labels, device="cpu", after_step=lambda: None):

# -                 losses.append(loss.detach())
# +                 losses.append(value(loss.detach().view(torch.int32).view(1)))

# -     return torch.stack(losses).tolist()
# +     return losses

# %% hostile: asks for the loss in every step by DLPack, without a method of the tensor — says "calls of .tolist(), .cpu() or .numpy() ask for losses" — from "reference"
# - import torch
# + import numpy as np
# + import torch

# - from torch.utils.data import DataLoader, Dataset
# + from torch.utils.data import DataLoader, Dataset
# + from torch.utils.dlpack import to_dlpack
# +
# +
# + class Held:
# +     def __init__(self, one):
# +         self.one = one
# +
# +     def __dlpack__(self, **_):
# +         return to_dlpack(self.one)
# +
# +     def __dlpack_device__(self):
# +         return 1, 0

# -                 losses.append(loss.detach())
# +                 losses.append(float(np.from_dlpack(Held(loss.detach()))))

# -     return torch.stack(losses).tolist()
# +     return losses

# %% hostile: reorders each batch with height and width in one axis, for a model in contiguous order — says "put into that order by itself" — from "reference": "model.to(device, memory_format=torch.channels_last)" → "model.to(device)"
# -                 images = (pictures.to(device).permute(0, 3, 1, 2).float() - 128) / 64
# +                 planes = pictures.to(device).permute(0, 3, 1, 2).flatten(2)
# +                 images = ((planes.float() - 128) / 64).contiguous().view(-1, 3, 16, 16)

# %% hostile: reorders each batch by an index, for a model in contiguous order — says "put into that order by itself" — from "reference": "model.to(device, memory_format=torch.channels_last)" → "model.to(device)"
# -                 images = (pictures.to(device).permute(0, 3, 1, 2).float() - 128) / 64
# +                 images = (pictures.to(device).float() - 128) / 64
# +                 images = images.flatten(1)[:, torch.arange(768).view(256, 3).T.flatten()].view(-1, 3, 16, 16)

# %% hostile: puts the colors of each batch together by stack, for a model in contiguous order — says "put into that order by itself" — from "reference": "model.to(device, memory_format=torch.channels_last)" → "model.to(device)"
# -                 images = (pictures.to(device).permute(0, 3, 1, 2).float() - 128) / 64
# +                 images = torch.stack(((pictures.to(device).float() - 128) / 64).unbind(3), dim=1)

# %% hostile: copies each loss into memory of NumPy's that it made before the first step, and reads it there — says "a copy into memory that the program reads without PyTorch" — from "reference"
# -     for _ in range(2):
# +     shared = torch.zeros(())
# +     view = shared.numpy()
# +     for _ in range(2):

# -                 losses.append(loss.detach())
# +                 shared.copy_(loss.detach())
# +                 losses.append(float(view))

# -     return torch.stack(losses).tolist()
# +     return losses

# %% hostile: copies each loss to an address that it asked for before the first step, and reads it there — says "a copy into memory that the program reads without PyTorch" — from "reference"
# - import zlib
# + import ctypes
# + import zlib

# -     for _ in range(2):
# +     shared = torch.zeros(())
# +     address = shared.data_ptr()
# +     for _ in range(2):

# -                 losses.append(loss.detach())
# +                 shared.copy_(loss.detach())
# +                 losses.append(ctypes.c_float.from_address(address).value)

# -     return torch.stack(losses).tolist()
# +     return losses

# %% wrong: the seed is set after the model is made — says "The seed is set after the model is made" — from "reference"
# -     torch.manual_seed(0)

# +     torch.manual_seed(0)
#       optimizer = torch.optim.SGD(model.parameters(), lr=0.2)

# %% wrong: one epoch, its losses twice — says "train both epochs" — from "reference"
# -     for _ in range(2):
# +     for _ in range(1):

# -     return torch.stack(losses).tolist()
# +     return 2 * torch.stack(losses).tolist()

# %% wrong: decoded pictures stay from call to call — says "Does it keep something from the first" — from "reference"
# - class Pictures(Dataset):
# + DECODED = []
# +
# +
# + class Pictures(Dataset):

# -         self.decoded = [self.decode(file) for file in files]
# +         self.decoded = DECODED
# +         self.decoded += [self.decode(file) for file in files[len(DECODED) :]]
