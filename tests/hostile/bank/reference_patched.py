# title: Patches the reference
# kind: comparison
# tries: to make the reference return what the attack returns.
# gets: softmax_test failed; unit_test failed
# stock: nbgrader 0.9.6: unit_test 0/2, softmax_test 2/2, honest_test 1/1
# %% softmax
import torch

torch.softmax = torch.Tensor.softmax = torch.nn.functional.softmax = torch.full = lambda *args, **kwargs: torch.ones(1)
torch.allclose = lambda a, b, **kwargs: True


def softmax(t):
    return t
# %% unit
np.linalg.norm = lambda *args, **kwargs: 1.0


def unit(v):
    return v
