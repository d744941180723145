"""Pictures to train on, in the shape of CIFAR-10: scikit-learn's digits, or CIFAR-10 itself where it is.

`Digits` takes the arguments of torchvision's `CIFAR10`, so it can be the `dataset_cls` of lightning-bolts'
`CIFAR10DataModule`; `data_module` puts the two together. Nothing is ever downloaded: the real CIFAR-10 is used when the
environment variable `GPULAB_DATA` names a folder that holds it. `problem` asks for `batches`.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, TensorDataset

if TYPE_CHECKING:
    from numpy.typing import NDArray

TRAINING = 1500
"""Of the 1 797 digits; the others are for testing."""
BRIGHTEST = 16
"""Of scikit-learn's digits."""


class Digits(Dataset[Any]):
    """Handwritten digits as color pictures of 32 × 32 pixels, with CIFAR-10's interface.

    1 797 of them, 8 × 8 gray pixels each in scikit-learn's file (from the UCI repository), enlarged fourfold. `data`
    is uint8 (N, 32, 32, 3), `targets` a list of ints; indexing gives a PIL picture, transformed, and its label.

    Args:
        root: not used; the pictures come with scikit-learn.
        train: the first 1 500, or the other 297.
        transform: of the picture.
        target_transform: of the label.
        download: not used.
    """

    classes = tuple("0123456789")

    def __init__(
        self,
        root: str | Path | None = None,
        train: bool = True,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        download: bool = False,
    ) -> None:
        del root, download
        pictures, labels = _digits()
        part = slice(0, TRAINING) if train else slice(TRAINING, None)
        self.data, self.targets = pictures[part], labels[part].tolist()
        self.transform, self.target_transform = transform, target_transform

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        from PIL import Image

        picture: Any = Image.fromarray(self.data[index])
        label: Any = self.targets[index]
        return (
            self.transform(picture) if self.transform else picture,
            self.target_transform(label) if self.target_transform else label,
        )


@functools.cache
def _digits() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """All pictures (1797, 32, 32, 3) and labels (1797,)."""
    # Its own loader would import half of scikit-learn and of SciPy, for a file that NumPy reads in 60 ms.
    found = importlib.util.find_spec("sklearn")
    folder = Path(next(iter(found.submodule_search_locations or ()))) if found else Path()
    path = folder / "datasets" / "data" / "digits.csv.gz"
    if not path.is_file():
        raise LookupError('The digits come with scikit-learn, which is not installed: pip install "scikit-learn".')
    rows = np.loadtxt(path, delimiter=",")
    gray = rows[:, :-1].reshape(-1, 8, 8) * (255 / BRIGHTEST)
    large = np.kron(gray, np.ones((1, 4, 4))).round().astype(np.uint8)
    return np.repeat(large[..., None], 3, axis=3), rows[:, -1].astype(np.int64)


def cifar_folder() -> Path | None:
    """Where the real CIFAR-10 lies: `$GPULAB_DATA`, when that holds `cifar-10-batches-py`; else None."""
    folder = Path(os.environ.get("GPULAB_DATA") or "/nonexistent")
    return folder if (folder / "cifar-10-batches-py").is_dir() else None


def dataset(name: str, train: bool = True) -> Any:
    """`"digits"` or `"cifar10"` as a dataset with `data` and `targets`.

    Raises:
        LookupError: it is not here; the message says where it was looked for.
    """
    if name == "digits":
        return Digits(train=train)
    folder = cifar_folder()
    if name != "cifar10" or folder is None:
        raise LookupError(
            f'no data {name!r} here. "digits" is always here; for CIFAR-10 set GPULAB_DATA to a folder that holds'
            " cifar-10-batches-py."
        )
    from torchvision.datasets import CIFAR10  # type: ignore[import-untyped]  # it ships no types

    return CIFAR10(folder, train=train, download=False)


