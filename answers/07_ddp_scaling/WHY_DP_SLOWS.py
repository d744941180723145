# %% right: reference
WHY_DP_SLOWS = {"replicates", "gil", "gathers", "one_updates"}

# %% right: frozen, from a sentence
WHY_DP_SLOWS = frozenset("one_updates gathers gil replicates".split())

# %% wrong: one missed — says "3 of 4 found, 0 false alarms" — from "reference": `, "one_updates"` → ""

# %% wrong: takes it for processes — says "4 of 4 found, 1 false alarm."
WHY_DP_SLOWS = {"replicates", "gil", "gathers", "one_updates", "processes"}

# %% wrong: sees a ring where there is a server — says "0 of 4 found, 1 false alarm."
WHY_DP_SLOWS = {"too_many_rings"}

# %% wrong: every GPU does everything — says "1 of 4 found, 2 false alarms"
WHY_DP_SLOWS = {"every_batch", "rereads", "gil"}

# %% wrong: the whole menu — says "4 of 4 found, 5 false alarms"
WHY_DP_SLOWS = {
    "replicates", "every_batch", "gil", "rereads", "gathers", "too_many_rings", "one_updates", "float64", "processes",
}

# %% wrong: a spelling of one's own — says "not on the menu" — from "reference": "gil" → "GIL"

# %% wrong: an empty dict — says "write set()" — from "reference": `"replicates", "gil", "gathers", "one_updates"` → ""

# %% wrong: a list — says "a list is not a set of codes"
WHY_DP_SLOWS = ["replicates", "gil", "gathers", "one_updates"]

# %% hostile: a set that holds everything — earns 0
class Everything(set):
    def __contains__(self, item):
        return True

    def __len__(self):
        return 4


WHY_DP_SLOWS = Everything()

# %% wrong: a comma is missing — says "with commas between them" — from "reference": `"gil", ` → `"gil" `

# %% wrong: all codes in one text — says "quote each one by itself" — from "reference": `"replicates", "gil", "gathers", "one_updates"` → `"replicates, gil, gathers, one_updates"`

# %% wrong: a set of letters — says "set() splits a string"
WHY_DP_SLOWS = set("replicates gil gathers one_updates")
