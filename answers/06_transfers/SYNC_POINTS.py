# %% right: reference
SYNC_POINTS = {
    "plain": "immediate",
    "pageable": "immediate",
    "pinned": "deferred",
    "reused": "race",
    "looked": "race",
    "synchronized": "deferred",
    "logged": "immediate",
    "gpu": "error",
}

# %% right: by answer
_groups = {
    "immediate": ("logged", "plain", "pageable"),
    "deferred": ("pinned", "synchronized"),
    "race": ("looked", "reused"),
    "error": ("gpu",),
}
SYNC_POINTS = {key: answer for answer, keys in _groups.items() for key in keys}

# %% wrong: believes in non_blocking — says "7 of 8 entries are right" — earns 3 — from "reference"
# -     "pageable": "immediate",
# +     "pageable": "deferred",

# %% wrong: sees no races — says "6 of 8 entries are right" — earns 2 — from "reference"
# -     "reused": "race",
# +     "reused": "deferred",
# -     "looked": "race",
# +     "looked": "deferred",

# %% wrong: sees races everywhere — says "5 of 8 entries are right" — earns 1 — from "reference"
# -     "pageable": "immediate",
# +     "pageable": "race",
# -     "pinned": "deferred",
# +     "pinned": "race",

# -     "synchronized": "deferred",
# +     "synchronized": "race",

# %% wrong: "gpu" is a device — says "7 of 8 entries are right" — earns 3 — from "reference": "error" → "deferred"

# %% wrong: item does not wait, a plain copy neither — says "6 of 8 entries are right" — earns 2 — from "reference"
# -     "plain": "immediate",
# +     "plain": "deferred",

# -     "logged": "immediate",
# +     "logged": "deferred",

# %% wrong: half of the keys — says "no entry for looked"
SYNC_POINTS = {"plain": "immediate", "pageable": "immediate", "pinned": "deferred", "reused": "race"}

# %% wrong: everything is immediate — says "3 of 8 entries are right"
SYNC_POINTS = dict.fromkeys(
    ["plain", "pageable", "pinned", "reused", "looked", "synchronized", "logged", "gpu"], "immediate"
)

# %% wrong: a list — says "is not a dict"
SYNC_POINTS = ["immediate", "immediate", "deferred", "race", "race", "deferred", "immediate", "error"]

# %% wrong: everything is a race — says "2 of 8 entries are right" — from "everything is immediate": "immediate" → "race"

# %% hostile: a dict that answers whatever is asked — earns 0
class Yes(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


SYNC_POINTS = {
    key: Yes("?") for key in ("plain", "pageable", "pinned", "reused", "looked", "synchronized", "logged", "gpu")
}

# %% wrong: item is a race — says "`.item()` waits for the value" — earns 3 — from "reference": `"logged": "immediate"` → `"logged": "race"`

# %% wrong: a race in a plain copy, and an exception where there is none — says "nothing comes too early" — earns 2 — from "reference": `"plain": "immediate"` → `"plain": "race"`, `"looked": "race"` → `"looked": "error"`
