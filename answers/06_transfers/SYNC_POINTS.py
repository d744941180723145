# %% right: reference
SYNC_POINTS = {
    "plain": "immediate",
    "pageable": "immediate",
    "pinned": "deferred",
    "reused": "race",
    "looked": "race",
    "synchronised": "deferred",
    "logged": "immediate",
    "gpu": "error",
}

# %% right: by answer
_groups = {
    "immediate": ("logged", "plain", "pageable"),
    "deferred": ("pinned", "synchronised"),
    "race": ("looked", "reused"),
    "error": ("gpu",),
}
SYNC_POINTS = {key: answer for answer, keys in _groups.items() for key in keys}

# %% wrong: believes in non_blocking — says "whatever non_blocking says" — earns 3.5 — from "reference"
# -     "pageable": "immediate",
# +     "pageable": "deferred",

# %% wrong: sees no races — says "It reads the target" — earns 3 — from "reference"
# -     "reused": "race",
# +     "reused": "deferred",
# -     "looked": "race",
# +     "looked": "deferred",

# %% wrong: sees races everywhere — says "same queue" — earns 2.5 — from "reference"
# -     "pageable": "immediate",
# +     "pageable": "race",
# -     "pinned": "deferred",
# +     "pinned": "race",

# -     "synchronised": "deferred",
# +     "synchronised": "race",

# %% wrong: "gpu" is a device — says "torch knows" — earns 3.5 — from "reference": "error" → "deferred"

# %% wrong: item does not wait, a plain copy neither — says "has to be there" — earns 3 — from "reference"
# -     "plain": "immediate",
# +     "plain": "deferred",

# -     "logged": "immediate",
# +     "logged": "deferred",

# %% wrong: half of the keys — says "looked" — earns 2
SYNC_POINTS = {"plain": "immediate", "pageable": "immediate", "pinned": "deferred", "reused": "race"}

# %% wrong: everything is immediate — says "overwrites the source" — earns 1.5
SYNC_POINTS = dict.fromkeys(
    ["plain", "pageable", "pinned", "reused", "looked", "synchronised", "logged", "gpu"], "immediate"
)

# %% wrong: a list — says "a dict"
SYNC_POINTS = ["immediate", "immediate", "deferred", "race", "race", "deferred", "immediate", "error"]

# %% hostile: a dict that answers whatever is asked — earns 0
class Yes(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


SYNC_POINTS = {
    key: Yes("?") for key in ("plain", "pageable", "pinned", "reused", "looked", "synchronised", "logged", "gpu")
}
