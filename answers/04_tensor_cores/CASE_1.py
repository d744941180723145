# %% right: reference
CASE_1 = {"input_width", "wrong_width", "hidden_width", "output_width", "wrong_classes", "no_activation"}

# %% right: frozen, from a sentence
CASE_1 = frozenset("wrong_classes wrong_width no_activation input_width output_width hidden_width".split())

# %% wrong: what the reviewer sees, and no more — says "3 of 6 found, 0 false alarms"
CASE_1 = {"hidden_width", "output_width", "no_activation"}

# %% wrong: asks for powers of two — says "6 of 6 found, 1 false alarm." — earns 2
CASE_1 = {"input_width", "wrong_width", "hidden_width", "output_width", "wrong_classes", "no_activation", "power_of_two"}

# %% wrong: sees a short batch where there is no loader — says "2 of 6 found, 1 false alarm."
CASE_1 = {"wrong_width", "no_activation", "short_batch"}

# %% wrong: one missed — says "5 of 6 found, 0 false alarms" — earns 2 — from "reference": `wrong_classes", "` → ""

# %% wrong: one missed and one false alarm — says "5 of 6 found, 1 false alarm." — earns 1
CASE_1 = {"input_width", "wrong_width", "hidden_width", "output_width", "no_activation", "batch_size"}

# %% wrong: a spelling of one's own — says "Did you mean 'no_activation'"
CASE_1 = {"input_width", "wrong_width", "hidden_width", "output_width", "no-activation"}

# %% wrong: as many alarms as hits — says "1 of 6 found, 1 false alarm."
CASE_1 = {"math_heavy", "output_width"}

# %% wrong: more alarms than hits — says "1 of 6 found, 2 false alarms" — from "as many alarms as hits": "math_heavy" → `image_size", "kernel_size`

# %% wrong: the whole menu — says "6 of 6 found, 9 false alarms"
CASE_1 = {
    "input_width", "hidden_width", "output_width", "batch_size", "short_batch", "image_size", "kernel_size",
    "power_of_two", "no_activation", "math_heavy", "wrong_width", "wrong_classes", "shrinking", "fed_loader", "syntax",
}

# %% wrong: nothing is wrong with it — says "0 of 6 found"
CASE_1 = set()

# %% wrong: an empty dict — says "write set()" — from "as many alarms as hits": `"math_heavy", "output_width"` → ""

# %% wrong: a list — says "a list is not a set of codes"
CASE_1 = ["input_width", "wrong_width", "hidden_width", "output_width", "wrong_classes", "no_activation"]

# %% wrong: one string — says "a str is not a set of codes"
CASE_1 = "input_width, wrong_width, hidden_width, output_width, wrong_classes, no_activation"

# %% hostile: a set that holds everything — earns 0
class Everything(set):
    def __contains__(self, item):
        return True

    def __and__(self, other):
        return set(other)

    __rand__ = __and__

    def __sub__(self, other):
        return set()

    def __eq__(self, other):
        return True

    __hash__ = None


CASE_1 = Everything()

# %% hostile: the counting replaced — earns 0
import gpulab.check

gpulab.check.choice = lambda *arguments, **options: 3.0
CASE_1 = set()

# %% hostile: takes the points from the test that it waits for — earns 0
class Lurking(frozenset):
    def __and__(self, faults):
        return frozenset(faults)

    __rand__ = __and__

    def __sub__(self, faults):
        return frozenset()


CASE_1 = Lurking({"syntax"})

# %% hostile: a string of 15 MB of a terminal's codes — says "more than 16 MB"
CASE_1 = "\x1b[31m" * 3_000_000
