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

# %% right: x and y from their parts, square blocks
from numba import cuda

from gpulab import empty


@cuda.jit
def add_bias_kernel(matrix, bias, out):
    x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    y = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if x >= bias.size or y >= matrix.shape[0]:
        return
    out[y, x] = matrix[y, x] + bias[x]


def add_bias(matrix, bias):
    rows, columns = matrix.shape
    out = empty((rows, columns), "float32")
    add_bias_kernel[((columns + 15) // 16, (rows + 15) // 16), (16, 16)](matrix, bias, out)
    return out

# %% right: a grid-stride loop in two dimensions
from numba import cuda

from gpulab import empty


@cuda.jit
def add_bias_kernel(matrix, bias, out):
    x, y = cuda.grid(2)
    for row in range(y, out.shape[0], cuda.gridDim.y * cuda.blockDim.y):
        for column in range(x, out.shape[1], cuda.gridDim.x * cuda.blockDim.x):
            out[row, column] = bias[column] + matrix[row, column]


def add_bias(matrix, bias):
    rows, columns = matrix.shape
    out = empty((rows, columns), "float32")
    add_bias_kernel[(2, 2), (32, 4)](matrix, bias, out)
    return out

# %% right: turned by a quarter, slow but right
from numba import cuda

from gpulab import empty


@cuda.jit
def add_bias_kernel(matrix, bias, out):
    row, column = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = matrix[row, column] + bias[column]


def add_bias(matrix, bias):
    rows, columns = matrix.shape
    out = empty((rows, columns), "float32")
    add_bias_kernel[(-(-rows // 32), -(-columns // 8)), (32, 8)](matrix, bias, out)
    return out

# %% right: flat, with torch's or NumPy's own way to flatten
from numba import cuda

from gpulab import empty


@cuda.jit
def kernel(matrix, bias, out, columns):
    x, y = cuda.grid(2)
    i = y * columns + x
    if x < columns and i < out.size:
        out[i] = matrix[i] + bias[x]


def add_bias(matrix, bias):
    rows, columns = matrix.shape
    out = empty(rows * columns, "float32")
    kernel[(columns // 64 + 1, rows // 4 + 1), (64, 4)](matrix.reshape(-1), bias, out, columns)
    return out.reshape(rows, columns)

# %% wrong: the bias of the row — says "rows and columns are swapped"
from numba import cuda

from gpulab import empty


@cuda.jit
def add_bias_kernel(matrix, bias, out):
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = matrix[row, column] + bias[row]


def add_bias(matrix, bias):
    rows, columns = matrix.shape
    out = empty((rows, columns), "float32")
    add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
    return out

# %% wrong: x taken for the row in the kernel — says "rows and columns are swapped"
from numba import cuda

from gpulab import empty


@cuda.jit
def add_bias_kernel(matrix, bias, out):
    row, column = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = matrix[row, column] + bias[column]


def add_bias(matrix, bias):
    rows, columns = matrix.shape
    out = empty((rows, columns), "float32")
    add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
    return out

# %% wrong: x taken for the row in the grid — says "rows and columns are swapped"
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
    add_bias_kernel[(-(-rows // 32), -(-columns // 8)), (32, 8)](matrix, bias, out)
    return out

# %% wrong: index the wrong way round — says "rows and columns are swapped"
from numba import cuda

from gpulab import empty


@cuda.jit
def add_bias_kernel(matrix, bias, out):
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[column, row] = matrix[column, row] + bias[column]


def add_bias(matrix, bias):
    rows, columns = matrix.shape
    out = empty((rows, columns), "float32")
    add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
    return out

# %% wrong: x guarded by the rows — says "out of bounds"
from numba import cuda

from gpulab import empty


@cuda.jit
def add_bias_kernel(matrix, bias, out):
    x, y = cuda.grid(2)
    if x < out.shape[0] and y < out.shape[1]:
        out[y, x] = matrix[y, x] + bias[x]


def add_bias(matrix, bias):
    rows, columns = matrix.shape
    out = empty((rows, columns), "float32")
    add_bias_kernel[(-(-max(rows, columns) // 16), -(-max(rows, columns) // 16)), (16, 16)](matrix, bias, out)
    return out

# %% wrong: guard on one side only — says "out of bounds"
from numba import cuda

from gpulab import empty


@cuda.jit
def add_bias_kernel(matrix, bias, out):
    column, row = cuda.grid(2)
    if column < out.shape[1]:
        out[row, column] = matrix[row, column] + bias[column]


def add_bias(matrix, bias):
    rows, columns = matrix.shape
    out = empty((rows, columns), "float32")
    add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
    return out

# %% wrong: guard says or — says "out of bounds"
from numba import cuda

from gpulab import empty


@cuda.jit
def add_bias_kernel(matrix, bias, out):
    column, row = cuda.grid(2)
    if row < out.shape[0] or column < out.shape[1]:
        out[row, column] = matrix[row, column] + bias[column]


def add_bias(matrix, bias):
    rows, columns = matrix.shape
    out = empty((rows, columns), "float32")
    add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
    return out

# %% wrong: grid rounded down — says "the grid does not cover"
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
    add_bias_kernel[(columns // 32, max(1, rows // 8)), (32, 8)](matrix, bias, out)
    return out

# %% wrong: no guard — says "out of bounds"
from numba import cuda

from gpulab import empty


@cuda.jit
def add_bias_kernel(matrix, bias, out):
    column, row = cuda.grid(2)
    out[row, column] = matrix[row, column] + bias[column]


def add_bias(matrix, bias):
    rows, columns = matrix.shape
    out = empty((rows, columns), "float32")
    add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
    return out

# %% wrong: one dimension — says "expected a 2-d grid"
from numba import cuda

from gpulab import empty


@cuda.jit
def add_bias_kernel(matrix, bias, out):
    i = cuda.grid(1)
    row, column = i // matrix.shape[1], i % matrix.shape[1]
    if row < out.shape[0]:
        out[row, column] = matrix[row, column] + bias[column]


def add_bias(matrix, bias):
    rows, columns = matrix.shape
    out = empty((rows, columns), "float32")
    add_bias_kernel[-(-rows * columns // 128), 128](matrix, bias, out)
    return out

# %% wrong: too many threads in a block — says "at most 1,024"
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
    add_bias_kernel[(-(-columns // 64), -(-rows // 32)), (64, 32)](matrix, bias, out)
    return out

# %% wrong: result of the transposed shape — says "shape"
from numba import cuda

from gpulab import empty


@cuda.jit
def add_bias_kernel(matrix, bias, out):
    column, row = cuda.grid(2)
    if row < matrix.shape[0] and column < matrix.shape[1]:
        out[column, row] = matrix[row, column] + bias[column]


def add_bias(matrix, bias):
    rows, columns = matrix.shape
    out = empty((columns, rows), "float32")
    add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
    return out

# %% wrong: float64 result — says "float32 in, float32 out"
from numba import cuda

from gpulab import empty


@cuda.jit
def add_bias_kernel(matrix, bias, out):
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = matrix[row, column] + bias[column]


def add_bias(matrix, bias):
    rows, columns = matrix.shape
    out = empty((rows, columns), "float64")
    add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
    return out

# %% wrong: no return — says "is there a return statement"
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

# %% wrong: into its argument — says "changed an argument"
from numba import cuda

from gpulab import empty


@cuda.jit
def add_bias_kernel(matrix, bias, out):
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        matrix[row, column] += bias[column]


def add_bias(matrix, bias):
    rows, columns = matrix.shape
    out = empty((rows, columns), "float32")
    add_bias_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](matrix, bias, out)
    return matrix

# %% wrong: on the host — says "launched no kernel"
def add_bias(matrix, bias):
    return matrix + bias

# %% wrong: makes room and stops there — says "launched no kernel"
from gpulab import empty


def add_bias(matrix, bias):
    return empty(matrix.size, "float32")
