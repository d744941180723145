# %% right: reference
def render_metrics(samples):
    groups = {}
    for sample in samples:
        groups.setdefault(sample["name"], []).append(sample)
    lines = []
    for name, group in groups.items():
        words = group[0]["help"].replace("\\", "\\\\").replace("\n", "\\n")
        lines += [f"# HELP {name} {words}", f"# TYPE {name} {group[0]['type']}"]
        for sample in group:
            labels = []
            for key, text in sample["labels"].items():
                text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
                labels.append(f'{key}="{text}"')
            lines.append(name + ("{" + ",".join(labels) + "}" if labels else "") + f" {float(sample['value'])!r}")
    return "".join(line + "\n" for line in lines)

# %% right: sorted, with a table of escapes, TYPE first, values as Prometheus writes them
import math
from itertools import groupby

LABEL = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
HELP = str.maketrans({"\\": r"\\", "\n": r"\n"})


def number(value):
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(value)


def render_metrics(samples):
    page = ""
    for name, group in groupby(sorted(samples, key=lambda sample: sample["name"]), key=lambda sample: sample["name"]):
        group = list(group)
        page += f"# TYPE {name} {group[0]['type']}\n# HELP {name} {group[0]['help'].translate(HELP)}\n"
        for sample in group:
            inside = ", ".join(f'{key}="{text.translate(LABEL)}"' for key, text in sorted(sample["labels"].items()))
            braces = f"{{{inside}}}" if inside else ""
            page += f"{name}{braces} {number(sample['value'])}\n"
    return page

# %% wrong: quotes are not escaped — says "A quote inside a value"
def render_metrics(samples):
    groups = {}
    for sample in samples:
        groups.setdefault(sample["name"], []).append(sample)
    page = ""
    for name, group in groups.items():
        page += f"# HELP {name} {group[0]['help']}\n# TYPE {name} {group[0]['type']}\n"
        for sample in group:
            inside = ",".join(f'{key}="{text}"' for key, text in sample["labels"].items())
            page += f"{name}{{{inside}}} {sample['value']!r}\n"
    return page

# %% wrong: braces around nothing — says "No labels, no braces" — from "reference": ` if labels else ""` → ""

# %% wrong: only quotes are escaped — says "A backslash itself is written"
def render_metrics(samples):
    groups = {}
    for sample in samples:
        groups.setdefault(sample["name"], []).append(sample)
    page = ""
    for name, group in groups.items():
        words = group[0]["help"].replace("\\", "\\\\").replace("\n", "\\n")
        page += f"# HELP {name} {words}\n# TYPE {name} {group[0]['type']}\n"
        for sample in group:
            labels = {key: text.replace('"', '\\"').replace("\n", "\\n") for key, text in sample["labels"].items()}
            inside = ",".join(f'{key}="{text}"' for key, text in labels.items())
            page += f"{name}{{{inside}}} {sample['value']!r}\n"
    return page

# %% wrong: backslashes last, so that its own are escaped too — says "A quote inside a value" — from "only quotes are escaped"
# -         words = group[0]["help"].replace("\\", "\\\\").replace("\n", "\\n")
# +         words = group[0]["help"].replace("\n", "\\n").replace("\\", "\\\\")

# -             labels = {key: text.replace('"', '\\"').replace("\n", "\\n") for key, text in sample["labels"].items()}
# +             labels = {
# +                 key: text.replace('"', '\\"').replace("\n", "\\n").replace("\\", "\\\\")
# +                 for key, text in sample["labels"].items()
# +             }

# %% wrong: newlines first, then backslashes — says "Escaped twice" — from "only quotes are escaped"
# -             labels = {key: text.replace('"', '\\"').replace("\n", "\\n") for key, text in sample["labels"].items()}
# +             labels = {
# +                 key: text.replace("\n", "\\n").replace("\\", "\\\\").replace('"', '\\"')
# +                 for key, text in sample["labels"].items()
# +             }

