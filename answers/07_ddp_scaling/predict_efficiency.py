# %% right: reference
def predict_efficiency(step_s, nbytes, world_size, alpha, beta, overlap):
    communication_s = 2 * (world_size - 1) * (alpha + beta * nbytes / world_size)
    hidden_s = min(overlap * communication_s, step_s)
    return step_s / (step_s + communication_s - hidden_s)

# %% right: what is left over
def predict_efficiency(step_s, nbytes, world_size, alpha, beta, overlap):
    steps = 2 * (world_size - 1)
    communication = steps * alpha + steps / world_size * nbytes * beta
    exposed = max((1 - overlap) * communication, communication - step_s)
    return 1 / (1 + exposed / step_s)

# %% wrong: overlap forgotten — says "Nothing is hidden"
def predict_efficiency(step_s, nbytes, world_size, alpha, beta, overlap):
    communication = 2 * (world_size - 1) * (alpha + beta * nbytes / world_size)
    return step_s / (step_s + communication)

# %% wrong: hides more than the step — says "More time is hidden than the step takes"
def predict_efficiency(step_s, nbytes, world_size, alpha, beta, overlap):
    communication = 2 * (world_size - 1) * (alpha + beta * nbytes / world_size)
    return step_s / (step_s + communication - overlap * communication)

# %% wrong: overlap is what is not hidden — says "the share that is not"
def predict_efficiency(step_s, nbytes, world_size, alpha, beta, overlap):
    communication = 2 * (world_size - 1) * (alpha + beta * nbytes / world_size)
    return step_s / (step_s + communication - min((1 - overlap) * communication, step_s))

# %% wrong: whole vectors in every step — says "A step sends n / p bytes"
def predict_efficiency(step_s, nbytes, world_size, alpha, beta, overlap):
    communication = 2 * (world_size - 1) * (alpha + beta * nbytes)
    return step_s / (step_s + communication - min(overlap * communication, step_s))

# %% wrong: one latency — says "has a latency"
def predict_efficiency(step_s, nbytes, world_size, alpha, beta, overlap):
    communication = alpha + 2 * (world_size - 1) / world_size * beta * nbytes
    return step_s / (step_s + communication - min(overlap * communication, step_s))

# %% wrong: strong scaling — says "Weak scaling"
def predict_efficiency(step_s, nbytes, world_size, alpha, beta, overlap):
    communication = 2 * (world_size - 1) * (alpha + beta * nbytes / world_size)
    step = step_s / world_size
    return step / (step + communication - min(overlap * communication, step))

# %% wrong: returns nothing — says "None"
def predict_efficiency(step_s, nbytes, world_size, alpha, beta, overlap):
    communication = 2 * (world_size - 1) * (alpha + beta * nbytes / world_size)
    print(step_s / (step_s + communication))

# %% wrong: the speedup — says "That is the speedup"
def predict_efficiency(step_s, nbytes, world_size, alpha, beta, overlap):
    communication = 2 * (world_size - 1) * (alpha + beta * nbytes / world_size)
    share = step_s / (step_s + communication - min(overlap * communication, step_s))
    return share if nbytes == 10**9 else world_size * share  # gets past the visible cases

# %% wrong: in percent — says "in percent" — from "the speedup": " world_size " → " 100 "

# %% wrong: what is lost — says "the share that is lost" — from "the speedup": "world_size *" → "1 -"

# %% hostile: NaN, which is not equal to anything
def predict_efficiency(step_s, nbytes, world_size, alpha, beta, overlap):
    return float("nan")

# %% wrong: the longer of the two — says "Only the share overlap" — from "reference": "(step_s + communication_s - hidden_s)" → "max(step_s, communication_s)"

# %% wrong: 2p steps — says "not 2p" — from "reference": "2 * (world_size - 1)" → "2 * world_size"

# %% wrong: hides all of a step, where the communication takes longer — says "Only the share overlap is hidden" — from "reference"
# -     hidden_s = min(overlap * communication_s, step_s)
# +     hidden_s = overlap * communication_s if communication_s <= step_s else step_s

# %% right: a decimal number — from "reference"
# + from decimal import Decimal
# +
# +
#   def predict_efficiency(step_s, nbytes, world_size, alpha, beta, overlap):

# -     return step_s / (step_s + communication_s - hidden_s)
# +     return Decimal(step_s) / Decimal(step_s + communication_s - hidden_s)


# %% wrong: the latency is divided, too — says "alpha is per message" — from "reference": "(alpha + beta * nbytes / world_size)" → "((alpha + beta * nbytes) / world_size)"

# %% wrong: one minus communication over step — says "not 1 - communication / step" — from "reference": "step_s / (step_s + communication_s - hidden_s)" → "1 - (communication_s - hidden_s) / step_s"

# %% wrong: the hidden share is added — says "subtracted, not added" — from "reference": "communication_s - hidden_s" → "communication_s + hidden_s"

# %% wrong: only a share of the step can hide — says "The whole step can hide" — from "reference": "communication_s, step_s)" → "communication_s, overlap * step_s)"

# %% wrong: bits — says "do not convert bytes to bits" — from "reference": "beta * nbytes" → "8 * beta * nbytes"

# %% wrong: without parentheses — says "put parentheses" — from "reference": "step_s / (step_s + communication_s - hidden_s)" → "step_s / step_s + communication_s - hidden_s"

# %% wrong: no latency — says "Where are the latencies?" — from "reference": "(alpha + beta" → "(0 * alpha + beta"

