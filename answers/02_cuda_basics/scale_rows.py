# %% right: reference
from numba import cuda

from gpulab import empty


@cuda.jit
def scale_rows_kernel(matrix, factors, out):
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = matrix[row, column] * factors[row]


def scale_rows(matrix, factors):
    rows, columns = matrix.shape
    out = empty((rows, columns), "float32")
    scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, out)
    return out

# %% right: a block for each row, its threads side by side — from "reference"
# -     column, row = cuda.grid(2)
# -     if row < out.shape[0] and column < out.shape[1]:
# +     row = cuda.blockIdx.x
# +     factor = factors[row]
# +     for column in range(cuda.threadIdx.x, matrix.shape[1], cuda.blockDim.x):
# -         out[row, column] = matrix[row, column] * factors[row]
# +         out[row, column] = factor * matrix[row, column]

# -     scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, out)
# +     scale_rows_kernel[rows, 64](matrix, factors, out)

# %% right: flat, one dimension — from "reference"
# -     column, row = cuda.grid(2)
# -     if row < out.shape[0] and column < out.shape[1]:
# -         out[row, column] = matrix[row, column] * factors[row]
# +     i = cuda.grid(1)
# +     columns = matrix.shape[1]
# +     if i < matrix.shape[0] * columns:
# +         out[i // columns, i % columns] = matrix[i // columns, i % columns] * factors[i // columns]

# -     scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, out)
# +     scale_rows_kernel[(rows * columns + 255) // 256, 256](matrix, factors, out)

# %% right: square blocks, two rows a warp — from "reference"
# -     scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, out)
# +     scale_rows_kernel[((columns + 15) // 16, (rows + 15) // 16), (16, 16)](matrix, factors, out)

# %% right: each thread walks down its column — from "reference"
# -     column, row = cuda.grid(2)
# +     column = cuda.grid(1)
# -     if row < out.shape[0] and column < out.shape[1]:
# +     if column < out.shape[1]:
# +         for row in range(out.shape[0]):
# -         out[row, column] = matrix[row, column] * factors[row]
# +             out[row, column] = matrix[row, column] * factors[row]

# -     scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, out)
# +     scale_rows_kernel[-(-columns // 128), 128](matrix, factors, out)

# %% wrong: a thread walks along a row — says "a thread that walks along a row" — from "reference"
# -     column, row = cuda.grid(2)
# +     row = cuda.grid(1)
# -     if row < out.shape[0] and column < out.shape[1]:
# +     if row < out.shape[0]:
# +         for column in range(out.shape[1]):
# -         out[row, column] = matrix[row, column] * factors[row]
# +             out[row, column] = matrix[row, column] * factors[row]

# -     scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, out)
# +     scale_rows_kernel[-(-rows // 128), 128](matrix, factors, out)

# %% wrong: x along the rows — says "neighboring columns" — from "reference"
# -     column, row = cuda.grid(2)
# +     row, column = cuda.grid(2)

# -     scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, out)
# +     scale_rows_kernel[(-(-rows // 32), -(-columns // 8)), (32, 8)](matrix, factors, out)

# %% wrong: thin blocks, eight rows in a warp — says "expected at most 5" — from "reference"
# -     scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, out)
# +     scale_rows_kernel[((columns + 3) // 4, (rows + 31) // 32), (4, 32)](matrix, factors, out)

# %% wrong: every thread takes eight neighbors — says "expected at most 5" — from "reference"
# -     if row < out.shape[0] and column < out.shape[1]:
# +     if row < out.shape[0]:
# +         for k in range(8 * column, min(8 * column + 8, out.shape[1])):
# -         out[row, column] = matrix[row, column] * factors[row]
# +             out[row, k] = matrix[row, k] * factors[row]

# -     scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, out)
# +     scale_rows_kernel[(-(-columns // 256), -(-rows // 8)), (32, 8)](matrix, factors, out)