# %% wrong: newlines stay as they are — says "written \n" — from "quotes are not escaped"
# +             labels = {key: text.replace("\\", "\\\\").replace('"', '\\"') for key, text in sample["labels"].items()}
# -             inside = ",".join(f'{key}="{text}"' for key, text in sample["labels"].items())
# +             inside = ",".join(f'{key}="{text}"' for key, text in labels.items())

# %% wrong: HELP and TYPE before each sample — says "There must be one"
def escaped(text):
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def render_metrics(samples):
    page = ""
    for sample in samples:
        name, words = sample["name"], sample["help"].replace("\\", "\\\\").replace("\n", "\\n")
        page += f"# HELP {name} {words}\n# TYPE {name} {sample['type']}\n"
        inside = ",".join(f'{key}="{escaped(text)}"' for key, text in sample["labels"].items())
        page += f"{name}{{{inside}}} {sample['value']!r}\n"
    return page

# %% wrong: samples in the order in which they come — says "must be together" — from "HELP and TYPE before each sample"
# -     page = ""
# +     page, told = "", set()

# +         if name not in told:
# +             told.add(name)
# -         page += f"# HELP {name} {words}\n# TYPE {name} {sample['type']}\n"
# +             page += f"# HELP {name} {words}\n# TYPE {name} {sample['type']}\n"

# %% wrong: quotes escaped in HELP as well — says "a quote is not escaped"
def escaped(text):
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def render_metrics(samples):
    groups = {}
    for sample in samples:
        groups.setdefault(sample["name"], []).append(sample)
    page = ""
    for name, group in groups.items():
        page += f"# HELP {name} {escaped(group[0]['help'])}\n# TYPE {name} {group[0]['type']}\n"
        for sample in group:
            inside = ",".join(f'{key}="{escaped(text)}"' for key, text in sample["labels"].items())
            page += f"{name}{{{inside}}} {sample['value']!r}\n"
    return page

# %% wrong: no newline at the end — says "does not end with a newline" — from "quotes escaped in HELP as well"
# -     page = ""
# +     lines = []

# -         page += f"# HELP {name} {escaped(group[0]['help'])}\n# TYPE {name} {group[0]['type']}\n"
# +         words = group[0]["help"].replace("\\", "\\\\").replace("\n", "\\n")
# +         lines += [f"# HELP {name} {words}", f"# TYPE {name} {group[0]['type']}"]

# -             page += f"{name}{{{inside}}} {sample['value']!r}\n"
# +             lines.append(f"{name}{{{inside}}} {sample['value']!r}")
# -     return page
# +     return "\n".join(lines)

# %% wrong: six digits — says "Rounded" — from "quotes escaped in HELP as well"
# +         words = group[0]["help"].replace("\\", "\\\\").replace("\n", "\\n")
# -         page += f"# HELP {name} {escaped(group[0]['help'])}\n# TYPE {name} {group[0]['type']}\n"
# +         page += f"# HELP {name} {words}\n# TYPE {name} {group[0]['type']}\n"

# -             page += f"{name}{{{inside}}} {sample['value']!r}\n"
# +             page += f"{name}{{{inside}}} {sample['value']:g}\n"

# %% wrong: no TYPE — says "There is no TYPE line" — from "quotes escaped in HELP as well"
# -         page += f"# HELP {name} {escaped(group[0]['help'])}\n# TYPE {name} {group[0]['type']}\n"
# +         words = group[0]["help"].replace("\\", "\\\\").replace("\n", "\\n")
# +         page += f"# HELP {name} {words}\n"

# %% wrong: no labels — says "a second time" — from "only quotes are escaped"
# -             labels = {key: text.replace('"', '\\"').replace("\n", "\\n") for key, text in sample["labels"].items()}
# -             inside = ",".join(f'{key}="{text}"' for key, text in labels.items())
# -             page += f"{name}{{{inside}}} {sample['value']!r}\n"
# +             page += f"{name} {sample['value']!r}\n"

