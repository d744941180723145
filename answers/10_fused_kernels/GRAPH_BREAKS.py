# %% right: reference
GRAPH_BREAKS = {"a": "nothing", "b": "branch", "c": "item", "d": "print", "e": "number", "f": "shape"}

# %% right: built up, with one more entry
GRAPH_BREAKS = dict(zip("abcdef", ["nothing", "branch", "item", "print", "number", "shape"]))
GRAPH_BREAKS["g"] = "loop"

# %% wrong: five of six — says "5 of 6 entries are right" — earns 1.5
GRAPH_BREAKS = {"a": "branch", "b": "branch", "c": "item", "d": "print", "e": "number", "f": "shape"}

# %% wrong: four of six — says "4 of 6 entries are right" — earns 1
GRAPH_BREAKS = {"a": "branch", "b": "branch", "c": "item", "d": "print", "e": "loop", "f": "shape"}

# %% wrong: three of six — says "3 of 6 entries are right" — earns 0.5
GRAPH_BREAKS = {"a": "branch", "b": "branch", "c": "item", "d": "print", "e": "loop", "f": "nothing"}

# %% wrong: the same everywhere — says "1 of 6 entries"
GRAPH_BREAKS = {name: "nothing" for name in "abcdef"}

# %% wrong: an entry is missing — says "no entry for f"
GRAPH_BREAKS = {"a": "nothing", "b": "branch", "c": "item", "d": "print", "e": "number"}

# %% wrong: a code of its own — says "not in the menu"
GRAPH_BREAKS = {"a": "fine", "b": "branch", "c": "item", "d": "print", "e": "number", "f": "shape"}

# %% wrong: two of six — says "2 of 6 entries are right"
GRAPH_BREAKS = {"a": "branch", "b": "branch", "c": "loop", "d": "print", "e": "loop", "f": "nothing"}

# %% hostile: a string that equals everything
class Any(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


GRAPH_BREAKS = {name: Any("nothing") for name in "abcdef"}


# %% wrong: print takes the value — says "what Dynamo cannot record" — earns 1.5
GRAPH_BREAKS = {"a": "nothing", "b": "branch", "c": "item", "d": "item", "e": "number", "f": "shape"}


# %% right: NumPy strings
import numpy as np
codes = np.array(["nothing", "branch", "item", "print", "number", "shape"])
GRAPH_BREAKS = {name: codes[i] for i, name in enumerate("abcdef")}

# %% wrong: `if` taken for a number — says "has to choose a branch" — earns 1.5
GRAPH_BREAKS = {"a": "nothing", "b": "item", "c": "item", "d": "print", "e": "number", "f": "shape"}

# %% wrong: `.item()` taken for a branch — says "There is no branch" — earns 1.5
GRAPH_BREAKS = {"a": "nothing", "b": "branch", "c": "branch", "d": "print", "e": "number", "f": "shape"}

# %% wrong: the functions themselves as keys — says "holds a value of type function"
def a(x):
    return torch.where(x.sum() > 0, x, -x)


GRAPH_BREAKS = {a: "nothing", "b": "branch", "c": "item", "d": "print", "e": "number", "f": "shape"}

# %% wrong: `.item()` taken for a number that changes — says "The first call already makes two graphs" — earns 1.5
GRAPH_BREAKS = {"a": "nothing", "b": "branch", "c": "number", "d": "print", "e": "number", "f": "shape"}

# %% wrong: another step is another shape — says "`x` is the same in all calls" — earns 1.5
GRAPH_BREAKS = {"a": "nothing", "b": "branch", "c": "item", "d": "print", "e": "shape", "f": "shape"}

# %% wrong: another step is another type, another length a loop — says "There is no loop here" — earns 1.5
GRAPH_BREAKS = {"a": "nothing", "b": "branch", "c": "item", "d": "print", "e": "number", "f": "loop"}
