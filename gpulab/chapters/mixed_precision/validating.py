"""Mixed precision: whether a bfloat16 training's `History` shows no scaler, and a validation after each epoch.

It looks at the record alone. How the training came about is the business of `watching`.
"""

from __future__ import annotations

import numpy as np

from gpulab import check
from gpulab.training.problem import History, Problem

NO_SCALER = "BF16 needs no scaler: call loss.backward() and optimizer.step() directly."
IN_TRAIN_MODE = "The validation ran in train mode, so batch norm counted its batches, too: call model.eval() before it."
STAYED_IN_EVAL = "After the first validation the network stayed in eval mode: call model.train() before each epoch."
NOT_COUNTED = "Batch norm has counted no batch: is this the network that was trained, and was it in train mode?"
ONE_ONLY = "That is a single validation: validate after each epoch, inside the loop over the epochs."
TOO_OFTEN = "That is one validation after each batch: validate when the loop over the batches has ended."
MISSING = "Pass the shares to problem.history(…, validation=…)."
NO_SHARE = (
    "Count the images that are right in all batches of problem.validation_loader(), and divide by the number of its"
    " images. Its last batch is smaller, so the mean of the batches' shares is another number."
)


def require_validated(history: History, what: str, problem: Problem, epochs: int) -> None:
    """Passes a `History`, already `recorded`, without a scaler and with one share for each epoch's validation.

    The network must have batch norm, which counts the batches that it saw in train mode.

    Raises:
        AssertionError: it is none; the message names the mistake.
    """
    scales = [(list(history.scales), f"scales stays empty. {NO_SCALER}")]
    check.equal(list(history.scales), [], f"{what}: scales", mistakes=scales)
    check.equal(int(history.skipped), 0, f"{what}: skipped", mistakes=[(int(history.skipped), NO_SCALER)])
    batches, validated = len(problem.loader()), len(problem.validation_loader())
    counted = max(int(np.asarray(one)) for name, one in history.weights.items() if name.endswith("num_batches_tracked"))
    modes = [(0, NOT_COUNTED), (batches, STAYED_IN_EVAL)]
    modes += [(epochs * batches + times * validated, IN_TRAIN_MODE) for times in range(1, epochs + 1)]
    check.equal(counted, epochs * batches, f"{what}: batches that batch norm saw in train mode", mistakes=modes)
    _require_shares(history, what, problem, epochs)


def _require_shares(history: History, what: str, problem: Problem, epochs: int) -> None:
    shares = check.as_python(history.validation)
    if not isinstance(shares, (list, tuple)) or not all(isinstance(share, (int, float)) for share in shares):
        raise AssertionError(f"{what}: validation is no list of numbers. {MISSING}")
    lengths = [(0, MISSING), (1, ONE_ONLY), (len(history.losses), TOO_OFTEN)]
    check.equal(len(shares), epochs, f"{what}: number of validations, one after each epoch", mistakes=lengths)
    images = sum(len(labels) for _, labels in problem.validation_loader())
    for epoch, share in enumerate(shares, start=1):
        right = share * images
        if not (0 <= share <= 1 and abs(right - round(right)) < 1e-3):
            told = f"it is {share:.6g}, which is no share of the {images} validation images."
            raise AssertionError(f"{what}: validation after epoch {epoch}: {told} {NO_SHARE}")