# %% wrong: single quotes, as Python shows a dict — says "is not a label" — from "quotes are not escaped"
# -             inside = ",".join(f'{key}="{text}"' for key, text in sample["labels"].items())
# +             inside = ",".join(f"{key}={text!r}" for key, text in sample["labels"].items())

# %% wrong: prints the page — says "not to print it"
def render_metrics(samples):
    for sample in samples:
        print(f"{sample['name']} {sample['value']}")

# %% hostile: a string that never ends — earns 0
class Text(str):
    def endswith(self, *anything):
        return True

    def split(self, *anything):
        return []


def render_metrics(samples):
    return Text()

# %% hostile: makes the library's reader of pages see nothing — earns 0
from prometheus_client import parser


def render_metrics(samples):
    parser.text_string_to_metric_families = lambda text: []
    return ""

# %% wrong: thousands set apart, which Python reads and Prometheus does not — says "is not a number"
def render_metrics(samples):
    lines = []
    for name in dict.fromkeys(sample["name"] for sample in samples):
        group = [sample for sample in samples if sample["name"] == name]
        words = group[0]["help"].replace("\\", r"\\").replace("\n", r"\n")
        lines += [f"# HELP {name} {words}", f"# TYPE {name} {group[0]['type']}"]
        for sample in group:
            texts = {key: text.replace("\\", r"\\").replace('"', r"\"") for key, text in sample["labels"].items()}
            inside = ",".join(f'{key}="{text}"' for key, text in texts.items()).replace("\n", r"\n")
            lines.append(f"{name}{{{inside}}} {sample['value']:_}")
    return "".join(line + "\n" for line in lines)

# %% hostile: 12 MB that clear a terminal's screen
def render_metrics(metrics):
    return "\x1b[2J\x1b]0;owned\x07" * 700_000

# %% right: prometheus_client writes the lines, and the names it would change are set afterwards
import math

from prometheus_client import CollectorRegistry, Metric, generate_latest


class Samples:
    def __init__(self, samples):
        self.samples = samples

    def collect(self):
        metrics = {}
        for sample in self.samples:
            name = sample["name"]
            if name not in metrics:
                metrics[name] = Metric(name, sample["help"], "gauge")
            metrics[name].add_sample(name, sample["labels"], sample["value"])
        return metrics.values()


def render_metrics(samples):
    registry = CollectorRegistry()
    registry.register(Samples(samples))
    page = generate_latest(registry).decode()
    for sample in samples:
        before, after = f"# TYPE {sample['name']} gauge\n", f"# TYPE {sample['name']} {sample['type']}\n"
        page = page.replace(before, after, 1)
    return page

# %% wrong: prometheus_client's Counter and Gauge, which add metrics of their own — says "Unexpected keys: 'seen_created'"
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest


def render_metrics(samples):
    registry, made = CollectorRegistry(), {}
    for sample in samples:
        name, labels = sample["name"], sample["labels"]
        if name not in made:
            kind = Counter if sample["type"] == "counter" else Gauge
            made[name] = kind(name, sample["help"], list(labels), registry=registry)
        one = made[name].labels(**labels) if labels else made[name]
        one.inc(sample["value"]) if sample["type"] == "counter" else one.set(sample["value"])
    return generate_latest(registry).decode()

# %% wrong: nothing for a value of zero — says "a value of zero" — from "reference": `float(sample['value'])!r` → `sample['value'] or ''`

# %% wrong: the labels of a metric's first sample for all of them — says "different labels" — from "reference"
# -             for key, text in sample["labels"].items():
# +             for key, text in zip(group[0]["labels"], sample["labels"].values()):

# %% wrong: backslashes are replaced last — says "Replace the backslashes first" — from "reference": `text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")` → `text.replace('"', '\\"').replace("\n", "\\n").replace("\\", "\\\\")`

