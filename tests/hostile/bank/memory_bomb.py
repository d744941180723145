# title: Allocates memory without end
# kind: process
# tries: to make the machine run out of memory and kill another process.
# seen: CMS test suite
# gets: bump_test crashed "more memory than a submission may"; unit_test crashed
# needs: cgroups
# limits: memory_bytes=200000000 cell_seconds=6 call_seconds=5
# stock: nbgrader 0.9.6: nothing recorded (DeadKernelError)
# %% bump
blocks = []
while True:
    blocks.append(bytearray(20_000_000))
# %% unit
def unit(v):
    blocks = []
    while True:
        blocks.append(np.ones(2_000_000))
