"""How the exercises about mixed precision are checked on the GPU; see `grader.exercises.confront`."""

from __future__ import annotations

from grader.exercises.confront import Confrontation
from grader.exercises.mixed_precision import bugs, clipped, halves, scaling

CONFRONTATIONS = (
    Confrontation(
        "fp16_limits",
        "The four limits are compared with the GPU's own float16 numbers, sums, and products.",
        halves.limits,
        halves.check_limits,
    ),
    Confrontation(
        "underflow_fraction",
        "The share of a network's gradients that is lost is compared with the share that became zero on the GPU.",
        halves.lost,
        halves.check_underflow,
    ),
    Confrontation(
        "largest_safe_scale",
        "The scale is compared with the largest one at which gradients on the GPU were finite in float16.",
        halves.safe,
        halves.check_safe_scale,
    ),
    Confrontation(
        "simulate_scaler",
        "The scales are compared with those of a `torch.amp.GradScaler` on the GPU that met planted infinities.",
        scaling.scaled,
        scaling.check_scaler,
    ),
    Confrontation(
        "AUTOCAST",
        "The types are compared with those that autocast gave to ten results on the GPU.",
        scaling.autocast_types,
        scaling.check_autocast,
    ),
    Confrontation(
        "train_amp_clipped",
        "A training on the GPU is compared with the harness's own there: weights, losses, and skipped windows.",
        clipped.trained,
        clipped.check_clipped,
    ),
    Confrontation(
        "AMP_BUGS",
        "The mistakes are compared with what the six loops showed on the GPU: exceptions, scales, and steps.",
        bugs.symptoms,
        bugs.check_bugs,
    ),
)
ON_DEVICE = {
    "train_bf16": (
        "a network with batch norm is trained there once more, and compared with the grader's own training there.",
        '(["cuda"] if torch.cuda.is_available() else [])',
    ),
}
NONE: dict[str, str] = {}