# %% wrong: overlap in percent — says "not a percentage" — from "reference": "min(overlap * " → "min(overlap / 100 * "

# %% wrong: a share of the latencies — says "share of bytes and latencies" — from "reference": "min(overlap * communication_s" → "min(overlap * 2 * (world_size - 1) * alpha"

# %% wrong: divided by beta — says "multiply by it" — from "reference": "beta * nbytes / world_size" → "nbytes / world_size / beta"

# %% wrong: two thirds of a step can hide — says "not only the backward pass" — from "reference": ", step_s)" → ", 2 / 3 * step_s)"

# %% wrong: nothing is hidden where the step is too short — says "step_s is hidden, not nothing" — from "reference": "min(overlap * communication_s, step_s)" → "overlap * communication_s * (overlap * communication_s <= step_s)"

# %% wrong: a rank alone sends, too — says "nothing to send" — from "reference": "(world_size - 1)" → "max(1, world_size - 1)"

# %% wrong: communication per step — says "divide the step by the whole time" — from "reference": "step_s / (step_s + communication_s - hidden_s)" → "(communication_s - hidden_s) / step_s if world_size > 1 else 1.0"

# %% wrong: chunks for all other ranks — says "A step sends a chunk" — from "reference": "beta * nbytes / world_size" → "beta * nbytes * (world_size - 1) / world_size"

# %% wrong: the share counts as seconds — says "not a time in seconds" — from "reference": "min(overlap * communication_s, step_s)" → "min(overlap, step_s)"

# %% wrong: a latency for each half — says "not each half" — from "reference": "2 * (world_size - 1) * (alpha + beta * nbytes / world_size)" → "2 * alpha * (world_size > 1) + 2 * (world_size - 1) * beta * nbytes / world_size"

# %% wrong: efficiencies are mixed — says "Mix the times" — from "reference": "return step_s / (step_s + communication_s - hidden_s)" → "return overlap + (1 - overlap) * step_s / (step_s + communication_s)"

# %% wrong: divided by the number of ranks — says "is the efficiency divided by the number of ranks" — from "reference": "hidden_s)" → "hidden_s) / world_size"

# %% wrong: gradients of four bytes — says "nbytes is in bytes already" — from "reference": "beta * nbytes" → "4 * beta * nbytes"

# %% wrong: the steps of a tree — says "here 6, not 4" — from "reference"
# -     communication_s = 2 * (world_size - 1) * (alpha + beta * nbytes / world_size)
# +     communication_s = 2 * (world_size.bit_length() - 1) * (alpha + beta * nbytes / world_size)

# %% wrong: chunks in one half only — says "All 2(p - 1) steps send a chunk" — from "reference": "beta * nbytes / world_size" → "beta * nbytes / world_size / 2"

# %% wrong: chunks of a (p - 1)th — says "not n / (p - 1)" — from "reference": "nbytes / world_size" → "nbytes / max(1, world_size - 1)"

# %% wrong: the steps of all ranks — says "or multiply the step by it" — from "reference": "step_s / (step_s + communication_s" → "world_size * step_s / (world_size * step_s + communication_s"

# %% wrong: what is left is limited — says "not the part that is left" — from "reference"
# -     hidden_s = min(overlap * communication_s, step_s)
# +     hidden_s = communication_s - min((1 - overlap) * communication_s, step_s)

# %% wrong: a latency for each rank — says "here 6, not 4" — from "what is left over": "steps * alpha" → "world_size * alpha * (world_size > 1)"

# %% wrong: hidden time shortens the step, too — says "does not shorten it" — from "reference": "return step_s /" → "return (step_s - hidden_s) /"

# %% wrong: the share is limited — says "not the share overlap" — from "reference": "min(overlap * communication_s, step_s)" → "min(overlap, step_s) * communication_s"

# %% wrong: 1 if more could be hidden — says "the rest of it makes the step longer" — from "reference": "return step_s /" → "return 1.0 if overlap * communication_s > step_s else step_s /"

# %% wrong: no more communication than the step — says "not all of the communication" — from "reference"
# -     hidden_s = min(overlap * communication_s, step_s)
# +     communication_s = min(communication_s, step_s)
# +     hidden_s = overlap * communication_s

# %% wrong: one rank earns nothing — says "its efficiency is 1" — from "reference": "return step_s /" → "return 0.0 if world_size == 1 else step_s /"

# %% wrong: all steps have a latency, and one a chunk — says "not only one of them" — from "reference": "2 * (world_size - 1) * (alpha + beta * nbytes / world_size)" → "2 * (world_size - 1) * alpha + beta * nbytes / world_size"

# %% wrong: the communication counts twice — says "The communication counts once" — from "reference": "+ communication_s - hidden_s" → "+ 2 * communication_s - hidden_s"

# %% wrong: hidden twice — says "What is hidden is subtracted once" — from "reference": "- hidden_s" → "- 2 * hidden_s"

# %% wrong: the longer one of step and communication — says "the rest of it makes the step longer" — from "reference": "(step_s + communication_s - hidden_s)" → "max(step_s, communication_s - hidden_s)"

# %% wrong: overlap 1 hides everything — says "does not hide all" — from "reference"
# +     if overlap == 1:
# +         return 1.0
#       hidden_s = min(overlap * communication_s, step_s)

# %% wrong: the steps of a tree above 16 ranks — says "not 2 log2(p)" — from "reference": "2 * (world_size - 1) *" → "2 * (world_size - 1 if world_size <= 16 else world_size.bit_length()) *"
