# %% right: reference
import re


def parse_metrics(text):
    label = r'\s*(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?'
    sample = re.compile(rf"\s*([a-zA-Z_:][\w:]*)\s*\{{((?:{label})*)\s*\}}\s*(\S+)")
    found = {}
    for line in text.split("\n"):
        match = sample.match(line)
        if match:
            labels = dict(re.findall(label, match.group(2)))
            if "gpu" in labels:
                found.setdefault(int(labels["gpu"]), {})[match.group(1)] = float(match.group(5))
    return found

# %% right: one character after the other
def parse_metrics(text):
    found = {}
    for line in text.splitlines():
        line = line.strip()
        if not line or line[0] == "#" or "{" not in line:
            continue
        name, at = line[: line.index("{")], line.index("{") + 1
        labels = {}
        while True:
            while line[at] in ", ":
                at += 1
            if line[at] == "}":
                break
            equals = line.index("=", at)
            key, at = line[at:equals], equals + 2
            value = ""
            while line[at] != '"':
                if line[at] == "\\":
                    at += 1
                value += line[at]
                at += 1
            labels[key] = value
            at += 1
        if "gpu" in labels:
            metrics = found.get(int(labels["gpu"]), {})
            metrics[name] = float(line[at + 1 :].split()[0])
            found[int(labels["gpu"])] = metrics
    return found

# %% wrong: with prometheus_client, which adds _total to a counter's name — says "as it is on the page"
from prometheus_client.parser import text_string_to_metric_families


def parse_metrics(text):
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if "gpu" in sample.labels:
                found.setdefault(int(sample.labels["gpu"]), {})[sample.name] = sample.value
    return found

# %% wrong: labels split at commas inside quotes — says "one inside quotes belongs to the value"
def parse_metrics(text):
    found = {}
    for line in text.splitlines():
        if not line or line.startswith("#") or "{" not in line:
            continue
        name, rest = line.split("{", 1)
        inside, value = rest.rsplit("}", 1)
        labels = dict(part.strip().split("=", 1) for part in inside.split(",") if part.strip())
        if "gpu" in labels:
            found.setdefault(int(labels["gpu"].strip('"')), {})[name] = float(value.split()[0])
    return found

# %% wrong: split at commas, pieces without = thrown away — says "one inside quotes belongs to the value" — from "labels split at commas inside quotes"
# -         labels = dict(part.strip().split("=", 1) for part in inside.split(",") if part.strip())
# +         labels = {}
# +         for part in inside.split(","):
# +             if "=" in part:
# +                 key, content = part.strip().split("=", 1)
# +                 labels[key] = content.strip('"')

# -             found.setdefault(int(labels["gpu"].strip('"')), {})[name] = float(value.split()[0])
# +             found.setdefault(int(labels["gpu"]), {})[name] = float(value.split()[0])

# %% wrong: a value ends at the first quote, escaped or not — says "does not end it"
import re


def parse_metrics(text):
    found = {}
    for line in text.split("\n"):
        match = re.match(r'\s*([\w:]+)\{((?:\s*\w+="[^"]*"\s*,?)*)\}\s*(\S+)', line)
        if match:
            labels = dict(re.findall(r'(\w+)="([^"]*)"', match.group(2)))
            if "gpu" in labels:
                found.setdefault(int(labels["gpu"]), {})[match.group(1)] = float(match.group(3))
    return found

# %% wrong: any backslash before a quote escapes it — says "the quote after two of them" — from "reference"
# -     label = r'\s*(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?'
# +     label = r'\s*(\w+)\s*=\s*"((?:[^"]|(?<=\\)")*?)(?<!\\)"\s*,?'
# -     sample = re.compile(rf"\s*([a-zA-Z_:][\w:]*)\s*\{{((?:{label})*)\s*\}}\s*(\S+)")

