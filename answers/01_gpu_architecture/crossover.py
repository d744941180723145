# %% right: reference
def crossover(sizes, cpu_seconds, gpu_seconds):
    answer = None
    for size, cpu, gpu in sorted(zip(sizes, cpu_seconds, gpu_seconds), reverse=True):
        if gpu >= cpu:
            break
        answer = size
    return answer

# %% right: the smallest size above the last loss
def crossover(sizes, cpu_seconds, gpu_seconds):
    losses = [size for size, cpu, gpu in zip(sizes, cpu_seconds, gpu_seconds) if not gpu < cpu]
    last_loss = max(losses, default=float("-inf"))
    return min((size for size in sizes if size > last_loss), default=None)

# %% right: NumPy
import numpy as np


def crossover(sizes, cpu_seconds, gpu_seconds):
    sizes, cpu, gpu = np.array(sizes), np.array(cpu_seconds), np.array(gpu_seconds)
    order = np.argsort(sizes)
    wins = (gpu < cpu)[order]
    from_here_on = np.logical_and.accumulate(wins[::-1])[::-1]
    return sizes[order][from_here_on.argmax()] if from_here_on.any() else None

# %% right: recursive, by definition
def crossover(sizes, cpu_seconds, gpu_seconds):
    rows = sorted(zip(sizes, cpu_seconds, gpu_seconds))

    def search(start):
        if start == len(rows):
            return None
        if all(gpu < cpu for _, cpu, gpu in rows[start:]):
            return rows[start][0]
        return search(start + 1)

    return search(0)

# %% wrong: first win only — says "first win"
def crossover(sizes, cpu_seconds, gpu_seconds):
    for size, cpu, gpu in sorted(zip(sizes, cpu_seconds, gpu_seconds)):
        if gpu < cpu:
            return size
    return None

# %% wrong: unsorted input — says "sort" — from "reference"
# -     for size, cpu, gpu in sorted(zip(sizes, cpu_seconds, gpu_seconds), reverse=True):
# +     for size, cpu, gpu in reversed(list(zip(sizes, cpu_seconds, gpu_seconds))):

# %% wrong: first win in the list — says "first win" — from "first win only"
# -     for size, cpu, gpu in sorted(zip(sizes, cpu_seconds, gpu_seconds)):
# +     for size, cpu, gpu in zip(sizes, cpu_seconds, gpu_seconds):

# %% wrong: sorts the sizes but not their times — says "sort whole rows" — from "reference"
# -     for size, cpu, gpu in sorted(zip(sizes, cpu_seconds, gpu_seconds), reverse=True):
# +     for size, cpu, gpu in reversed(list(zip(sorted(sizes), cpu_seconds, gpu_seconds))):

# %% wrong: a tie counts as a win — says "tie" — from "reference": " >= cpu" → " > cpu"

# %% wrong: the place in the list — says "return the size"
def crossover(sizes, cpu_seconds, gpu_seconds):
    answer = None
    rows = sorted(zip(sizes, cpu_seconds, gpu_seconds))
    for place in range(len(rows) - 1, -1, -1):
        if rows[place][2] >= rows[place][1]:
            break
        answer = place
    return answer

# %% wrong: −1 for none — says "return None" — from "reference": "None" → "-1"

# %% wrong: the last loss — says "the next size"
def crossover(sizes, cpu_seconds, gpu_seconds):
    return max((size for size, cpu, gpu in zip(sizes, cpu_seconds, gpu_seconds) if gpu >= cpu), default=None)

# %% wrong: prints the size — says "returned None"
def crossover(sizes, cpu_seconds, gpu_seconds):
    for size, cpu, gpu in sorted(zip(sizes, cpu_seconds, gpu_seconds)):
        if gpu < cpu:
            print(size)

# %% hostile endless: loops for ever when it is called — earns 0
def crossover(sizes, cpu_seconds, gpu_seconds):
    while True:
        pass

