# %% right: reference
def simulate_scaler(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
    scale, good_steps, scales = init_scale, 0, []
    for infinite in found_inf:
        if infinite:
            scale, good_steps = scale * backoff_factor, 0
        else:
            good_steps += 1
            if good_steps == growth_interval:
                scale, good_steps = scale * growth_factor, 0
        scales.append(scale)
    return scales

# %% right: asks GradScaler itself
import torch


def simulate_scaler(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
    scaler = torch.amp.GradScaler("cpu", init_scale, growth_factor, backoff_factor, growth_interval)
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.0)
    scales = []
    for infinite in found_inf:
        scaler.scale(weight.sum()).backward()
        weight.grad.fill_(float("inf") if infinite else 0.0)
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    return scales

# %% right: counts from the last event
def simulate_scaler(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
    scales, since = [], -1
    scale = init_scale
    for step, infinite in enumerate(found_inf):
        if infinite or step - since == growth_interval:
            scale *= backoff_factor if infinite else growth_factor
            since = step
        scales.append(scale)
    return scales

# %% wrong: count not reset after an infinity — says "start again after an infinite" — from "reference"
# -             scale, good_steps = scale * backoff_factor, 0
# +             scale *= backoff_factor

# %% wrong: grows at once — says "good steps in a row, not after each"
def simulate_scaler(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
    scales = []
    for infinite in found_inf:
        init_scale *= backoff_factor if infinite else growth_factor
        scales.append(init_scale)
    return scales

# %% wrong: grows from then on — says "has grown, too" — from "reference"
# -             if good_steps == growth_interval:
# +             if good_steps >= growth_interval:
# -                 scale, good_steps = scale * growth_factor, 0
# +                 scale *= growth_factor

# %% wrong: one step late — says "One step late" — from "reference": "good_steps == " → "good_steps > "

# %% wrong: scale before the update — says "before each update" — from "reference"
#       for infinite in found_inf:
# +         scales.append(scale)

# -         scales.append(scale)

# %% wrong: never grows — says "It never grows" — from "grows at once": "else growth_factor" → "else 1"

# %% wrong: factors written in — says "are arguments" — from "reference": "* backoff_factor" → "/ 2", " growth_factor," → " 2,"

# %% wrong: the last scale only — says "a list"
def simulate_scaler(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
    for infinite in found_inf:
        init_scale *= backoff_factor if infinite else 1
    return init_scale

# %% hostile: patches check
import gpulab.check

gpulab.check.equal = lambda *arguments, **named: None


def simulate_scaler(found_inf, **settings):
    return []

# %% wrong: one step early — says "One step early" — from "reference": "good_steps == growth_interval" → "good_steps == growth_interval - 1"

# %% wrong: backs off by the growth factor — says "both are arguments" — from "reference": "* backoff_factor" → "/ growth_factor"

# %% right: PyTorch's own update of a scale
import torch


def simulate_scaler(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
    scale, good_steps = torch.full((), init_scale), torch.zeros((), dtype=torch.int32)
    scales = []
    for infinite in found_inf:
        found = torch.full((), float(infinite))
        torch._amp_update_scale_(scale, good_steps, found, growth_factor, backoff_factor, growth_interval)
        scales.append(scale.item())
    return scales

# %% wrong: grows by the number of the step — says "number of the step"
def simulate_scaler(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
    scales = []
    for step, infinite in enumerate(found_inf, 1):
        if infinite:
            init_scale *= backoff_factor
        elif step % growth_interval == 0:
            init_scale *= growth_factor
        scales.append(init_scale)
    return scales

# %% wrong: grows by the number of the step, counted from 0 — says "in a row" — from "grows by the number of the step": "(found_inf, 1)" → "(found_inf)", "elif step %" → "elif step and step %"

# %% wrong: backs off from init_scale — says "not init_scale" — from "reference": "scale * backoff_factor" → "init_scale * backoff_factor"

# %% wrong: never below 1 — says "no lower limit" — from "reference": "scale * backoff_factor, 0" → "max(1.0, scale * backoff_factor), 0"

# %% wrong: never above 2**24 — says "no upper limit" — from "reference": "scale * growth_factor, 0" → "min(2.0**24, scale * growth_factor), 0"

# %% wrong: never above 65536 — says "no upper limit" — from "reference": "scale * growth_factor, 0" → "min(65536.0, scale * growth_factor), 0"

# %% wrong: never above init_scale — says "no upper limit" — from "reference": "scale * growth_factor, 0" → "min(init_scale, scale * growth_factor), 0"

# %% wrong: several infinite gradients in a row back off once — says "several in a row"
def simulate_scaler(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
    scale, good_steps, scales = init_scale, 0, []
    for step, infinite in enumerate(found_inf):
        if infinite:
            if not (step and found_inf[step - 1]):
                scale *= backoff_factor
            good_steps = 0
        else:
            good_steps += 1
            if good_steps == growth_interval:
                scale, good_steps = scale * growth_factor, 0
        scales.append(scale)
    return scales

# %% wrong: the first good step after growth does not count — says "start again at 0" — from "reference": "growth_factor, 0" → "growth_factor, -1"

# %% wrong: grows by 2, whatever is asked for — says "growth_factor is an argument" — from "reference": "scale * growth_factor" → "scale * 2"

# %% wrong: backs off by half, whatever is asked for — says "backoff_factor is an argument" — from "reference": "scale * backoff_factor" → "scale * 0.5"

# %% wrong: the count goes on from the call before — says "set it to 0 at the start of each call" — from "reference"
# - def simulate_scaler(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
# -     scale, good_steps, scales = init_scale, 0, []
# + good_steps = 0
# +
# +
# + def simulate_scaler(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
# +     global good_steps
# +     scale, scales = init_scale, []

# %% wrong: a list as a default argument — says "make a new one in each call" — from "reference": "growth_interval=2000):" → "growth_interval=2000, scales=[]):", "scale, good_steps, scales = init_scale, 0, []" → "scale, good_steps = init_scale, 0"

# %% wrong: 0 good steps are a multiple of the interval — says "by growth_factor as well" — from "reference"
# -         if infinite:
# -             scale, good_steps = scale * backoff_factor, 0
# -         else:
# -             good_steps += 1
# -             if good_steps == growth_interval:
# -                 scale, good_steps = scale * growth_factor, 0
# +         good_steps = 0 if infinite else good_steps + 1
# +         if infinite:
# +             scale *= backoff_factor
# +         if good_steps % growth_interval == 0:
# +             scale *= growth_factor

# %% wrong: counted from 1 after a growth — says "not at 1" — from "reference": "scale, good_steps = scale * growth_factor, 0" → "scale, good_steps = scale * growth_factor, 1"

# %% wrong: growth_factor is added — says "growth_factor is a factor" — from "reference": "scale, good_steps = scale * growth_factor, 0" → "scale, good_steps = scale + growth_factor, 0"

# %% wrong: grows once, and counts on — says "has grown, too" — from "reference": "scale, good_steps = scale * growth_factor, 0" → "scale *= growth_factor"

# %% wrong: whole numbers — says "do not cut it to a whole number" — from "reference": "scale * backoff_factor, 0" → "int(scale * backoff_factor), 0"

# %% wrong: the interval is 2000, whatever is asked for — says "growth_interval, which is an argument" — from "reference": "good_steps == growth_interval" → "good_steps == 2000"

# %% wrong: a scale only where it changes — says "also where it has not changed" — from "reference"
# -         scales.append(scale)
# +         if scale != (scales or [init_scale])[-1]:
# +             scales.append(scale)

# %% wrong: stops at the first infinite gradient — says "does the loop end too early" — from "reference": "scale, good_steps = scale * backoff_factor, 0" → "break"

# %% wrong: stops after the first infinite gradient — says "does the loop end too early" — from "reference"
# -         scales.append(scale)
# +         scales.append(scale)
# +         if infinite:
# +             break

# %% wrong: an array — says ".tolist() makes one" — from "reference": "return scales" → "return __import__('numpy').array(scales)"

# %% wrong: grows by the backoff — says "growth_factor is an argument" — from "reference": "scale * growth_factor, 0" → "scale / backoff_factor, 0"

# %% wrong: only scales that have changed — says "also where it has not changed"
def simulate_scaler(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
    scale, count, scales = init_scale, 0, []
    for infinite in found_inf:
        count = 0 if infinite else count + 1
        if infinite:
            scale *= backoff_factor
        elif count == growth_interval:
            scale, count = scale * growth_factor, 0
        if not scales or scales[-1] != scale:
            scales.append(scale)
    return scales

# %% wrong: the last step is left out — says "The scale after the last update is missing" — from "only scales that have changed": "in found_inf:" → "in found_inf[:-1]:", "if not scales or scales[-1] != scale:" → "if True:"

# %% wrong: the count begins at 1 — says "is 1 before the first step" — from "only scales that have changed": "init_scale, 0, []" → "init_scale, 1, []", "if not scales or scales[-1] != scale:" → "if True:"

# %% wrong: backs off only after a good step — says "whatever the step before it was" — from "reference": "scale, good_steps = scale * backoff_factor, 0" → "scale, good_steps = scale * (backoff_factor if good_steps else 1), 0"

# %% wrong: grows from init_scale — says "multiplies the current scale, not init_scale" — from "reference": "scale, good_steps = scale * growth_factor, 0" → "scale, good_steps = init_scale * growth_factor, 0"

# %% right: a generator, and the count modulo the interval
def scales_of(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
    scale, streak = init_scale, 0
    for bad in found_inf:
        streak = 0 if bad else streak + 1
        scale *= backoff_factor if bad else growth_factor if streak == growth_interval else 1
        streak %= growth_interval
        yield scale


def simulate_scaler(*args, **kwargs):
    return list(scales_of(*args, **kwargs))