# -         match = sample.match(line)
# +         match = re.match(rf"\s*([\w:]+)\s*\{{((?:{label})*)\s*\}}\s*(\S+)", line)

# %% wrong: the labels end at the first brace — says "brace after the last quote"
import re


def parse_metrics(text):
    found = {}
    for line in text.split("\n"):
        match = re.match(r"([\w:]+)\{(.*?)\}\s*(\S+)", line)
        if match:
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match.group(2)))
            if "gpu" in labels:
                found.setdefault(int(labels["gpu"]), {})[match.group(1)] = float(match.group(3))
    return found

# %% wrong: takes the time stamp — says "time stamp" — from "the labels end at the first brace"
# -         match = re.match(r"([\w:]+)\{(.*?)\}\s*(\S+)", line)
# -         if match:
# +         if line.startswith("#") or "{" not in line:
# +             continue
# -             labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match.group(2)))
# +         labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', line))
# -             if "gpu" in labels:
# +         if "gpu" in labels:
# -                 found.setdefault(int(labels["gpu"]), {})[match.group(1)] = float(match.group(3))
# +             found.setdefault(int(labels["gpu"]), {})[line.split("{")[0]] = float(line.split()[-1])

# %% wrong: looks for gpu=" anywhere — says "other labels may begin or end with it"
import re


def parse_metrics(text):
    found = {}
    label = r'\s*\w+\s*=\s*"(?:[^"\\]|\\.)*"\s*,?'
    for line in text.split("\n"):
        match = re.match(rf"([\w:]+)\{{((?:{label})*)\}}\s*(\S+)", line)
        if match:
            inside = re.sub(r'\\.', "", match.group(2))
            gpu = re.search(r'gpu="(\d+)"', inside)
            if gpu:
                found.setdefault(int(gpu.group(1)), {})[match.group(1)] = float(match.group(3))
    return found

# %% wrong: GPU numbers stay strings — says "an int, not a string" — from "the labels end at the first brace"
# -         match = re.match(r"([\w:]+)\{(.*?)\}\s*(\S+)", line)
# +         match = re.match(r'([\w:]+)\{((?:\s*\w+="(?:[^"\\]|\\.)*"\s*,?)*)\}\s*(\S+)', line)

# -                 found.setdefault(int(labels["gpu"]), {})[match.group(1)] = float(match.group(3))
# +                 found.setdefault(labels["gpu"], {})[match.group(1)] = float(match.group(3))

# %% wrong: values stay strings — says "A value is a float" — from "the labels end at the first brace"
# -         match = re.match(r"([\w:]+)\{(.*?)\}\s*(\S+)", line)
# +         match = re.match(r'([\w:]+)\{((?:\s*\w+="(?:[^"\\]|\\.)*"\s*,?)*)\}\s*(\S+)', line)

# -                 found.setdefault(int(labels["gpu"]), {})[match.group(1)] = float(match.group(3))
# +                 found.setdefault(int(labels["gpu"]), {})[match.group(1)] = match.group(3)

# %% wrong: the last line of a GPU replaces the others — says "add to its dict" — from "the labels end at the first brace"
# -         match = re.match(r"([\w:]+)\{(.*?)\}\s*(\S+)", line)
# +         match = re.match(r'([\w:]+)\{((?:\s*\w+="(?:[^"\\]|\\.)*"\s*,?)*)\}\s*(\S+)', line)

# -                 found.setdefault(int(labels["gpu"]), {})[match.group(1)] = float(match.group(3))
# +                 found[int(labels["gpu"])] = {match.group(1): float(match.group(3))}