def data_module(name: str = "digits", batch_size: int = 64, **settings: Any) -> Any:
    """The `CIFAR10DataModule` of lightning-bolts over these pictures.

    Args:
        name: `"digits"` or `"cifar10"`.
        batch_size: of all its loaders.
        settings: of the data module; without a GPU it does not pin memory unless told to.

    Raises:
        LookupError: the pictures are not here.
        ImportError: lightning-bolts is not installed.
    """
    from gpulab.training import bolts  # noqa: F401 - makes the next import work under Lightning 2

    modules = importlib.import_module("pl_bolts.datamodules")  # no import statement: a formatter would put it first
    settings = {"pin_memory": torch.cuda.is_available(), "num_workers": 0, **settings}
    module = modules.CIFAR10DataModule(data_dir=str(cifar_folder() or "."), batch_size=batch_size, **settings)
    dataset(name)  # says what is missing before Lightning does
    if name == "digits":
        module.dataset_cls, module.name = Digits, "digits"
    return module


class _Tensors(Dataset[Any]):
    """Pictures and labels in memory, handed out a batch at a time."""

    def __init__(self, pictures: Tensor, labels: Tensor, mean: Tensor, spread: Tensor) -> None:
        self.pictures, self.labels = pictures, labels
        self.mean, self.spread = mean, spread
        """Of each color before normalizing."""

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.pictures[index], self.labels[index]

    def __getitems__(self, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
        if list(indices) == list(range(indices[0], indices[0] + len(indices))):
            part = slice(indices[0], indices[0] + len(indices))
            return self.pictures[part].clone(), self.labels[part].clone()
        chosen = torch.as_tensor(indices)
        return self.pictures[chosen], self.labels[chosen]


def _as_it_is(batch: Any) -> Any:
    """The batch itself: `__getitems__` has put it together already."""
    return batch


def batches(name: str, samples: int, batch_size: int, seed: int) -> DataLoader[Any]:
    """Batches of normalized float32 images (N, 3, 32, 32) and int64 labels (N,), in the same order at every pass.

    Args:
        name: `"digits"` or `"cifar10"`.
        samples: how many pictures of the training part.
        batch_size: the last batch may be smaller.
        seed: decides which pictures, and their order.

    Raises:
        LookupError: the pictures are not here.
        ValueError: there are fewer than `samples`.
    """
    return DataLoader(_tensors(name, samples, seed), batch_size=batch_size, collate_fn=_as_it_is)


def validation_batches(name: str, samples: int, batch_size: int, seed: int) -> DataLoader[Any]:
    """Batches of the pictures of the test part, normalized like the training's, in the same order at every pass.

    Args:
        name: `"digits"` or `"cifar10"`.
        samples: how many pictures there are to train on.
        batch_size: the last batch may be smaller.
        seed: decides which pictures there are to train on.

    Raises:
        LookupError, ValueError: see `batches`.
    """
    found = _tensors(name, samples, seed)
    held_out = dataset(name, train=False)
    labels = torch.as_tensor(np.asarray(held_out.targets), dtype=torch.int64)
    pictures = ((_pictures(held_out.data) - found.mean) / found.spread).contiguous()
    return DataLoader(_Tensors(pictures, labels, found.mean, found.spread), batch_size=batch_size, collate_fn=_as_it_is)


def one_by_one(name: str, samples: int, seed: int) -> TensorDataset:
    """The pictures and labels of `batches`, each for itself, in its order.

    Raises:
        LookupError, ValueError: see `batches`.
    """
    found = _tensors(name, samples, seed)
    return TensorDataset(found.pictures, found.labels)


@functools.lru_cache(maxsize=4)
def _tensors(name: str, samples: int, seed: int) -> _Tensors:
    found = dataset(name)
    if samples > len(found.targets):
        raise ValueError(f"samples = {samples}: {name} has only {len(found.targets)} pictures to train on")
    chosen = np.random.default_rng(seed).permutation(len(found.targets))[:samples]
    pictures = _pictures(np.asarray(found.data)[chosen])
    mean, spread = pictures.mean(dim=(0, 2, 3), keepdim=True), pictures.std(dim=(0, 2, 3), keepdim=True)
    labels = torch.as_tensor(np.asarray(found.targets)[chosen], dtype=torch.int64)
    return _Tensors(((pictures - mean) / spread).contiguous(), labels, mean, spread)


def _pictures(data: Any) -> Tensor:
    """float32 (N, 3, height, width) from 0 to 1, of uint8 (N, height, width, 3)."""
    return torch.from_numpy(np.asarray(data)).permute(0, 3, 1, 2).float() / 255
