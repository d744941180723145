# title: Patches the process that serves it
# tries: to claim that it defines what it does not, that nothing was changed, that every call went well.
# gets: bump_test failed; WARP_test failed "must be a number"; unit_test failed "changed an argument"
# %% bump
import grader.student

grader.student._snapshot = lambda value: None
grader.student.Server._look = lambda self, request, buffers: ({"kind": "plain", "value": 32}, [])
frame = None


def bump(x):
    return 7
# %% WARP
WARP = lambda: 32
WARP.__class_getitem__ = None
# %% unit
def unit(v):
    grader.student._snapshot = lambda value: object()
    return v / np.linalg.norm(v)