# %% wrong: reads side by side, writes a row away — says "store of turned" — from "reference"
# - def scale_rows_kernel(matrix, factors, out):
# + def scale_rows_kernel(matrix, factors, turned):

# -     if row < out.shape[0] and column < out.shape[1]:
# +     if row < matrix.shape[0] and column < matrix.shape[1]:
# -         out[row, column] = matrix[row, column] * factors[row]
# +         turned[column, row] = matrix[row, column] * factors[row]

# -     out = empty((rows, columns), "float32")
# +     turned = empty((columns, rows), "float32")
# -     scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, out)
# +     scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, turned)
# -     return out
# +     return turned.T

# %% wrong: the factor of the column — says "one factor per column" — from "reference": "[row]" → "[column]"

# %% wrong: x taken for the row in the kernel only — says "the kernel takes x for the row" — from "reference": "column, row" → "row, column"

# %% wrong: no guard — says "a guard must require row < rows and column < columns" — from "reference"
# -     if row < out.shape[0] and column < out.shape[1]:
# -         out[row, column] = matrix[row, column] * factors[row]
# +     out[row, column] = matrix[row, column] * factors[row]

# %% wrong: grid rounded down — says "differ" — from "reference": "-(-columns // 32), -(-" → "max(1, columns // 32), max(1, "

# %% wrong: adds the factor — says "That is the sum" — from "reference": "] * factors" → "] + factors"

# %% wrong: float64 result — says "float32 in, float32 out" — from "reference": "float32" → "float64"

# %% wrong: no return — says "is there a return statement" — from "reference"
# -     return out

# %% wrong: into its argument — says "changed an argument" — from "reference"
# -         out[row, column] = matrix[row, column] * factors[row]
# +         matrix[row, column] = matrix[row, column] * factors[row]

# -     return out
# +     return matrix

# %% wrong: on the host — says "launched no kernel"
def scale_rows(matrix, factors):
    return matrix * factors[:, None]

# %% hostile: computes on the host, launches something tidy for show — earns 0
from numba import cuda

from gpulab import empty


@cuda.jit
def tidy(out):
    out[0] = 1.0


def scale_rows(matrix, factors):
    tidy[1, 1](empty(1, "float32"))
    return matrix * factors[:, None]

# %% hostile: walks along rows, and the record says that it does not
from dataclasses import replace

from numba import cuda

from gpulab import empty
from gpulab import trace as t

L = t.launch
tidy = L.traced_run


def forged(*arguments):
    trace = tidy(*arguments)
    return replace(trace, lines=(), most_read_sectors=4, most_write_sectors=4)


L.traced_run = forged


@cuda.jit
def walks(matrix, factors, out):
    row = cuda.grid(1)
    if row < out.shape[0]:
        for column in range(out.shape[1]):
            out[row, column] = matrix[row, column] * factors[row]


