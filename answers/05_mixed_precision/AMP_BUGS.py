# %% right: reference
AMP_BUGS = {
    "A": "optimizer_steps",
    "B": "clip_before_unscale",
    "C": "new_scaler",
    "D": "half_weights",
    "E": "unscale_in_window",
    "F": "backward_in_autocast",
}

# %% right: by code
AMP_BUGS = {
    letter: code
    for code, letter in {
        "backward_in_autocast": "F",
        "unscale_in_window": "E",
        "half_weights": "D",
        "new_scaler": "C",
        "clip_before_unscale": "B",
        "optimizer_steps": "A",
    }.items()
}

# %% wrong: no update in A — says "5 of 6 entries are right" — earns 2.25 — from "reference": "optimizer_steps" → "no_update"

# %% wrong: E not divided, the rest swapped — says "0 of 6 entries are right"
AMP_BUGS = {
    "A": "backward_in_autocast",
    "B": "unscale_in_window",
    "C": "no_update",
    "D": "new_scaler",
    "E": "loss_not_divided",
    "F": "optimizer_steps",
}

# %% wrong: lower-case keys — says "no entry for A"
AMP_BUGS = {"a": "optimizer_steps", "b": "clip_before_unscale"}

# %% wrong: a string — says "is not a dict" — from "lower-case keys": `{"a": "optimizer_steps", "b": "clip_before_unscale"}` → `"optimizer_steps"`

# %% wrong: one code for everything — says "1 of 6 entries is right"
AMP_BUGS = dict.fromkeys("ABCDEF", "optimizer_steps")
