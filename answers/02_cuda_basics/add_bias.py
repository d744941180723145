# %% right: reference
from numba import cuda

from gpulab import empty


@cuda.jit
def add_bias_kernel(matrix, bias, out):
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = matrix[row, column] + bias[column]


def add_bias(matrix, bias):
    rows, columns = matrix.shape
    out = empty((rows, columns), "float32")
    add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
    return out

# %% right: x and y from their parts, square blocks — from "reference"
# -     column, row = cuda.grid(2)
# -     if row < out.shape[0] and column < out.shape[1]:
# -         out[row, column] = matrix[row, column] + bias[column]
# +     x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
# +     y = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
# +     if x >= bias.size or y >= matrix.shape[0]:
# +         return
# +     out[y, x] = matrix[y, x] + bias[x]

# -     add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
# +     add_bias_kernel[((columns + 15) // 16, (rows + 15) // 16), (16, 16)](matrix, bias, out)

# %% right: a grid-stride loop in two dimensions — from "reference"
# -     column, row = cuda.grid(2)
# +     x, y = cuda.grid(2)
# -     if row < out.shape[0] and column < out.shape[1]:
# -         out[row, column] = matrix[row, column] + bias[column]
# +     for row in range(y, out.shape[0], cuda.gridDim.y * cuda.blockDim.y):
# +         for column in range(x, out.shape[1], cuda.gridDim.x * cuda.blockDim.x):
# +             out[row, column] = bias[column] + matrix[row, column]

# -     add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
# +     add_bias_kernel[(2, 2), (32, 4)](matrix, bias, out)

# %% right: turned by a quarter, slow but right — from "reference"
# -     column, row = cuda.grid(2)
# +     row, column = cuda.grid(2)

# -     add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
# +     add_bias_kernel[(-(-rows // 32), -(-columns // 8)), (32, 8)](matrix, bias, out)

# %% right: flat, with torch's or NumPy's own way to flatten — from "reference"
# - def add_bias_kernel(matrix, bias, out):
# + def kernel(matrix, bias, out, columns):
# -     column, row = cuda.grid(2)
# +     x, y = cuda.grid(2)
# -     if row < out.shape[0] and column < out.shape[1]:
# -         out[row, column] = matrix[row, column] + bias[column]
# +     i = y * columns + x
# +     if x < columns and i < out.size:
# +         out[i] = matrix[i] + bias[x]

# -     out = empty((rows, columns), "float32")
# +     out = empty(rows * columns, "float32")
# -     add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
# -     return out
# +     kernel[(columns // 64 + 1, rows // 4 + 1), (64, 4)](matrix.reshape(-1), bias, out, columns)
# +     return out.reshape(rows, columns)

# %% right: the rows along x of the grid, the columns along its y, blocks of 128 — from "reference"
# -     column, row = cuda.grid(2)
# +     row = cuda.blockIdx.x
# +     column = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x

# -     add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
# +     add_bias_kernel[(rows, (columns + 127) // 128), 128](matrix, bias, out)

# %% wrong: the bias of the row — says "take bias[column]" — from "reference": "[column" → "[row"

# %% wrong: x taken for the row in the kernel — says "rows and columns are swapped" — from "reference": "column, row" → "row, column"

# %% wrong: x taken for the row in the grid — says "the grid's axes are swapped" — from "reference"
# -     add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
# +     add_bias_kernel[(-(-rows // 32), -(-columns // 8)), (32, 8)](matrix, bias, out)

# %% wrong: index the wrong way round — says "rows and columns are swapped" — from "reference"
# -         out[row, column] = matrix[row, column] + bias[column]
# +         out[column, row] = matrix[column, row] + bias[column]

# %% wrong: x guarded by the rows — says "a guard must require row < rows" — from "reference"
# -     column, row = cuda.grid(2)
# +     x, y = cuda.grid(2)
# -     if row < out.shape[0] and column < out.shape[1]:
# +     if x < out.shape[0] and y < out.shape[1]:
# -         out[row, column] = matrix[row, column] + bias[column]
# +         out[y, x] = matrix[y, x] + bias[x]

