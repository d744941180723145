"""Tensor cores, first half: the table of types, the formats, the programs to be read, credit for codes, the figures."""

import re
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import gpulab
from gpulab import table
from gpulab.chapters.tensor_cores import cases, diagrams, models, pictures
from gpulab.figures import plot, style
from gpulab.measuring.timing import Timing

FACTS = table("precision")
TYPES = {"float64", "float32", "tfloat32", "bfloat16", "float16", "float8", "int8", "int4", "int1"}
ARCHITECTURES = ["Pascal", "Volta", "Turing", "Ampere", "Ada", "Hopper", "Blackwell"]


def taken(arch, unit="tensor"):
    return {fact["type"] for fact in FACTS if fact["arch"] == arch and fact["unit"] == unit}


def next_multiple(n, bytes_per_element, alignment_bytes=16):
    return -(-n * bytes_per_element // alignment_bytes) * alignment_bytes // bytes_per_element


class TestPrecision:
    def test_known_names_each_fact_once_and_with_its_source(self):
        assert list(dict.fromkeys(fact["arch"] for fact in FACTS)) == ARCHITECTURES
        assert {fact["unit"] for fact in FACTS} == {"tensor", "cuda"}
        assert {fact["type"] for fact in FACTS} == TYPES
        assert len({(fact["arch"], fact["unit"], fact["type"]) for fact in FACTS}) == len(FACTS)
        assert all(len(fact["source"]) > 10 for fact in FACTS)

    def test_what_the_chapter_says_about_it(self):
        """No tensor cores before Volta, float16 on all since, float32 on none."""
        assert taken("Pascal") == set()
        assert taken("Volta") == {"float16"}
        assert set.intersection(*(taken(arch) for arch in ARCHITECTURES[1:])) == {"float16"}
        assert all("float32" not in taken(arch) for arch in ARCHITECTURES)
        assert {arch for arch in ARCHITECTURES if "float8" in taken(arch)} == {"Ada", "Hopper", "Blackwell"}
        assert {arch for arch in ARCHITECTURES if "int1" in taken(arch)} == {"Turing", "Ampere"}

    @pytest.mark.parametrize("gpu", table("gpus"), ids=lambda gpu: str(gpu["gpu"]))
    def test_agrees_with_the_table_of_rates(self, gpu):
        """A type with a rate of its own on a datasheet is on the tensor cores, and one without is not."""
        for kind in ("tfloat32", "bfloat16", "float8"):
            assert (kind in taken(gpu["arch"])) == (gpu[f"{kind}_tflops"] is not None)
        assert ("int8" in taken(gpu["arch"])) == (gpu["int8_tflops"] is not None)
        fast = gpu["float16_tflops"] > 3 * gpu["float32_tflops"] or gpu["gpu"].startswith("RTX") or gpu["gpu"] == "A10G"
        assert ("float16" in taken(gpu["arch"])) == fast

    def test_columns_are_explained(self):
        readme = (Path(gpulab.__file__).parent.parent / "data" / "README.md").read_text(encoding="utf-8")
        section = readme.partition("## `precision.csv`")[2]
        assert all(f"`{column}`" in section for column in FACTS[0])


@pytest.mark.parametrize(
    "name, kind",
    [
        ("float32", torch.float32),
        ("bfloat16", torch.bfloat16),
        ("float16", torch.float16),
        ("float8, e5m2", torch.float8_e5m2),
        ("float8, e4m3", torch.float8_e4m3fn),
    ],
)
def test_formats_are_those_of_torch(name, kind):
    form = next(form for form in models.FORMATS if form.name == name)
    limits = torch.finfo(kind)
    assert form.bits == limits.bits
    assert (form.largest, form.epsilon) == (limits.max, limits.eps)
    assert form.smallest_normal == limits.smallest_normal
    assert form.smallest == limits.smallest_normal * limits.eps


def test_tfloat32_has_the_range_of_one_and_the_digits_of_the_other():
    forms = {form.name: form for form in models.FORMATS}
    assert forms["tfloat32"].bits == 19
    assert forms["tfloat32"].smallest_normal == forms["float32"].smallest_normal
    assert forms["tfloat32"].epsilon == forms["float16"].epsilon


@pytest.mark.parametrize(
    "capability, name",
    [
        *[((6, 1), "Pascal"), ((7, 0), "Volta"), ((7, 5), "Turing"), ((8, 0), "Ampere"), ((8, 6), "Ampere")],
        *[((8, 9), "Ada"), ((9, 0), "Hopper"), ((10, 0), "Blackwell"), ((12, 0), "Blackwell")],
        *[((5, 2), None), ((13, 0), None)],
    ],
)
def test_architecture_by_compute_capability(capability, name):
    assert models.architecture_of(capability) == name


def test_this_gpu_says_that_nothing_is_lost_without_one(capsys, monkeypatch):
    monkeypatch.setattr(models, "has_gpu", lambda: False)
    models.this_gpu()
    assert "No GPU here" in capsys.readouterr().out


@pytest.fixture(scope="module")
def chapter():
    """The source of the chapter's first half, as it stands or joined with the second."""
    folder = Path(gpulab.__file__).parent.parent / "solutions"
    paths = [folder / "04_tensor_cores.md", folder / "04_tensor_cores.part1.md"]
    return next(path.read_text(encoding="utf-8") for path in paths if path.exists())


@pytest.fixture(scope="module")
def programs(chapter):
    """Number of the case → its program."""
    found = re.findall(r"### Exercise: `CASE_(\d)`\n\n```python\n(.*?)```", chapter, flags=re.DOTALL)
    assert len(found) == 3
    return {int(number): text for number, text in found}


def run(program):
    space = {"torch": torch, "nn": nn, "DataLoader": DataLoader, "TensorDataset": TensorDataset}
    exec(compile(program, "program", "exec"), space)
    return space


class TestPrograms:
    def test_the_menu_is_the_one_on_the_page(self, chapter):
        menu = chapter[chapter.index("| code | what it says |") :]
        rows = dict(re.findall(r'^\| `"(\w+)"` \| (.*) \|$', menu, flags=re.MULTILINE))
        assert rows == cases.MENU

    def test_every_code_is_judged_in_every_case(self, chapter):
        """Each code on the menu is a fault or an innocent with a reason, never both."""
        for number in (1, 2, 3):
            start = chapter.index(f":test: CASE_{number}\n")
            cell = chapter[start : chapter.index("### END HIDDEN TESTS", start)]
            codes = re.findall(r'^    "(\w+)": "', cell, flags=re.MULTILINE)
            assert sorted(codes) == sorted(cases.MENU)

    def test_networks_are_those_of_the_programs(self, programs):
        for (_, layers, _), program in zip(cases.networks(), programs.values(), strict=True):
            network = re.search(r"network = (nn\.Sequential\(.*?\n\))", program, flags=re.DOTALL)[1]
            network = re.sub(r"\)\n    nn", "),\n    nn", network)
            assert models.layers_of(eval(network)) == layers

    def test_first_one_stops_at_the_widths(self, programs):
        with pytest.raises(RuntimeError, match=r"256x15 and 256x96"):
            run(programs[1])
        assert run(programs[1].replace("Linear(256,", "Linear(15,"))["grapes"].shape == (256, 5)

    def test_second_one_is_fed_the_loader_and_its_last_batch_is_short(self, programs):
        with pytest.raises(TypeError, match="not DataLoader"):
            run(programs[2])
        batch = programs[2].replace("network(loader)", "network(batch)")
        with pytest.raises(RuntimeError, match=r"64x16 and 64x40"):
            run(batch)
        assert run(batch.replace("Linear(64,", "Linear(16,"))["kinds"].shape == (59, 16)

    def test_third_one_is_no_python_then_fed_the_loader_then_shrinks(self, programs):
        with pytest.raises(SyntaxError):
            run(programs[3])
        commas = re.sub(r"\)\n    nn", "),\n    nn", programs[3]).replace("1024", "64")
        assert commas.count(",") - programs[3].count(",") == 2
        with pytest.raises(TypeError, match="DataLoader"):
            run(commas)
        picture = commas.replace("network(loader)", "network(picture)")
        with pytest.raises(RuntimeError, match=r"\(20\) must match .* \(26\)"):
            run(picture)
        assert run(picture.replace("kernel_size=3", "kernel_size=3, padding=1"))["wrong"].shape == (32, 1, 26, 26)


def sizes_only(layers, batch, dtype):
    found = [(-1, "batch")] if batch % 8 else []
    for index, layer in enumerate(layers):
        widths = [value for key, value in layer.items() if key != "kind"]
        found += [(index, code) for code, width in zip(("in", "out"), widths, strict=False) if width % 8]
    return found


def test_known_networks_break_the_rule_where_the_chapter_says():
    """ResNet-50 once, at its picture; EfficientNet in its squeezing layers; ShuffleNet on its main road."""
    names = ("resnet50", "efficientnet_b0", "shufflenet_v2_x1_0")
    resnet, efficient, shuffle = models.reviewed(sizes_only, names)
    assert (resnet.layers, resnet.off) == (54, ((3, 64),))
    assert all(min(widths) <= 28 for widths in efficient.off) and len(efficient.off) == 23
    assert (58, 58) in shuffle.off and len(shuffle.off) > shuffle.layers / 2


def test_layers_of_a_model_keep_their_order():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(72, 10), nn.GELU())
    kinds = [layer["kind"] for layer in models.layers_of(model)]
    assert kinds == ["conv", "relu", "linear", "gelu"]


