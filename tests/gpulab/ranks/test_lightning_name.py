"""Answers may say `import lightning` where only `pytorch_lightning` is installed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from gpulab import launch
from gpulab.ranks.lightning_name import installed_as

pytestmark = pytest.mark.long

only_the_other_name = pytest.mark.skipif(
    importlib.util.find_spec("lightning") is not None, reason="the package lightning itself is installed here"
)
CODE = """
from gpulab.ranks import lightning_name
lightning_name.install()
import lightning as pl
import lightning.pytorch, pytorch_lightning
from lightning.pytorch.callbacks.model_checkpoint import ModelCheckpoint
from pytorch_lightning.callbacks import ModelCheckpoint as Same
assert pl is lightning.pytorch is pytorch_lightning and ModelCheckpoint is Same
assert pl.pytorch.callbacks.ModelCheckpoint is Same and pl.fabric.Fabric
assert pytorch_lightning.__spec__.name == "pytorch_lightning"
try:
    import lightning.no_such_module
except ModuleNotFoundError:
    print("as it should be")
"""


PROGRAM = """
import lightning as pl
import pytorch_lightning
from lightning.pytorch.callbacks import Callback

import lightning.pytorch

same = pl.LightningModule is pytorch_lightning.LightningModule is lightning.pytorch.LightningModule
print(same, issubclass(pytorch_lightning.callbacks.Timer, Callback), pl.Trainer.__module__.split(".")[-1])
"""


def test_each_name_has_its_package() -> None:
    assert installed_as("lightning") == "pytorch_lightning"
    assert installed_as("lightning.pytorch.callbacks") == "pytorch_lightning.callbacks"
    assert installed_as("lightning.pytorch.no_such_module") is None
    assert installed_as("lightning_utilities") is None


@only_the_other_name
def test_both_names_are_the_same_modules() -> None:
    """A class must not exist twice: Lightning asks with isinstance."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("as it should be\n", 0), done.stderr


def test_ranks_know_both_names() -> None:
    """The classes are the same objects, whichever name is imported."""
    run = launch.script(PROGRAM, 1, seconds=60).check()
    assert run.ranks[0].last_line == "True True trainer"