# -     add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
# +     add_bias_kernel[(-(-max(rows, columns) // 16), -(-max(rows, columns) // 16)), (16, 16)](matrix, bias, out)

# %% wrong: guard on one side only — says "a guard must require row < rows and column < columns" — from "reference": "row < out.shape[0] and " → ""

# %% wrong: guard says or — says "a guard must require row < rows and column < columns" — from "reference": "and" → "or"

# %% wrong: grid rounded down — says "the grid does not cover" — from "reference": "-(-columns // 32), -(-" → "columns // 32, max(1, "

# %% wrong: no guard — says "out of bounds" — from "reference"
# -     if row < out.shape[0] and column < out.shape[1]:
# -         out[row, column] = matrix[row, column] + bias[column]
# +     out[row, column] = matrix[row, column] + bias[column]

# %% wrong: one dimension — says "expected a 2-d grid" — from "reference"
# -     column, row = cuda.grid(2)
# -     if row < out.shape[0] and column < out.shape[1]:
# +     i = cuda.grid(1)
# +     row, column = i // matrix.shape[1], i % matrix.shape[1]
# +     if row < out.shape[0]:

# -     add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
# +     add_bias_kernel[-(-rows * columns // 128), 128](matrix, bias, out)

# %% wrong: too many threads in a block — says "at most 1,024" — from "reference"
# -     add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
# +     add_bias_kernel[(-(-columns // 64), -(-rows // 32)), (64, 32)](matrix, bias, out)

# %% wrong: result of the transposed shape — says "shape" — from "reference"
# -     if row < out.shape[0] and column < out.shape[1]:
# +     if row < matrix.shape[0] and column < matrix.shape[1]:
# -         out[row, column] = matrix[row, column] + bias[column]
# +         out[column, row] = matrix[row, column] + bias[column]

# -     out = empty((rows, columns), "float32")
# +     out = empty((columns, rows), "float32")

# %% wrong: float64 result — says "float32 in, float32 out" — from "reference": "float32" → "float64"

# %% wrong: no return — says "is there a return statement" — from "reference"
# -     return out

# %% wrong: into its argument — says "changed an argument" — from "reference"
# -         out[row, column] = matrix[row, column] + bias[column]
# +         matrix[row, column] += bias[column]

# -     return out
# +     return matrix

# %% wrong: on the host — says "launched no kernel"
def add_bias(matrix, bias):
    return matrix + bias

# %% wrong: makes room and stops there — says "launched no kernel"
from gpulab import empty


def add_bias(matrix, bias):
    return empty(matrix.size, "float32")

# %% hostile: the host adds, a 2-D launch is for show
from numba import cuda

from gpulab import device_array, empty, to_numpy


@cuda.jit
def shown(matrix, out):
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = matrix[row, column]


def add_bias(matrix, bias):
    rows, columns = matrix.shape
    shown[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, empty((rows, columns), "float32"))
    return device_array(to_numpy(matrix) + to_numpy(bias))

# %% wrong: sums below zero become zero — says "below zero" — from "reference": "matrix[row, column] + bias[column]" → "max(matrix[row, column] + bias[column], 0)"

# %% wrong: blocks and threads exchanged in the launch — says "kernel[blocks, threads]" — from "reference"
# -     out = empty((rows, columns), "float32")
# -     add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
# +     out = empty(matrix.shape, "float32")
# +     add_bias_kernel[(16, 16), (-(-columns // 16), -(-rows // 16))](matrix, bias, out)

# %% wrong: one thread of the grid does all the work — says "A block has only 4 threads here"
from numba import cuda

from gpulab import empty


