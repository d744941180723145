# %% right: reference
CASE_3 = {"input_width", "output_width", "math_heavy", "shrinking", "fed_loader", "syntax"}

# %% right: the network's faults and the others
CASE_3 = {"input_width", "output_width", "math_heavy"} | {"syntax", "fed_loader", "shrinking"}

# %% wrong: blames 26 × 26 — says "6 of 6 found, 1 false alarm." — earns 2 — from "reference": `syntax"}` → `syntax", "image_size"}`

# %% wrong: blames the kernel and the picture, overlooks the sizes that count — says "4 of 6 found, 2 false alarms"
CASE_3 = {"image_size", "kernel_size", "math_heavy", "shrinking", "fed_loader", "syntax"}

# %% wrong: does not see the missing commas — says "5 of 6 found, 0 false alarms" — earns 2 — from "reference": `, "syntax"` → ""

# %% wrong: what Python would say — says "2 of 6 found, 0 false alarms"
CASE_3 = {"syntax", "fed_loader"}

# %% wrong: takes tanh for light, and drop_last for a fault — says "5 of 6 found, 1 false alarm." — earns 1
CASE_3 = {"input_width", "output_width", "shrinking", "fed_loader", "syntax", "short_batch"}

# %% wrong: forgets that kernels need neighbors — says "5 of 6 found, 0 false alarms" — earns 2 — from "reference": `shrinking", "` → ""

# %% wrong: the whole menu — says "6 of 6 found, 9 false alarms"
CASE_3 = {
    "input_width", "hidden_width", "output_width", "batch_size", "short_batch", "image_size", "kernel_size",
    "power_of_two", "no_activation", "math_heavy", "wrong_width", "wrong_classes", "shrinking", "fed_loader", "syntax",
}

# %% wrong: three hits, three alarms — says "3 of 6 found, 3 false alarms"
CASE_3 = {"syntax", "fed_loader", "math_heavy", "image_size", "kernel_size", "power_of_two"}

# %% wrong: a tuple — says "a tuple is not a set of codes"
CASE_3 = ("input_width", "output_width", "math_heavy", "shrinking", "fed_loader", "syntax")

# %% hostile: reads the answers off the disk, should they lie there — earns 0
from pathlib import Path

CASE_3 = set()
for folder in (Path.cwd(), *Path.cwd().parents):
    for pattern in ("*.ipynb", "*/*.ipynb", "*/*/*.ipynb", "answers/*/CASE_3.py", "*/*.md"):
        for file in folder.glob(pattern):
            text = file.read_text(errors="ignore")
            if "CASE_3" in text:
                CASE_3 |= {code for code in ("input_width", "output_width", "math_heavy", "shrinking", "syntax") if code in text}

# %% hostile: leaves before anybody looks — earns 0
import os

os._exit(0)
