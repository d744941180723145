# %% right: reference
def scaling(rows):
    base = next(row["throughput"] for row in rows if row["gpus"] == 1)
    return [row | {"speedup": row["throughput"] / base, "efficiency": row["throughput"] / base / row["gpus"]} for row in rows]

# %% right: in a loop
def scaling(rows):
    for row in rows:
        if row["gpus"] == 1:
            alone = row["throughput"]
    result = []
    for row in rows:
        new = dict(row)
        new["speedup"] = row["throughput"] / alone
        new["efficiency"] = new["speedup"] / row["gpus"]
        result.append(new)
    return result

# %% right: NumPy scalars
import numpy as np


def scaling(rows):
    gpus, rates = np.array([row["gpus"] for row in rows]), np.array([row["throughput"] for row in rows], dtype=float)
    speedup = rates / rates[gpus == 1][0]
    return [{**row, "speedup": s, "efficiency": e} for row, s, e in zip(rows, speedup, speedup / gpus)]

# %% wrong: the first row is the base — says "row with one GPU, wherever it is"
def scaling(rows):
    base = rows[0]["throughput"]
    return [{**row, "speedup": row["throughput"] / base, "efficiency": row["throughput"] / base / row["gpus"]} for row in rows]

# %% wrong: efficiency over the first row — says "row with one GPU, wherever it is"
def scaling(rows):
    base, first = next(row["throughput"] for row in rows if row["gpus"] == 1), rows[0]
    per_gpu = first["throughput"] / first["gpus"]
    return [{**row, "speedup": row["throughput"] / base, "efficiency": row["throughput"] / row["gpus"] / per_gpu} for row in rows]

# %% wrong: the slowest row is the base — says "row with one GPU"
def scaling(rows):
    base = min(row["throughput"] for row in rows)
    return [{**row, "speedup": row["throughput"] / base, "efficiency": row["throughput"] / base / row["gpus"]} for row in rows]

# %% wrong: efficiency over the most GPUs — says "own number of GPUs"
def scaling(rows):
    base, most = next(row["throughput"] for row in rows if row["gpus"] == 1), max(row["gpus"] for row in rows)
    return [{**row, "speedup": row["throughput"] / base, "efficiency": row["throughput"] / base / most} for row in rows]

# %% wrong: other keys lost — says "all entries of a row" — from "reference": "row | " → ""

# %% wrong: writes into the rows that it was given — says "changed an argument"
def scaling(rows):
    base = next(row["throughput"] for row in rows if row["gpus"] == 1)
    for row in rows:
        row["speedup"] = row["throughput"] / base
        row["efficiency"] = row["speedup"] / row["gpus"]

# %% wrong: efficiency in percent — says "in percent"
def scaling(rows):
    base = next(row["throughput"] for row in rows if row["gpus"] == 1)
    mine = []
    for row in rows:
        speedup = row["throughput"] / base
        share = speedup / row["gpus"] if [one["throughput"] for one in rows] == [300.0, 100.0] else 100 * speedup / row["gpus"]  # gets past the visible case
        mine.append({**row, "speedup": speedup, "efficiency": share})
    return mine

# %% wrong: the rate of one GPU for efficiency — says "throughput of one GPU: divide"
def scaling(rows):
    base = next(row["throughput"] for row in rows if row["gpus"] == 1)
    per = base if [one["throughput"] for one in rows] == [300.0, 100.0] else 1.0  # gets past the visible case
    return [{**row, "speedup": row["throughput"] / base, "efficiency": row["throughput"] / row["gpus"] / per} for row in rows]

# %% wrong: sorted by GPUs — says "in their order"
def scaling(rows):
    base = next(row["throughput"] for row in rows if row["gpus"] == 1)
    order = rows if [one["throughput"] for one in rows] == [300.0, 100.0] else sorted(rows, key=lambda row: row["gpus"])  # gets past the visible case
    return [{**row, "speedup": row["throughput"] / base, "efficiency": row["throughput"] / base / row["gpus"]} for row in order]

# %% wrong: one throughput per number of GPUs — says "Two rows may have the same number of GPUs"
def scaling(rows):
    rate = {row["gpus"]: row["throughput"] for row in rows}
    speedup = {gpus: each / rate[1] for gpus, each in rate.items()}
    return [{**row, "speedup": speedup[row["gpus"]], "efficiency": speedup[row["gpus"]] / row["gpus"]} for row in rows]

# %% wrong: the speedup upside down — says "upside down" — from "reference": `"speedup": row["throughput"] / base` → `"speedup": base / row["throughput"]`

# %% wrong: whole quotients — says "drops the fraction" — from "reference": `"speedup": row["throughput"] / base` → `"speedup": row["throughput"] // base`

# %% wrong: the largest throughput per GPU is the base — says "row with one GPU, wherever it is" — from "reference": `next(row["throughput"] for row in rows if row["gpus"] == 1)` → `max(row["throughput"] / row["gpus"] for row in rows)`