# %% wrong: labels as JSON — says "A tab is written as it is" — from "reference"
# -                 text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
# -                 labels.append(f'{key}="{text}"')
# +                 labels.append(f"{key}={json.dumps(text, ensure_ascii=False)}")

# - def render_metrics(samples):
# + import json
# +
# +
# + def render_metrics(samples):

# %% wrong: no HELP without words — says "There is no HELP line" — from "reference"
# -         lines += [f"# HELP {name} {words}", f"# TYPE {name} {group[0]['type']}"]
# +         lines += [f"# HELP {name} {words}"] if words else []
# +         lines += [f"# TYPE {name} {group[0]['type']}"]

# %% right: no space after the name where HELP has no words — from "reference": `f"# HELP {name} {words}"` → `f"# HELP {name} {words}".rstrip(" ")`

# %% wrong: time stamps — says "A second number is a time stamp" — from "reference": `{float(sample['value'])!r}"` → `{float(sample['value'])!r} 1763650000000"`


# %% wrong: no space before the value — says "Between the name and the value is a space" — from "reference": `f" {float(sample['value'])!r}"` → `f"{float(sample['value'])!r}"`

# %% wrong: labels with a colon — says "That is not a label" — from "reference": `f'{key}="{text}"'` → `f'{key}: "{text}"'`

# %% wrong: labels after the value — says "labels come right after the name" — from "reference": `name + ("{" + ",".join(labels) + "}" if labels else "") + f" {float(sample['value'])!r}"` → `name + f" {float(sample['value'])!r}" + ("{" + ",".join(labels) + "}" if labels else "")`

# %% wrong: only the last sample of a metric — says "A sample is missing" — from "reference": `groups.setdefault(sample["name"], []).append(sample)` → `groups[sample["name"]] = [sample]`

# %% wrong: HELP without the name — says "comes the name of the metric" — from "reference": "# HELP {name} {words}" → "# HELP {words}"

# %% wrong: the words of HELP as they are — says "A newline inside a text is written" — from "reference": `words = group[0]["help"].replace("\\", "\\\\").replace("\n", "\\n")` → `words = group[0]["help"]`

# %% wrong: infinity in a word — says "Infinity is written +Inf" — from "reference": `f" {float(sample['value'])!r}"` → `f" {float(sample['value'])!r}".replace("inf", "Infinity")`

# %% wrong: counters end with total twice — says "names of the samples" — from "reference": "lines.append(name + (" → `lines.append(name + ("_total" if sample["type"] == "counter" else "") + (`

# %% wrong: infinity is never below zero — says "The sign is lost" — from "reference": `{float(sample['value'])!r}"` → `{float(sample['value'])!r}".replace("-inf", "inf")`

# %% wrong: HELP in one line — says "nothing else stands for it" — from "reference": `words = group[0]["help"].replace("\\", "\\\\").replace("\n", "\\n")` → `words = group[0]["help"].replace("\\", "\\\\").replace("\n", " ")`

# %% wrong: no TYPE for an untyped metric — says "An untyped metric has a TYPE line" — from "reference"
# -         lines += [f"# HELP {name} {words}", f"# TYPE {name} {group[0]['type']}"]
# +         lines += [f"# HELP {name} {words}"] + [f"# TYPE {name} {group[0]['type']}"] * (group[0]["type"] != "untyped")

# %% wrong: no labels without text — says "A label whose value is empty" — from "reference": `in sample["labels"].items():` → `in ((key, text) for key, text in sample["labels"].items() if text):`

# %% wrong: newlines in labels become spaces — says "A newline in a label is written" — from "reference"
# -                 text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
# +                 text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")

# %% wrong: quotes in labels become single quotes — says "A quote in a label is written" — from "reference": `.replace('"', '\\"')` → `.replace('"', "'")`

