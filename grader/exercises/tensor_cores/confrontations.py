"""How the exercises about tensor cores are checked on the GPU; see `grader.exercises.confront`."""

from __future__ import annotations

from grader.exercises.confront import Confrontation
from grader.exercises.tensor_cores import formats, gpu_rates, gpu_waves, memory_layouts, numbers

CONFRONTATIONS = (
    Confrontation(
        "tensor_core_types",
        "The types are compared with the formats in which this GPU's tensor cores multiplied a small product.",
        formats.taken_formats,
        formats.check_types,
    ),
    Confrontation(
        "training_type",
        "The type is compared with the first of bfloat16 and float16 in which this GPU's tensor cores multiplied.",
        formats.taken_formats,
        formats.check_training_type,
    ),
    Confrontation(
        "align",
        "Padded lengths are compared with the pitch that the driver gives rows of many widths, and with the number of "
        "elements that kernels load at once, according to the names that the profiler reports.",
        memory_layouts.padded_rows,
        memory_layouts.check_align,
    ),
    Confrontation(
        "review",
        "Reported widths are compared with the addresses of the layers' rows in the GPU's memory, missing activations "
        "with layers that are additive there, and heavy activations with those that the library fuses.",
        memory_layouts.laid_out,
        memory_layouts.check_review,
    ),
    Confrontation(
        "mma",
        "Results are compared with what the tensor cores made of the same float16 and float32 matrices.",
        numbers.added,
        numbers.check_mma,
    ),
    Confrontation(
        "to_tf32",
        "Rounded numbers are compared with those of the GPU's `cvt` instruction, bit by bit; ties from Hopper on.",
        numbers.tf32_rounded,
        numbers.check_tf32,
    ),
    Confrontation(
        "to_bf16",
        "Rounded numbers are compared with those of `tensor.bfloat16()` on the GPU, bit by bit.",
        numbers.bf16_rounded,
        numbers.check_bf16,
    ),
    Confrontation(
        "to_e4m3",
        "Rounded numbers are compared with those of the GPU's saturating `cvt` instruction, bit by bit.",
        numbers.e4m3_rounded,
        numbers.check_e4m3,
    ),
    Confrontation(
        "is_compute_bound",
        "Verdicts on matrix products are compared with the rate and the traffic that each of them reached here.",
        gpu_rates.rates,
        gpu_rates.check_compute_bound,
    ),
    Confrontation(
        "smallest_batch",
        "Batches are compared with the rate and the traffic that layers reached here as their batch grew.",
        gpu_rates.batches,
        gpu_rates.check_smallest_batch,
    ),
    Confrontation(
        "quantization",
        "Waves are compared with the time of blocks that each fill a multiprocessor, tiles with what blocks counted.",
        gpu_waves.waves,
        gpu_waves.check_quantization,
    ),
    Confrontation(
        "strides",
        "Strides are compared with the distances between neighbors in the GPU's memory, in both layouts.",
        memory_layouts.places_in_memory,
        memory_layouts.check_strides,
    ),
)
ON_DEVICE = {
    "WMMA_CU": ("the kernel multiplies 320 × 640 by 640 × 480 on the GPU.", "if has_gpu():  # without counting"),
}
_PROGRAM = "it reviews the text of a program, whose faults are the same on every machine."
NONE = {"CASE_1": _PROGRAM, "CASE_2": _PROGRAM, "CASE_3": _PROGRAM}
