# %% right: reference
def quantization(m, n, tile_m, tile_n, sm_count):
    tiles = -(-m // tile_m) * -(-n // tile_n)
    waves = -(-tiles // sm_count)
    return {
        "tiles": tiles,
        "waves": waves,
        "tile_efficiency": m * n / (tiles * tile_m * tile_n),
        "wave_efficiency": tiles / (waves * sm_count),
    }

# %% right: math.ceil
import math


def quantization(m, n, tile_m, tile_n, sm_count):
    rows, columns = math.ceil(m / tile_m), math.ceil(n / tile_n)
    waves = math.ceil(rows * columns / sm_count)
    return dict(
        wave_efficiency=rows * columns / waves / sm_count,
        tile_efficiency=(m / (rows * tile_m)) * (n / (columns * tile_n)),
        waves=waves,
        tiles=rows * columns,
    )

# %% right: counts them with NumPy
import numpy as np


def quantization(m, n, tile_m, tile_n, sm_count):
    tiles = np.arange(0, m, tile_m).size * np.arange(0, n, tile_n).size
    waves = np.arange(0, tiles, sm_count).size
    computed = np.int64(tiles) * tile_m * tile_n
    return {
        "tiles": np.int64(tiles),
        "waves": np.int32(waves),
        "tile_efficiency": np.float64(m) * n / computed,
        "wave_efficiency": np.float64(tiles) / (waves * sm_count),
    }

# %% wrong: full waves only — says "full waves only" — from "reference"
# -     waves = -(-tiles // sm_count)
# +     waves = tiles // sm_count

# -         "wave_efficiency": tiles / (waves * sm_count),
# +         "wave_efficiency": tiles / (waves * sm_count) if waves else 0.0,

# %% wrong: full waves only, counted as perfect — says "full waves only"
def quantization(m, n, tile_m, tile_n, sm_count):
    tiles = -(-m // tile_m) * -(-n // tile_n)
    return {
        "tiles": tiles,
        "waves": tiles // sm_count,
        "tile_efficiency": m * n / (tiles * tile_m * tile_n),
        "wave_efficiency": 1.0,
    }

# %% wrong: waves that are not whole — says "fractions of a wave" — from "full waves only, counted as perfect": " // sm_count" → " / sm_count"

# %% wrong: tiles at the edges forgotten — says "edges" — from "reference"
# -     tiles = -(-m // tile_m) * -(-n // tile_n)
# +     tiles = (m // tile_m) * (n // tile_n)

# -         "tile_efficiency": m * n / (tiles * tile_m * tile_n),
# +         "tile_efficiency": m * n / (tiles * tile_m * tile_n) if tiles else 0.0,
# -         "wave_efficiency": tiles / (waves * sm_count),
# +         "wave_efficiency": tiles / (waves * sm_count) if waves else 0.0,

# %% wrong: tiles by area — says "one by one" — from "reference"
# + import math
# +
# +
#   def quantization(m, n, tile_m, tile_n, sm_count):
# -     tiles = -(-m // tile_m) * -(-n // tile_n)
# +     tiles = math.ceil(m * n / (tile_m * tile_n))
# -     waves = -(-tiles // sm_count)
# +     waves = math.ceil(tiles / sm_count)

# %% wrong: tile sides swapped — says "swapped" — from "reference": "tile_m) * -(-n // tile_n" → "tile_n) * -(-n // tile_m"

# %% wrong: one wave too many when they come out even — says "too many" — from "reference"
# -     waves = -(-tiles // sm_count)
# +     waves = tiles // sm_count + 1

# %% wrong: waves as a float — says "int" — from "reference"
# + import math
# +
# +
#   def quantization(m, n, tile_m, tile_n, sm_count):
# -     tiles = -(-m // tile_m) * -(-n // tile_n)
# +     tiles = math.ceil(m / tile_m) * math.ceil(n / tile_n)
# -     waves = -(-tiles // sm_count)
# +     waves = float(math.ceil(tiles / sm_count))

# %% wrong: per cent — says "in percent" — from "reference"
# -         "tile_efficiency": m * n / (tiles * tile_m * tile_n),
# +         "tile_efficiency": 100 * m * n / (tiles * tile_m * tile_n),
# -         "wave_efficiency": tiles / (waves * sm_count),
# +         "wave_efficiency": 100 * tiles / (waves * sm_count),

# %% wrong: a tuple — says "tuple"
def quantization(m, n, tile_m, tile_n, sm_count):
    tiles = -(-m // tile_m) * -(-n // tile_n)
    waves = -(-tiles // sm_count)
    return tiles, waves, m * n / (tiles * tile_m * tile_n), tiles / (waves * sm_count)

# %% wrong: a key is missing — says "missing"
def quantization(m, n, tile_m, tile_n, sm_count):
    tiles = -(-m // tile_m) * -(-n // tile_n)
    return {"tiles": tiles, "waves": -(-tiles // sm_count), "tile_efficiency": m * n / (tiles * tile_m * tile_n)}

# %% wrong: prints instead — says "None"
def quantization(m, n, tile_m, tile_n, sm_count):
    print(-(-m // tile_m) * -(-n // tile_n))

# %% hostile: a dict that answers what is asked — earns 0
class Agreeable(dict):
    def __eq__(self, other):
        return True

    def __missing__(self, key):
        return 1


def quantization(m, n, tile_m, tile_n, sm_count):
    return Agreeable()

# %% wrong: the last wave only — says "the places of all waves" — from "reference": "tiles / (waves * sm_count)" → "((tiles - 1) % sm_count + 1) / sm_count"

# %% wrong: tile efficiency upside down — says "at most 1" — from "reference": "m * n / (tiles * tile_m * tile_n)" → "tiles * tile_m * tile_n / (m * n)"

# %% wrong: the shares that are lost — says "shares that are lost" — from "reference": "m * n / (" → "1 - m * n / (", "tiles / (w" → "1 - tiles / (w"

# %% wrong: the result taken for square — says "Rows are m over tile_m" — from "reference": "-(-n // tile_n)" → "-(-m // tile_n)"

# %% right: shares in float32 — from "reference"
# + import numpy as np
# +
# +
#   def quantization(m, n, tile_m, tile_n, sm_count):

# -         "tile_efficiency": m * n / (tiles * tile_m * tile_n),
# -         "wave_efficiency": tiles / (waves * sm_count),
# +         "tile_efficiency": np.float32(m * n / (tiles * tile_m * tile_n)),
# +         "wave_efficiency": np.float32(tiles / (waves * sm_count)),

# %% wrong: waves from the area — says "Waves hold tiles" — from "reference": "-(-tiles // sm_count)" → "-(-m * n // (tile_m * tile_n * sm_count))"

# %% wrong: a tile is cut to the result — says "smaller than a tile" — from "reference": "(tiles * tile_m * tile_n)" → "(tiles * min(m, tile_m) * min(n, tile_n))"

# %% wrong: SMs without a tile are left out — says "fewer tiles than SMs" — from "reference": "(waves * sm_count)" → "(waves * min(sm_count, tiles))"

# %% wrong: whole waves over waves — says "Not only full waves count" — from "reference": "tiles / (waves * sm_count)" → "tiles // sm_count / waves"

# %% wrong: rows only — says "Both sides count" — from "reference": "m * n / (tiles * tile_m * tile_n)" → "m / (-(-m // tile_m) * tile_m)"

# %% wrong: full tiles over tiles — says "does useful work, too" — from "reference": "m * n / (tiles * tile_m * tile_n)" → "(m // tile_m) * (n // tile_n) / tiles"

# %% wrong: waves for each row of tiles — says "a wave takes tiles from any row" — from "reference": "waves = -(-tiles // sm_count)" → "waves = -(-m // tile_m) * -(-(-(-n // tile_n)) // sm_count)"

# %% wrong: one more of everything — says "One tile too many each way" — from "reference": "-(-m // tile_m) * -(-n // tile_n)" → "(m // tile_m + 1) * (n // tile_n + 1)", "-(-tiles // sm_count)" → "tiles // sm_count + 1"

# %% wrong: the efficiencies swapped — says "efficiencies are swapped" — from "reference": `"tile_efficiency"` → `"wave_efficiency"`, `"wave_efficiency": tiles` → `"tile_efficiency": tiles`

# %% wrong: rows rounded down — says "not down and not to the nearest" — from "reference": "-(-m // tile_m)" → "(m // tile_m)"

# %% wrong: tiles per wave — says "the number of tiles per wave" — from "reference": "tiles / (waves * sm_count)" → "tiles / waves"

# %% wrong: idle SMs in the tiles' share — says "tile_efficiency is about tiles alone" — from "reference": "m * n / (tiles * tile_m" → "m * n / (waves * sm_count * tile_m"

# %% wrong: the mean of both sides' shares — says "are multiplied: their mean is not it" — from "reference": "m * n / (tiles * tile_m * tile_n)" → "(m / (-(-m // tile_m) * tile_m) + n / (-(-n // tile_n) * tile_n)) / 2"

# %% wrong: one SM is left out — says "All SMs take part" — from "reference": "-(-tiles // sm_count)" → "-(-tiles // max(sm_count - 1, 1))"