# %% wrong: backslashes in labels become slashes — says "A backslash in a label is written" — from "reference"
# -                 text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
# +                 text = text.replace("\\", "/").replace('"', '\\"').replace("\n", "\\n")

# %% wrong: the type of the first metric for all — says "That is the TYPE of one metric for all" — from "reference": `{group[0]['type']}` → `{samples[0]['type']}`

# %% wrong: the words of the last metric for all — says "That is the HELP of one metric for all" — from "reference": `group[0]["help"]` → `samples[-1]["help"]`

# %% wrong: groups are kept from call to call — says "left over from an earlier call" — from "reference"
# - def render_metrics(samples):
# -     groups = {}
# + def render_metrics(samples, groups={}):

# %% wrong: groups of neighbors only — says "must be together" — from "reference"
# - def render_metrics(samples):
# -     groups = {}
# -     for sample in samples:
# -         groups.setdefault(sample["name"], []).append(sample)
# + from itertools import groupby
# +
# +
# + def render_metrics(samples):
# +     groups = [(name, list(some)) for name, some in groupby(samples, key=lambda sample: sample["name"])]

# -     for name, group in groups.items():
# +     for name, group in groups:

# %% wrong: labels as JSON in ASCII — says "such as ü, are written as they are" — from "reference"
# -                 text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
# -                 labels.append(f'{key}="{text}"')
# +                 labels.append(f"{key}={json.dumps(text)}")

# - def render_metrics(samples):
# + import json
# +
# +
# + def render_metrics(samples):

# %% wrong: prometheus_client's Gauge for every type — says "The TYPE of a metric is the type of its samples"
from prometheus_client import CollectorRegistry, Gauge, generate_latest


def render_metrics(samples):
    registry, gauges = CollectorRegistry(), {}
    for s in samples:
        if s["name"] not in gauges:
            gauges[s["name"]] = Gauge(s["name"], s["help"], list(s["labels"]), registry=registry)
        gauge = gauges[s["name"]]
        (gauge.labels(**s["labels"]) if s["labels"] else gauge).set(s["value"])
    return generate_latest(registry).decode()

# %% wrong: repr of the labels — says "the value stands in double quotes" — from "reference": `f'{key}="{text}"'` → `f"{key}={text!r}"`

# %% wrong: no newline between groups — says "here two lines are one"
def render_metrics(samples):
    def esc(t):
        return t.replace("\\", "\\\\").replace("\n", "\\n")

    groups = {}
    for s in samples:
        groups.setdefault(s["name"], []).append(s)
    page = ""
    for name, group in groups.items():
        page += f"# HELP {name} {esc(group[0]['help'])}\n# TYPE {name} {group[0]['type']}\n"
        page += "\n".join(
            name
            + ("{" + ",".join(f'{k}="' + esc(v).replace('"', '\\"') + '"' for k, v in s["labels"].items()) + "}"
               if s["labels"] else "")
            + f" {s['value']}"
            for s in group
        )
    return page + "\n" if samples else ""

# %% wrong: semicolons between labels — says "Between two labels is a comma" — from "reference": `",".join(labels)` → `";".join(labels)`

# %% wrong: the line ends of Windows — says "end them with" — from "reference": `line + "\n" for` → `line + "\r\n" for`

# %% wrong: labels without spaces at their ends — says "Spaces and newlines at the ends of a label" — from "reference": `text = text.replace(` → `text = text.strip().replace(`

# %% wrong: letters beyond ASCII as numbers — says "All letters, such as ü" — from "reference"
#               for key, text in sample["labels"].items():
# +                 text = text.encode("ascii", "xmlcharrefreplace").decode()

# %% wrong: a dict from value to sample — says "also if another one has the same value" — from "reference": `for sample in group:` → `for sample in {one["value"]: one for one in group}.values():`

# %% wrong: counters end in _total — says "add no _total" — from "reference"
#       for name, group in groups.items():
# +         if group[0]["type"] == "counter":
# +             name = name.removesuffix("_total") + "_total"
