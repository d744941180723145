# %% right: reference
CASE_2 = {"short_batch", "wrong_width", "fed_loader"}

# %% right: found one after another
CASE_2 = set()
if 123 % 64 % 8:
    CASE_2.add("short_batch")
if 64 != 16:
    CASE_2 |= {"wrong_width"}
CASE_2 = CASE_2.union(["fed_loader"])

# %% wrong: overlooks the loader — says "2 of 3 found, 0 false alarms" — from "reference": `, "fed_loader"` → ""

# %% wrong: blames the batch size that was asked for — says "2 of 3 found, 1 false alarm."
CASE_2 = {"batch_size", "wrong_width", "fed_loader"}

# %% wrong: takes the first layer's word for the data's width — says "2 of 3 found, 0 false alarms"
CASE_2 = {"short_batch", "fed_loader"}

# %% wrong: 123 in batches of 64 divides up well — says "2 of 3 found, 0 false alarms"
CASE_2 = {"wrong_width", "fed_loader"}

# %% wrong: asks for powers of two and an activation at the end — says "3 of 3 found, 2 false alarms"
CASE_2 = {"short_batch", "wrong_width", "fed_loader", "power_of_two", "no_activation"}

# %% wrong: only what a reviewer of networks could say — says "0 of 3 found"
CASE_2 = {"hidden_width", "batch_size"}

# %% wrong: the whole menu — says "12 false alarms"
CASE_2 = {
    "input_width", "hidden_width", "output_width", "batch_size", "short_batch", "image_size", "kernel_size",
    "power_of_two", "no_activation", "math_heavy", "wrong_width", "wrong_classes", "shrinking", "fed_loader", "syntax",
}

# %% wrong: numbers of lines — says "is not on the menu" — from "reference": `"short_batch", "wrong_width", "fed_loader"` → "2, 5, 13"

# %% wrong: a dict with reasons — says "a dict is not a set of codes"
CASE_2 = {"short_batch": "123 = 64 + 59", "wrong_width": "16", "fed_loader": "loader for batch"}

# %% wrong: nothing — says "a NoneType is not a set of codes" — from "reference": `{"short_batch", "wrong_width", "fed_loader"}` → "None"

# %% hostile: strings that are any code — earns 0
class Code(str):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash("fed_loader")


CASE_2 = {Code("a"), Code("b"), Code("c")}
