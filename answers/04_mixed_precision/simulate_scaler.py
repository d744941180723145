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

# %% wrong: count not reset after an infinity — says "begin anew after an infinite"
def simulate_scaler(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
    scale, good_steps, scales = init_scale, 0, []
    for infinite in found_inf:
        if infinite:
            scale *= backoff_factor
        else:
            good_steps += 1
            if good_steps == growth_interval:
                scale, good_steps = scale * growth_factor, 0
        scales.append(scale)
    return scales

# %% wrong: grows at once — says "good steps in a row, not after each"
def simulate_scaler(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
    scales = []
    for infinite in found_inf:
        init_scale *= backoff_factor if infinite else growth_factor
        scales.append(init_scale)
    return scales

# %% wrong: grows from then on — says "has grown, too"
def simulate_scaler(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
    scale, good_steps, scales = init_scale, 0, []
    for infinite in found_inf:
        if infinite:
            scale, good_steps = scale * backoff_factor, 0
        else:
            good_steps += 1
            if good_steps >= growth_interval:
                scale *= growth_factor
        scales.append(scale)
    return scales

# %% wrong: one step late — says "expected"
def simulate_scaler(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
    scale, good_steps, scales = init_scale, 0, []
    for infinite in found_inf:
        if infinite:
            scale, good_steps = scale * backoff_factor, 0
        else:
            good_steps += 1
            if good_steps > growth_interval:
                scale, good_steps = scale * growth_factor, 0
        scales.append(scale)
    return scales

# %% wrong: scale before the update — says "expected"
def simulate_scaler(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
    scale, good_steps, scales = init_scale, 0, []
    for infinite in found_inf:
        scales.append(scale)
        if infinite:
            scale, good_steps = scale * backoff_factor, 0
        else:
            good_steps += 1
            if good_steps == growth_interval:
                scale, good_steps = scale * growth_factor, 0
    return scales

# %% wrong: never grows — says "expected"
def simulate_scaler(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
    scales = []
    for infinite in found_inf:
        init_scale *= backoff_factor if infinite else 1
        scales.append(init_scale)
    return scales

# %% wrong: factors written in — says "are arguments"
def simulate_scaler(found_inf, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000):
    scale, good_steps, scales = init_scale, 0, []
    for infinite in found_inf:
        if infinite:
            scale, good_steps = scale / 2, 0
        else:
            good_steps += 1
            if good_steps == growth_interval:
                scale, good_steps = scale * 2, 0
        scales.append(scale)
    return scales

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