def test_sweep_marks_the_aligned_sizes(monkeypatch):
    monkeypatch.setattr(models, "SWEEP_SIZES", {"cpu": range(14, 19), "cuda": range(14, 19)})
    threads = torch.get_num_threads()
    sweep = models.alignment_sweep(next_multiple, rounds=2)
    assert torch.get_num_threads() == threads
    assert list(sweep.timings) == [14, 15, 16, 17, 18] and sweep.aligned == {16}
    assert all(timing.median_ms > 0 and timing.runs == 2 for timing in sweep.timings.values())


def test_off_over_on_compares_medians():
    timings = {size: Timing(time, 0.0, 5, "a GPU") for size, time in ((7, 3.0), (8, 1.0), (9, 2.0), (16, 1.0))}
    assert models.Sweep(timings, frozenset({8, 16}), "bfloat16", 2).off_over_on == 2.5


def test_activations_cost_what_they_do(monkeypatch):
    monkeypatch.setattr(models, "ELEMENTS", {"cpu": 4096, "cuda": 4096})
    times = models.activation_times(rounds=2)
    assert list(times) == ["copy", "relu", "sigmoid", "tanh", "gelu"]
    assert times["tanh"].median_ms > 0


@pytest.fixture
def shown(monkeypatch):
    """The pictures shown, as (image, description)."""
    found = []
    for module in (pictures, diagrams, plot):
        monkeypatch.setattr(module, "show", lambda figure, words: found.append((style.png(figure), words)))
    return found