@cuda.jit
def add_bias_kernel(matrix, bias, out):
    x, y = cuda.grid(2)
    if x == 0 and y == 0:
        for row in range(out.shape[0]):
            for column in range(out.shape[1]):
                out[row, column] = matrix[row, column] + bias[column]


def add_bias(matrix, bias):
    out = empty(matrix.shape)
    add_bias_kernel[(2, 2), (2, 2)](matrix, bias, out)
    return out

# %% hostile: one dimension, and a second row of blocks for show — says "as with a single index" — from "one dimension"
# -     if row < out.shape[0]:
# +     if cuda.blockIdx.y == 0 and row < out.shape[0]:

# -     add_bias_kernel[-(-rows * columns // 128), 128](matrix, bias, out)
# +     add_bias_kernel[(-(-rows * columns // 128), 2), 128](matrix, bias, out)

# %% hostile: a loop in one dimension in a fixed grid of two — says "as with a single index" — from "reference"
# -     column, row = cuda.grid(2)
# -     if row < out.shape[0] and column < out.shape[1]:
# -         out[row, column] = matrix[row, column] + bias[column]
# +     columns = out.shape[1]
# +     if cuda.blockIdx.y == 0:
# +         for i in range(cuda.grid(1), out.size, cuda.gridDim.x * cuda.blockDim.x):
# +             out[i // columns, i % columns] = matrix[i // columns, i % columns] + bias[i % columns]

# -     add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
# +     add_bias_kernel[(8, 2), 128](matrix, bias, out)

# %% wrong: blocks of another shape for each matrix — says "one block shape for all sizes" — from "reference"
# -     out = empty((rows, columns), "float32")
# +     wide, high = min(columns, 32), min(rows, 8)
# -     add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
# +     out = empty((rows, columns), "float32")
# +     add_bias_kernel[(-(-columns // wide), -(-rows // high)), (wide, high)](matrix, bias, out)

# %% wrong: two threads for each element — says "Let only one thread write each element" — from "reference": "-(-rows // 8))" → "-(-rows // 8), 2)"

# %% right: one block for each row — from "reference": "-(-rows // 8)), (32, 8)" → "rows), (256, 1)", "-(-columns // 32)" → "-(-columns // 256)"

# %% wrong: square blocks, and the grid one block short along y — says "The grid does not cover the matrix" — from "reference": "-(-rows // 8)), (32, 8)" → "max(1, rows // 32)), (32, 32)"

# %% wrong: a list of the rows — says "You returned a list" — from "reference": "return out" → "return list(out)"

# %% right: the result is an array of the host, with whatever its memory held — from "reference": "empty((rows, columns), " → "numpy.empty((rows, columns), ", "from numba" → "import numpy; from numba"

# %% wrong: only the result has its index the wrong way round — says "rows and columns are swapped" — from "reference": "out[row, column] =" → "out[column, row] ="

# %% wrong: only the matrix has its index the wrong way round — says "rows and columns are swapped" — from "reference": "matrix[row, column]" → "matrix[column, row]"

# %% wrong: the number within the block taken for the column of the bias — says "threadIdx.x is the thread's number within its block" — from "reference": "bias[column]" → "bias[cuda.threadIdx.x]"

# %% wrong: a grid in one dimension for blocks in two — says "only one block along y" — from "reference": "(-(-columns // 32), -(-rows // 8)), (32, 8)" → "-(-rows * columns // 256), (32, 8)"

# %% wrong: the bias twice — says "counts twice" — from "reference": "+ bias[column]" → "+ 2 * bias[column]"

# %% wrong: the bias for the first row alone — says "not only the first one" — from "reference": "+ bias[column]" → "+ (bias[column] if row == 0 else 0)"

# %% wrong: adds to a result that is not zero — says "+= instead of =" — from "reference": "out[row, column] = " → "out[row, column] += "

# %% wrong: a grid for one column fewer — says "The last column is missing" — from "reference": "-(-columns // 32)" → "max(1, -(-(columns - 1) // 32))"