# %% wrong: chokes on somebody else's lines — says "belongs to another program" — from "the labels end at the first brace"
# +         if not line.strip() or line.startswith("#"):
# +             continue
# -         match = re.match(r"([\w:]+)\{(.*?)\}\s*(\S+)", line)
# +         match = re.match(r'\s*([\w:]+)\{((?:\s*\w+="(?:[^"\\]|\\.)*"\s*,?)*)\}\s*(\S+)', line)
# -         if match:
# -             labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match.group(2)))
# +         labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match.group(2)))
# -             if "gpu" in labels:
# -                 found.setdefault(int(labels["gpu"]), {})[match.group(1)] = float(match.group(3))
# +         found.setdefault(int(labels["gpu"]), {})[match.group(1)] = float(match.group(3))

# %% wrong: prints it — says "returned None"
def parse_metrics(text):
    for line in text.splitlines():
        print(line)

# %% hostile: a dict that is equal to everything — earns 0
class Everything(dict):
    def __eq__(self, other):
        return True

    __hash__ = object.__hash__


def parse_metrics(text):
    return Everything()

# %% wrong: asks gpulab for the reader that grades pages — says "No module named 'gpulab.chapters.profiling.pages'"
def parse_metrics(text):
    from gpulab.chapters.profiling.pages import read_page

    return read_page(text).values

# %% wrong: asks the judge's package for it, which is in no student's process — says "No module named 'grader.exercises'"
def parse_metrics(text):
    from grader.exercises.profiling.pages import read_page

    found = {}
    for (name, labels), value in read_page(text).values.items():
        if "gpu" in dict(labels):
            found.setdefault(int(dict(labels)["gpu"]), {})[name] = value
    return found

# %% right: the library's parser, which takes each sample by its own name if no type is given
from prometheus_client.parser import text_string_to_metric_families


def parse_metrics(text):
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    found = {}
    for family in text_string_to_metric_families("\n".join(samples) + "\n"):
        for sample in family.samples:
            if "gpu" in sample.labels:
                found.setdefault(int(sample.labels["gpu"]), {})[sample.name] = sample.value
    return found

# %% wrong: no value is below zero — says "below zero" — from "reference": `\s*(\S+)` → `\s*-?([^\s-]\S*)`

# %% wrong: a later label that ends in gpu wins — says "other labels may begin or end with it" — from "reference": "labels = dict(re.findall(label, match.group(2)))" → "labels = {name[-3:]: value for name, value in re.findall(label, match.group(2))}"

# %% hostile: raises an exception that calls itself a lack of memory, with a terminal's codes — says "Your code raised MemoryError"
def parse_metrics(text):
    class Lack(Exception):
        pass

    Lack.__name__ = "MemoryError"
    raise Lack("\x1b[2J CUDA out of memory \ud800")

# %% wrong: names without digits — says "may contain digits" — from "reference": "[a-zA-Z_:][\w:]*" → "[a-zA-Z_:]+"

# %% wrong: exponents have no sign — says "negative exponent" — from "reference": `\s*(\S+)` → `\s*([-+]?(?:Inf|[\d.]+(?:e\d+)?))`

# %% wrong: infinity is never below zero — says "-Inf" — from "reference": `float(match.group(5))` → `float(match.group(5).replace("-Inf", "+Inf"))`

# %% wrong: the label gpu must be the first — says "need not be the first" — from "reference": `if "gpu" in labels:` → `if next(iter(labels), "") == "gpu":`

# %% wrong: GPU counts as gpu — says "GPU is another one" — from "reference": "labels = dict(re.findall(label, match.group(2)))" → "labels = {name.lower(): value for name, value in re.findall(label, match.group(2))}"

# %% wrong: labels end at the next quote, which findall recovers from — says "does not end it"
import re


def parse_metrics(text):
    found = {}
    for line in text.splitlines():
        match = re.match(r"\s*([a-zA-Z_:][\w:]*)\s*\{(.*)\}\s*(\S+)", line)
        labels = dict(re.findall(r'\s*([A-Za-z_]\w*)="([^"]*)"\s*,?', match.group(2) if match else ""))
        if "gpu" in labels:
            found.setdefault(int(labels["gpu"]), {})[match.group(1)] = float(match.group(3))
    return found