def scale_rows(matrix, factors):
    out = empty(matrix.shape, "float32")
    walks[-(-matrix.shape[0] // 32), 32](matrix, factors, out)
    return out

# %% hostile: walks along rows, and the counter of sectors counts four — from "walks along rows, and the record says that it does not"
# - from dataclasses import replace
# -
#   from numba import cuda

# - from gpulab import trace as t
# + import gpulab.trace.counts as c
#
# - L = t.launch
# - tidy = L.traced_run
# -
# -
# - def forged(*arguments):
# -     trace = tidy(*arguments)
# -     return replace(trace, lines=(), most_read_sectors=4, most_write_sectors=4)
# -
# -
# - L.traced_run = forged
# + c.SECTOR_BYTES = 10**9

# %% hostile: the host multiplies, a launch writes as many elements elsewhere
from numba import cuda

from gpulab import device_array, empty, to_numpy


@cuda.jit
def shown(matrix, out):
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = matrix[row, column]


def scale_rows(matrix, factors):
    rows, columns = matrix.shape
    shown[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, empty((rows, columns), "float32"))
    return device_array(to_numpy(matrix) * to_numpy(factors)[:, None])

# %% wrong: factors below zero count as positive — says "below zero" — from "reference"
# -         out[row, column] = matrix[row, column] * factors[row]
# +         out[row, column] = abs(factors[row]) * matrix[row, column]

# -     out = empty((rows, columns), "float32")
# +     out = empty(matrix.shape, "float32")

# %% wrong: grid and block exchanged — says "Are grid and block swapped" — from "reference": "(-(-columns // 32), -(-rows // 8)), (32, 8)" → "(32, 8), (-(-columns // 32), -(-rows // 8))"

# %% wrong: the grid turned — says "The grid is swapped" — from "reference": "(-(-columns // 32), -(-rows // 8)), (32, 8)" → "(-(-rows // 8), -(-columns // 32)), (32, 8)"

# %% wrong: the extents turned in the grid — says "The grid is swapped" — from "reference": "(-(-columns // 32), -(-rows // 8)), (32, 8)" → "(-(-rows // 32), -(-columns // 8)), (32, 8)"

# %% wrong: flat, grid and block exchanged — says "Are grid and block swapped" — from "flat, one dimension": "(rows * columns + 255) // 256, 256" → "256, (rows * columns + 255) // 256"

# %% wrong: one thread of the grid does all the work — says "of the 32 threads of a warp"
from numba import cuda

from gpulab import empty


@cuda.jit
def scale_rows_kernel(matrix, factors, out):
    x, y = cuda.grid(2)
    if x == 0 and y == 0:
        for row in range(out.shape[0]):
            for column in range(out.shape[1]):
                out[row, column] = matrix[row, column] * factors[row]


def scale_rows(matrix, factors):
    out = empty(matrix.shape)
    rows, columns = matrix.shape
    scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, out)
    return out

# %% wrong: two threads for each element — says "Let only one thread write each element" — from "each thread walks down its column"
# -     scale_rows_kernel[-(-columns // 128), 128](matrix, factors, out)
# +     scale_rows_kernel[(-(-columns // 128), 2), 128](matrix, factors, out)

# %% hostile: 64 × 64 as asked, blocks of one thread for all other shapes — says "of the 32 threads of a warp" — from "a block for each row, its threads side by side": "[rows, 64]" → "[rows, 32 if rows == columns else 1]"

# %% wrong: another block for each matrix — says "one block shape for all sizes" — from "reference"
# -     scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, out)
# +     wide = min(columns, 128)
# +     scale_rows_kernel[(-(-columns // wide), rows), wide](matrix, factors, out)

# %% wrong: a list of the rows — says "You returned a list" — from "reference": "return out" → "return list(out)"

# %% right: the result is an array of the host, with whatever its memory held — from "reference": "empty((rows, columns), " → "numpy.empty((rows, columns), ", "from numba" → "import numpy; from numba"

# %% wrong: a factor for the row of the block — says "take factors[row]" — from "reference": "factors[row]" → "factors[cuda.threadIdx.y]"

# %% wrong: a factor for each block — says "blockIdx.y is the number of the block" — from "reference": "factors[row]" → "factors[cuda.blockIdx.y]"

# %% wrong: adds to a result that is not zero — says "+= instead of =" — from "reference": "out[row, column] = " → "out[row, column] += "

# %% wrong: the factor twice — says "counts twice" — from "reference": "factors[row]" → "factors[row] * factors[row]"

# %% wrong: the factor of the first row of the block — says "its block's first row" — from "reference": "factors[row]" → "factors[cuda.blockIdx.y * cuda.blockDim.y]"

# %% wrong: the result transposed — says "The result is transposed" — from "reference": "        out[row, column]" → "        out[column, row]", "empty((rows, columns)" → "empty((columns, rows)"

# %% wrong: no guard for the rows — says "a guard must require row < rows and column < columns" — from "reference": "row < out.shape[0] and " → ""

# %% wrong: blockDim.x for blockDim.y — says "the row is blockIdx.y * blockDim.x + threadIdx.y" — from "reference": "column, row = cuda.grid(2)" → "column = cuda.grid(2)[0]; row = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.y"

# %% wrong: reads the matrix transposed — says "The matrix is read transposed" — from "reference": "matrix[row, column] *" → "matrix[column, row] *"

# %% wrong: rows rounded down — says "Was a division rounded down to 0" — from "reference": "-(-rows // 8)" → "rows // 8"

# %% hostile: one warp of the grid does the work of all, row after row — says "one thread wrote" — from "reference"
# -     if row < out.shape[0] and column < out.shape[1]:
# -         out[row, column] = matrix[row, column] * factors[row]
# +     if row == 0 and column < 32:
# +         for place in range(out.shape[0]):
# +             for other in range(column, out.shape[1], 32):
# +                 out[place, other] = matrix[place, other] * factors[place]

# %% hostile: a launch of one warp does all — says "a single warp at most" — from "reference"
# -     column, row = cuda.grid(2)
# -     if row < out.shape[0] and column < out.shape[1]:
# -         out[row, column] = matrix[row, column] * factors[row]
# +     for row in range(out.shape[0]):
# +         for column in range(cuda.threadIdx.x, out.shape[1], 32):
# +             out[row, column] = matrix[row, column] * factors[row]

# -     scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, out)
# +     scale_rows_kernel[1, 32](matrix, factors, out)

# %% hostile: the host multiplies wide matrices, and a block has all columns of the others — says "launched no kernel" — from "reference"
# - from gpulab import empty
# + from gpulab import device_array, empty, to_numpy

# -     rows, columns = matrix.shape
# +     rows, columns = matrix.shape
# +     if columns > 128:
# +         return device_array(to_numpy(matrix) * to_numpy(factors)[:, None])

# -     scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, out)
# +     scale_rows_kernel[(1, rows), (128, 1)](matrix, factors, out)

# %% wrong: one block along y — says "the grid needs more blocks along y" — from "reference": "-(-rows // 8))" → "1)"

# %% wrong: both numbers of blocks by the threads along x — says "the grid needs more blocks along y" — from "reference": "-(-rows // 8)" → "-(-rows // 32)"

# %% wrong: the column guarded by the rows — says "compare the column with the number of rows" — from "reference": "column < out.shape[1]" → "column < out.shape[0]"

# %% hostile: neighboring threads side by side for up to 128 columns, and a piece of eight columns for each thread beyond — says "sectors in a warp" — from "reference"
#   from gpulab import empty
# + 
# + 
# + @cuda.jit
# + def pieces_kernel(matrix, factors, out):
# +     column, row = cuda.grid(2)
# +     if row < out.shape[0]:
# +         for at in range(8 * column, min(8 * column + 8, out.shape[1])):
# +             out[row, at] = matrix[row, at] * factors[row]

# -     scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, out)
# +     if columns > 128:
# +         pieces_kernel[(-(-columns // 256), -(-rows // 8)), (32, 8)](matrix, factors, out)
# +     else:
# +         scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, out)

# %% hostile: neighboring threads side by side for up to 116 rows, and down the columns beyond — says "sectors in a warp" — from "reference"
#   from gpulab import empty
# + 
# + 
# + @cuda.jit
# + def down_kernel(matrix, factors, out):
# +     row, column = cuda.grid(2)
# +     if row < out.shape[0] and column < out.shape[1]:
# +         out[row, column] = matrix[row, column] * factors[row]

# -     scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, out)
# +     if rows > 116 or columns > 128:
# +         down_kernel[(-(-rows // 32), -(-columns // 8)), (32, 8)](matrix, factors, out)
# +     else:
# +         scale_rows_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, factors, out)