# %% wrong: asks for a tenth to spare — says "no margin" — from "reference": "gpu >= cpu" → "gpu >= 0.9 * cpu"

# %% wrong: nothing where there is no loss — says "wins at every size"
def crossover(sizes, cpu_seconds, gpu_seconds):
    rows = sorted(zip(sizes, cpu_seconds, gpu_seconds))
    losses = [place for place, (size, cpu, gpu) in enumerate(rows) if gpu >= cpu]
    if not losses or losses[-1] + 1 == len(rows):
        return None
    return rows[losses[-1] + 1][0]

# %% wrong: sorts each list by itself — says "sort whole rows"
def crossover(sizes, cpu_seconds, gpu_seconds):
    answer = None
    for size, cpu, gpu in zip(*(sorted(one, reverse=True) for one in (sizes, cpu_seconds, gpu_seconds))):
        if gpu >= cpu:
            break
        answer = size
    return answer

# %% wrong: the comparison the wrong way round — says "less time wins"
def crossover(sizes, cpu_seconds, gpu_seconds):
    answer = None
    for size, cpu, gpu in sorted(zip(sizes, cpu_seconds, gpu_seconds), reverse=True):
        if gpu <= cpu:
            break
        answer = size
    return answer

# %% hostile: floods the judge with operations of a simulated GPU — says "frames that nobody asked for"
import gc


def crossover(*arguments):
    from grader.processes.channel import Channel

    for one in gc.get_objects():
        if isinstance(one, Channel):
            for _ in range(5000):
                one.send({"id": "x", "operations": [["sleep", 1e308]]})
    return 0

# %% wrong: looks at the next size only — says "Two wins in a row are not enough"
def crossover(sizes, cpu_seconds, gpu_seconds):
    rows = sorted(zip(sizes, cpu_seconds, gpu_seconds))
    for at, (size, *_) in enumerate(rows):
        if all(gpu < cpu for _, cpu, gpu in rows[at : at + 2]):
            return size
    return None


# %% wrong: leaves out the largest size — says "The largest size counts as well" — from "looks at the next size only"
# -         if all(gpu < cpu for _, cpu, gpu in rows[at : at + 2]):
# +         if all(gpu < cpu for _, cpu, gpu in [rows[at], *rows[at + 1 : -1]]):

# %% wrong: sorts the sizes as text — says "not as text" — from "reference": ", reverse=True" → ", key=lambda row: str(row[0]), reverse=True"

# %% wrong: between the last loss and the first win — says "between two sizes" — from "reference"
# -             break
# +             return (size + answer) / 2 if answer else None

# %% wrong: a tie after a win counts as a win — says "Equally fast at 100 is not faster"
def crossover(sizes, cpu_seconds, gpu_seconds):
    answer = None
    for size, cpu, gpu in sorted(zip(sizes, cpu_seconds, gpu_seconds)):
        if gpu < cpu and answer is None:
            answer = size
        elif gpu > cpu:
            answer = None
    return answer

# %% wrong: takes a size of 0 for none — says "0 is a size as well"
def crossover(sizes, cpu_seconds, gpu_seconds):
    answer = None
    for size, cpu, gpu in sorted(zip(sizes, cpu_seconds, gpu_seconds)):
        answer = (answer or size) if gpu < cpu else None
    return answer

# %% wrong: the largest two sizes alone — says "the smallest such size"
def crossover(sizes, cpu_seconds, gpu_seconds):
    answer = None
    for size, cpu, gpu in sorted(zip(sizes, cpu_seconds, gpu_seconds))[:-3:-1]:
        if gpu >= cpu:
            break
        answer = size
    return answer

# %% wrong: ten times the largest loss — says "need not be powers of ten"
def crossover(sizes, cpu_seconds, gpu_seconds):
    rows = sorted(zip(sizes, cpu_seconds, gpu_seconds))
    losses = [size for size, cpu, gpu in rows if gpu >= cpu]
    if losses[-1:] == [rows[-1][0]]:
        return None
    return 10 * losses[-1] if losses else rows[0][0]