# %% wrong: a quote with a backslash before it begins a value, too — says "does not end it" — from "labels end at the next quote, which findall recovers from": `\s*([A-Za-z_]\w*)="([^"]*)"\s*,?` → `(\w+)=\\?"(.*?)\\?"`

# %% wrong: splits at every quote — says "does not end it"
def parse_metrics(text):
    found = {}
    for line in text.splitlines():
        if "{" in line and not line.startswith("#"):
            labels, value = line[line.index("{") + 1 :].rsplit("}", 1)
            parts = labels.split('"')
            for key, label in zip(parts[::2], parts[1::2]):
                if key.strip(" ,=") == "gpu":
                    found.setdefault(int(label), {})[line[: line.index("{")]] = float(value.split()[0])
    return found

# %% wrong: only metrics of DCGM — says "may have any name" — from "reference": "[a-zA-Z_:][\w:]*" → "DCGM_\w+"

# %% wrong: the labels begin at the last brace — says "the labels begin at the first brace" — from "one character after the other": `name, at = line[: line.index("{")], line.index("{") + 1` → `name, at = line[: line.rindex("{")], line.rindex("{") + 1`

# %% wrong: a # anywhere makes a comment — says "only a line that begins with #" — from "one character after the other": `line[0] == "#"` → `"#" in line`

# %% wrong: values of 0 are left out — says "A value of 0 is a value" — from "reference": `if "gpu" in labels:` → `if "gpu" in labels and float(match.group(5)):`

# %% wrong: one dict for all calls — says "begin each call with an empty dict" — from "reference": "(text):" → "(text, found={}):", "    found = {}" → "    pass"

# %% wrong: a GPU has one digit — says "may have two digits" — from "reference": `labels = dict(re.findall(label, match.group(2)))` → `labels = {name: value for name, value in re.findall(label, match.group(2)) if name != "gpu" or len(value) == 1}`

# %% wrong: the first two lines are skipped — says "A page need not begin with comments" — from "reference": `text.split("\n")` → `text.split("\n")[2:]`

# %% wrong: the first line is skipped — says "A page need not begin with comments" — from "reference": `text.split("\n")` → `text.split("\n")[1:]`

# %% wrong: no comma after the last label — says "allows a comma after the last label" — from "reference"
# -         if match:
# +         if match and not match.group(2).rstrip().endswith(","):

# %% wrong: no exponents — says "exponent" — from "reference": `\s*(\S+)` → `\s*([-+]?(?:Inf|[\d.]+))`

# %% right: the last brace, and a search for the label, because every quote inside a value has a backslash before it
import re


def parse_metrics(text):
    found = {}
    for line in text.split("\n"):
        if line[:1] == "#" or "{" not in line:
            continue
        name, rest = line.split("{", 1)
        labels, numbers = rest.rsplit("}", 1)
        gpu = re.search(r'(?:^|,)\s*gpu="(\d+)"', labels)
        if gpu:
            found.setdefault(int(gpu[1]), {})[name] = float(numbers.split()[0])
    return found

# %% wrong: a label's value has at least one character — says "may be empty" — from "reference": `"((?:[^"\\]|\\.)*)"` → `"((?:[^"\\]|\\.)+)"`

# %% wrong: the value is the second word of a line — says "spaces inside quotes" — from "reference": `float(match.group(5))` → `float(line.split(" ")[1])`

# %% wrong: only metrics with a TYPE — says "without HELP and TYPE counts, too" — from "reference"
#           match = sample.match(line)
# -         if match:
# +         if match and ("# TYPE" not in text or f"# TYPE {match.group(1)} " in text):

# %% wrong: values are whole numbers — says "may have decimals" — from "reference": `(\S+)")` → `(\d+)(?:\s|$)")`