# %% wrong: both numbers of blocks from the rows — says "made from the rows" — from "reference": "-(-columns // 32)" → "-(-rows // 32)"

# %% wrong: both numbers of blocks from the columns — says "made from the columns" — from "reference": "-(-rows // 8)" → "-(-columns // 8)"

# %% wrong: adds the bias of every column — says "not the sum of all biases" — from "reference"
#       column, row = cuda.grid(2)
# +     added = 0.0
# +     for other in range(bias.size):
# +         added += bias[other]
#       if row < out.shape[0] and column < out.shape[1]:
# -         out[row, column] = matrix[row, column] + bias[column]
# +         out[row, column] = matrix[row, column] + added

# %% wrong: blockDim.x for blockDim.y — says "the row is blockIdx.y * blockDim.x + threadIdx.y" — from "reference": "column, row = cuda.grid(2)" → "column = cuda.grid(2)[0]; row = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.y"

# %% wrong: threadIdx.x for threadIdx.y — says "the row is blockIdx.y * blockDim.y + threadIdx.x" — from "reference": "column, row = cuda.grid(2)" → "column = cuda.grid(2)[0]; row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.x"

# %% wrong: the numbers within the block — says "the column is threadIdx.x, and the row threadIdx.y" — from "reference": "column, row = cuda.grid(2)" → "column, row = cuda.threadIdx.x, cuda.threadIdx.y"

# %% wrong: blocks turned — says "The axes of the block or of the grid are swapped" — from "reference": "-(-rows // 8)), (32, 8)" → "-(-rows // 8)), (8, 32)"

# %% wrong: the guard loses the last row — says "The last row is missing" — from "reference": "row < out.shape[0]" → "row < out.shape[0] - 1"

# %% hostile: one warp of the grid does the work of all, row after row — says "one thread wrote" — from "reference"
# -     if row < out.shape[0] and column < out.shape[1]:
# -         out[row, column] = matrix[row, column] + bias[column]
# +     if row == 0 and column < 32:
# +         for place in range(out.shape[0]):
# +             for other in range(column, out.shape[1], 32):
# +                 out[place, other] = matrix[place, other] + bias[other]

# %% right: a fixed grid of 4 × 4 blocks of (32, 4), a loop along each axis
from numba import cuda

from gpulab import empty


@cuda.jit
def add_bias_kernel(matrix, bias, out):
    x, y = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for row in range(y, matrix.shape[0], step_y):
        for column in range(x, matrix.shape[1], step_x):
            out[row, column] = matrix[row, column] + bias[column]


def add_bias(matrix, bias):
    out = empty(matrix.shape, "float32")
    add_bias_kernel[(4, 4), (32, 4)](matrix, bias, out)
    return out

# %% wrong: both numbers of blocks from the columns and the threads along x — says "only one block along y" — from "reference": "-(-rows // 8)" → "-(-columns // 32)"

# %% wrong: the column guarded by the rows — says "compare the column with the number of rows" — from "reference": "column < out.shape[1]" → "column < out.shape[0]"

# %% hostile: a launch of two dimensions whose warps count 31 elements each, one after another — says "from the end of a row into the next row"
from numba import cuda

from gpulab import empty


@cuda.jit
def add_bias_kernel(matrix, bias, out):
    threads = cuda.blockDim.x * cuda.blockDim.y
    block = cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x
    me = block * threads + cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    i = me // 32 * 31 + me % 32
    if me % 32 < 31 and i < out.size:
        row, column = i // out.shape[1], i % out.shape[1]
        out[row, column] = matrix[row, column] + bias[column]


def add_bias(matrix, bias):
    rows, columns = matrix.shape
    block = (32, 8)
    grid = (-(-columns // block[0]) + 1, -(-rows // block[1]) + 1)
    out = empty((rows, columns), "float32")
    add_bias_kernel[grid, block](matrix, bias, out)
    return out