# %% wrong: compares the lists — says "None means that there is no such size"
def crossover(sizes, cpu_seconds, gpu_seconds):
    return min(sizes) if gpu_seconds < cpu_seconds else None

# %% wrong: how many sizes win — says "how many sizes win"
def crossover(sizes, cpu_seconds, gpu_seconds):
    wins = 0
    for size, cpu, gpu in sorted(zip(sizes, cpu_seconds, gpu_seconds), reverse=True):
        if gpu >= cpu:
            break
        wins += 1
    return wins or None

# %% wrong: walks past the smallest size — says "The GPU wins at every size here"
def crossover(sizes, cpu_seconds, gpu_seconds):
    rows = sorted(zip(sizes, cpu_seconds, gpu_seconds))
    at = len(rows) - 1
    while rows[at][2] < rows[at][1]:
        at -= 1
    return rows[at + 1][0] if at + 1 < len(rows) else None

# %% wrong: compares the sums of all later times — says "compare the two times of each size"
def crossover(sizes, cpu_seconds, gpu_seconds):
    rows = sorted(zip(sizes, cpu_seconds, gpu_seconds))
    for at, (size, _, _) in enumerate(rows):
        if sum(gpu for _, _, gpu in rows[at:]) < sum(cpu for _, cpu, _ in rows[at:]):
            return size
    return None

# %% wrong: sorts by the CPU's times — says "and not by a time" — from "reference"
# -     for size, cpu, gpu in sorted(zip(sizes, cpu_seconds, gpu_seconds), reverse=True):
# +     for cpu, gpu, size in sorted(zip(cpu_seconds, gpu_seconds, sizes), reverse=True):

# %% wrong: the size after the first loss — says "it must win at every larger size"
def crossover(sizes, cpu_seconds, gpu_seconds):
    rows = sorted(zip(sizes, cpu_seconds, gpu_seconds))
    for (_, cpu, gpu), (size, next_cpu, next_gpu) in zip(rows, rows[1:]):
        if gpu >= cpu and next_gpu < next_cpu:
            return size
    return None

# %% wrong: the row after the last loss, which may not exist — says "wins at no size: return None"
def crossover(sizes, cpu_seconds, gpu_seconds):
    rows = sorted(zip(sizes, cpu_seconds, gpu_seconds))
    losses = [at for at, (_, cpu, gpu) in enumerate(rows) if gpu >= cpu]
    return rows[max(losses, default=-1) + 1][0]

# %% wrong: the first loss — says "less time wins"
def crossover(sizes, cpu_seconds, gpu_seconds):
    for size, cpu, gpu in sorted(zip(sizes, cpu_seconds, gpu_seconds)):
        if cpu < gpu:
            return size
    return None

# %% wrong: sizes are sorted without their times — says "are sizes sorted without their times" — from "reference": "sorted(zip(sizes, cpu_seconds, gpu_seconds), reverse=True)" → "zip(sorted(sizes, reverse=True), cpu_seconds, gpu_seconds)"

# %% wrong: most of the larger sizes win — says "from which it always wins"
def crossover(sizes, cpu_seconds, gpu_seconds):
    rows = sorted(zip(sizes, cpu_seconds, gpu_seconds))
    for at, (size, _, _) in enumerate(rows):
        wins = [gpu < cpu for _, cpu, gpu in rows[at:]]
        if sum(wins) > len(wins) / 2:
            return size
    return None

# %% wrong: times rounded to microseconds — says "do not round them" — from "reference": "if gpu >= cpu:" → "if round(gpu, 6) >= round(cpu, 6):"

# %% wrong: a ratio rounded to five places — says "require no margin" — from "reference": "if gpu >= cpu:" → "if round(cpu / gpu, 5) <= 1:"