# %% wrong: split at commas, so that both GPUs are found — says "Are labels split at every comma"
def parse_metrics(text):
    result = {}
    for line in text.splitlines():
        if not line or line.startswith("#") or "{" not in line:
            continue
        name = line[: line.index("{")]
        inner = line[line.index("{") + 1 : line.rindex("}")]
        value = float(line[line.rindex("}") + 1 :].split()[0])
        for piece in inner.split(","):
            piece = piece.strip()
            if piece.startswith("gpu="):
                gpu = int(piece[4:].strip('"'))
                result.setdefault(gpu, {})[name] = value
    return result

# %% wrong: name and labels are the first word of a line — says "There may be spaces inside quotes"
import re


def parse_metrics(text):
    result = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        parts = line.split(" ")
        head, value = parts[0], parts[1]
        m = re.match(r"([^{]+)\{(.*)\}", head)
        if not m:
            continue
        labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', m.group(2)))
        if "gpu" in labels:
            result.setdefault(int(labels["gpu"]), {})[m.group(1)] = float(value)
    return result

# %% wrong: names in small letters — says "Keep each metric's name as it is on the page, without labels" — from "reference": "[match.group(1)]" → "[match.group(1).lower()]"

# %% wrong: a list of values — says "a float, not a list" — from "reference"
# -                 found.setdefault(int(labels["gpu"]), {})[match.group(1)] = float(match.group(5))
# +                 own = found.setdefault(int(labels["gpu"]), {})
# +                 own.setdefault(match.group(1), []).append(float(match.group(5)))

# %% wrong: GPU 0 alone — says "Lines of every GPU count" — from "reference": `if "gpu" in labels:` → `if labels.get("gpu") == "0":`

# %% wrong: lines without the label gpu are GPU 0 — says "belongs to another program" — from "reference"
# -             if "gpu" in labels:
# -                 found.setdefault(int(labels["gpu"]), {})[match.group(1)] = float(match.group(5))
# +             found.setdefault(int(labels.get("gpu", 0)), {})[match.group(1)] = float(match.group(5))

# %% wrong: the last line is left out — says "the last line of the page is a line like the others" — from "reference": `text.split("\n")` → "text.splitlines()[:-1]"

# %% right: labels cut at a quote and a comma
def parse_metrics(text):
    page = {}
    for line in text.splitlines():
        if line.startswith("#") or "{" not in line:
            continue
        name, rest = line.split("{", 1)
        inside, value = rest.rsplit("}", 1)
        labels = {}
        for piece in inside.rstrip(", ").removesuffix('"').split('",'):
            if '="' in piece:
                key, words = piece.split('="', 1)
                labels[key.strip()] = words
        if "gpu" in labels:
            page.setdefault(int(labels["gpu"]), {})[name] = float(value.split()[0])
    return page

# %% wrong: a line without the label belongs to the GPU of the line before — says "belongs to no GPU" — from "reference"
# -     found = {}
# +     found, gpu = {}, None

# -             if "gpu" in labels:
# -                 found.setdefault(int(labels["gpu"]), {})[match.group(1)] = float(match.group(5))
# +             gpu = labels.get("gpu", gpu)
# +             if gpu is not None:
# +                 found.setdefault(int(gpu), {})[match.group(1)] = float(match.group(5))

# %% wrong: one space at most after a comma — says "several spaces after a comma" — from "reference": `r'\s*(\w+)\s*=` → `r' ?(\w+)\s*=`

# %% wrong: only "# " begins a comment — says "also without a space after it" — from "one character after the other"
# -         if not line or line[0] == "#" or "{" not in line:
# +         if not line or line[:2] == "# " or "{" not in line:

# %% wrong: an exponent without a plus sign — says "An exponent may have a sign" — from "reference": `(\S+)")` → `([-+]?(?:[\d.]+(?:e-?\d+)?|Inf))")`

# %% wrong: names in capitals only — says "may have small letters" — from "reference": `([a-zA-Z_:][\w:]*)` → `([A-Z_:][A-Z0-9_:]*)`
