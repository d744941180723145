"""Pictures of the chapter on CUDA basics come out, with a description."""

import numpy as np
import pytest

from gpulab.chapters.cuda_basics import diagrams, pictures
from gpulab.chapters.shared_memory import diagrams as shared_memory_diagrams
from gpulab.figures import styling


@pytest.fixture
def shown(monkeypatch):
    """The pictures shown, as (image, description)."""
    found = []
    for module in (diagrams, pictures, shared_memory_diagrams):
        monkeypatch.setattr(module, "show", lambda figure, words: found.append((styling.png(figure), words)))
    return found


def test_every_picture_comes_out_once(shown):
    """Each call shows one image, described in words."""
    diagrams.draw_indices()
    diagrams.draw_idle(lambda n, threads: -(-n // threads))
    diagrams.draw_shares()
    shared_memory_diagrams.draw_block_reverse()
    pictures.draw_requests(
        {"in order": np.arange(32), "every eighth": range(0, 256, 8)}, {"in order": 4, "every eighth": 32}
    )
    assert len(shown) == 5
    assert all(image.startswith(b"\x89PNG") and len(words) > 40 for image, words in shown)


def test_a_wrong_grid_shows_its_gaps(shown):
    """The picture of a grid says how many elements no thread covers."""

    def right(shape, block):
        return -(-shape[1] // block[0]), -(-shape[0] // block[1])

    diagrams.draw_grid(right)
    diagrams.draw_grid(lambda shape, block: right(shape[::-1], block))
    assert "0 elements are not covered" in shown[0][1]
    assert f"{14 * 40 - 14 * 16} elements are not covered" in shown[1][1]