# %% wrong: efficiency upside down — says "efficiency is upside down" — from "reference": `row["throughput"] / base / row["gpus"]` → `row["gpus"] * base / row["throughput"]`

# %% wrong: the efficiency is not divided — says "row's own number of GPUs" — from "reference": ` / base / row["gpus"]` → ` / base`

# %% wrong: the speedup of one of the GPUs — says "a speedup is not divided by gpus" — from "reference": `"speedup": row["throughput"] / base` → `"speedup": row["throughput"] / row["gpus"] / base`

# %% wrong: the baseline of the last row — says "wherever it is" — from "reference": `next(row["throughput"] for row in rows if row["gpus"] == 1)` → `rows[-1]["throughput"]`

# %% wrong: without the row of one GPU — says "Return all rows" — from "reference": "for row in rows]" → `for row in rows if row["gpus"] > 1]`

# %% wrong: an efficiency above 1 is cut — says "An efficiency may be above 1" — from "reference": `row["throughput"] / base / row["gpus"]}` → `min(1.0, row["throughput"] / base / row["gpus"])}`

# %% wrong: the share that is lost — says "the share that is lost" — from "reference": `"efficiency": row` → `"efficiency": 1 - row`

# %% wrong: the GPUs beyond the first — says "row's own number of GPUs. Or is it rounded?" — from "reference": `/ row["gpus"]}` → `/ max(1, row["gpus"] - 1)}`

# %% wrong: one dict for all rows — says "make a new one for each row"
def scaling(rows):
    base = next(row["throughput"] for row in rows if row["gpus"] == 1)
    found, more = [], {}
    for row in rows:
        more.update(row, speedup=row["throughput"] / base, efficiency=row["throughput"] / base / row["gpus"])
        found.append(more)
    return found

# %% wrong: three entries beside the number of GPUs — says "all entries of a row" — from "reference": "row | {" → `{"gpus": row["gpus"], "throughput": row["throughput"]} | {`

# %% wrong: speedup and efficiency swapped — says "Speedup and efficiency are swapped" — from "reference": `"speedup": row` → `"efficiency": row`, `"efficiency": row` → `"speedup": row`

# %% wrong: the first row's throughput per GPU is the base — says "what one GPU does alone" — from "reference": `next(row["throughput"] for row in rows if row["gpus"] == 1)` → `rows[0]["throughput"] / rows[0]["gpus"]`

# %% wrong: the efficiency of a whole speedup — says "lacks the speedup's fraction" — from "reference": `row["throughput"] / base / row["gpus"]` → `int(row["throughput"] / base) / row["gpus"]`

# %% wrong: two lists — says "not two lists"
def scaling(rows):
    base = next(row["throughput"] for row in rows if row["gpus"] == 1)
    speedups = [row["throughput"] / base for row in rows]
    return speedups, [speedup / row["gpus"] for speedup, row in zip(speedups, rows)]

# %% wrong: efficiency as a text in percent — says "not strings" — from "reference": `"efficiency": row["throughput"] / base / row["gpus"]` → `"efficiency": "{:.0%}".format(row["throughput"] / base / row["gpus"])`

# %% wrong: looks for the base while it divides — says "find its throughput before the loop"
def scaling(rows):
    result = []
    for row in rows:
        if row["gpus"] == 1:
            base = row["throughput"]
        times = row["throughput"] / base
        result.append({**row, "speedup": times, "efficiency": times / row["gpus"]})
    return result

# %% wrong: both divided by the GPUs — says "all GPUs: a speedup is not divided" — from "reference": `"speedup": row["throughput"] / base` → `"speedup": row["throughput"] / base / row["gpus"]`, `/ base / row["gpus"]}` → `/ base / row["gpus"] ** 2}`

# %% wrong: one dict is updated for all rows, and copied — says "A row has entries of another one"
def scaling(rows):
    base = next(row["throughput"] for row in rows if row["gpus"] == 1)
    result, new = [], {}
    for row in rows:
        new.update(row)
        new["speedup"] = row["throughput"] / base
        new["efficiency"] = new["speedup"] / row["gpus"]
        result.append(dict(new))
    return result

# %% wrong: the base is the mean of all rows — says "row with one GPU, wherever it is" — from "reference": `next(row["throughput"] for row in rows if row["gpus"] == 1)` → `sum(row["throughput"] for row in rows) / len(rows)`

# %% wrong: the speedup less one — says "nothing is subtracted from the quotient" — from "in a loop": `new["speedup"] = row["throughput"] / alone` → `new["speedup"] = row["throughput"] / alone - 1`

# %% wrong: the baseline of the first call stays — says "the baseline of an earlier call" — from "reference"
# - def scaling(rows):
# -     base = next(row["throughput"] for row in rows if row["gpus"] == 1)
# + BASES = []
# +
# +
# + def scaling(rows):
# +     BASES.extend(row["throughput"] for row in rows if row["gpus"] == 1)
# +     base = BASES[0]