def sweep_of(off):
    timings = {size: Timing(off if size % 8 else 1.0, 0.1, 5, "a GPU") for size in range(4088, 4105)}
    return models.Sweep(timings, frozenset({4088, 4096, 4104}), "bfloat16", 2)


def test_every_picture_comes_out_once_and_described(shown):
    times = {
        name: Timing(1.0 + place, 0.1, 9, "a GPU") for place, name in enumerate(("copy", "relu", "sigmoid", "tanh"))
    }
    drawings = [
        diagrams.draw_mma,
        diagrams.draw_formats,
        diagrams.draw_rows,
        diagrams.draw_products,
        lambda: pictures.draw_rates(models.rates()),
        lambda: pictures.draw_precision(taken),
        lambda: pictures.draw_precision(lambda arch: set()),
        lambda: pictures.draw_alignment(sweep_of(2.0)),
        lambda: pictures.draw_activations(times),
        lambda: pictures.draw_batches(90, 32),
        lambda: pictures.draw_networks([models.Reviewed("a net", 20, ((3, 64),))]),
    ]
    for count, draw in enumerate(drawings, start=1):
        draw()
        assert len(shown) == count
        image, words = shown[-1]
        assert image.startswith(b"\x89PNG") and len(words) > 40


@pytest.mark.parametrize("off, finding", [(2.0, "takes 100 % longer"), (1.01, "no faster than its neighbors")])
def test_title_says_what_was_measured(shown, off, finding):
    pictures.draw_alignment(sweep_of(off))
    assert finding in shown[0][1]


@pytest.mark.gpu
def test_misalignment_costs_time_on_tensor_cores():
    """On a GPU, sizes off the multiple of 16 bytes are slower than those on it."""
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    assert models.alignment_sweep(next_multiple).off_over_on > 1.05
