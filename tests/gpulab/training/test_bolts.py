"""`gpulab.bolts`: lightning-bolts under Lightning 2."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

installed = importlib.util.find_spec("pl_bolts") is not None
CODE = """
import warnings
warnings.simplefilter("error")
from gpulab.training import bolts
from pl_bolts.datamodules import CIFAR10DataModule
from pl_bolts.optimizers.lr_scheduler import LinearWarmupCosineAnnealingLR
from pl_bolts.losses.self_supervised_learning import AmdimNCELoss
import torch

AmdimNCELoss(1.0)  # a class "under review"
optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 1.0)
schedule = LinearWarmupCosineAnnealingLR(optimizer, warmup_epochs=2, max_epochs=4)
module = CIFAR10DataModule(data_dir="/nonexistent", batch_size=4, num_workers=0)
print(module.dims, bolts.pl_bolts.__version__, warnings.filters[0][0])
"""


@pytest.mark.skipif(not installed, reason="lightning-bolts is not installed")
def test_imports_and_works_with_warnings_as_errors_and_leaves_filters_alone() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "(3, 32, 32) 0.7.0 error\n"


def test_missing_package_says_how_to_install_it() -> None:
    code = (
        "import sys, importlib.abc\n"
        "class Refuse(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'pl_bolts':\n"
        "            raise ModuleNotFoundError('no pl_bolts', name='pl_bolts')\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "try:\n    import gpulab.training.bolts\nexcept ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=180)
    assert 'pip install --no-deps "lightning-bolts==0.7.0"' in done.stdout, done.stderr
