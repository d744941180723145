"""Tensor cores: the tables, the formats, the programs to be read, the figures."""

import re
import statistics
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import gpulab
from gpulab import table, virtual_gpu
from gpulab.chapters.tensor_cores import cases, diagrams, pictures
from gpulab.chapters.tensor_cores.practice import RATES, MatmulGPU, OutputCounter
from gpulab.figures import styling

FACTS = table("precision")
TYPES = {"float64", "float32", "tfloat32", "bfloat16", "float16", "float8", "int8", "int4", "int1"}
ARCHITECTURES = ["Pascal", "Volta", "Turing", "Ampere", "Ada", "Hopper", "Blackwell"]


def taken(arch, unit="tensor"):
    return {fact["type"] for fact in FACTS if fact["arch"] == arch and fact["unit"] == unit}


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
    form = next(form for form in diagrams.FORMATS if form.name == name)
    limits = torch.finfo(kind)
    assert form.bits == limits.bits
    assert (form.largest, form.epsilon) == (limits.max, limits.eps)
    assert form.smallest_normal == limits.smallest_normal
    assert form.smallest == limits.smallest_normal * limits.eps


def test_tfloat32_has_the_range_of_one_and_the_digits_of_the_other():
    forms = {form.name: form for form in diagrams.FORMATS}
    assert forms["tfloat32"].bits == 19
    assert forms["tfloat32"].smallest_normal == forms["float32"].smallest_normal
    assert forms["tfloat32"].epsilon == forms["float16"].epsilon


@pytest.fixture(scope="module")
def chapter():
    """The source of the chapter."""
    path = Path(gpulab.__file__).parent.parent / "solutions" / "04_tensor_cores.md"
    return path.read_text(encoding="utf-8")


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


def layers_of(model):
    """The layers of a model as `review` takes them."""
    layers = []
    for module in model:
        if isinstance(module, nn.Linear):
            layers.append({"kind": "linear", "in_features": module.in_features, "out_features": module.out_features})
        elif isinstance(module, nn.Conv2d):
            layers.append({"kind": "conv", "in_channels": module.in_channels, "out_channels": module.out_channels})
        else:
            layers.append({"kind": type(module).__name__.lower()})
    return layers


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
            assert layers_of(eval(network)) == layers

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


@pytest.fixture
def shown(monkeypatch):
    """The pictures shown, as (image, description)."""
    found = []
    for module in (pictures, diagrams):
        monkeypatch.setattr(module, "show", lambda figure, words: found.append((styling.png(figure), words)))
    return found


def test_every_picture_comes_out_once_and_described(shown):
    drawings = [
        diagrams.draw_mma,
        diagrams.draw_formats,
        diagrams.draw_rows,
        diagrams.draw_products,
        lambda: pictures.draw_precision(taken),
        lambda: pictures.draw_precision(lambda arch: set()),
        pictures.draw_waves,
    ]
    for count, draw in enumerate(drawings, start=1):
        draw()
        assert len(shown) == count
        image, words = shown[-1]
        assert image.startswith(b"\x89PNG") and len(words) > 40
    assert "24 tiles on 9 SMs: 3 waves, and in the last one 6 of 9 work" in shown[-1][1]


def test_layouts_are_drawn_by_the_students_strides(shown):
    asked = []

    def strides(shape, layout):
        asked.append((shape, layout))
        return (24, 8, 4, 1) if layout == "NCHW" else (24, 1, 12, 3)

    pictures.draw_layouts(strides)
    assert asked == [((1, 3, 2, 4), "NCHW"), ((1, 3, 2, 4), "NHWC")]
    assert "side by side" in shown[0][1]


class TestPublished:
    """What the chapter's prose says about the published measurements."""

    def test_matmul_rates_reach_the_share_of_the_peak_that_the_title_states(self):
        best = [row for row in table("matmul_rates") if row["run"] == "best"]
        shares = [row["tflops"] / row["peak_tflops"] for row in best]
        assert (round(100 * min(shares)), round(100 * max(shares))) == (71, 87)
        rates = {row["gpu"]: row["tflops"] for row in best if "float8" not in row["type"]}
        assert list(rates) == ["V100", "A100", "H100", "B200", "B300"]
        assert round(rates["B200"] / rates["V100"]) == 18

    def test_peaks_are_those_of_the_datasheets(self):
        peaks = {}
        for row in table("gpus"):
            peaks.setdefault(row["gpu"].split()[0], row)  # of several H100, the SXM5 stands first
        for row in table("matmul_rates"):
            if row["peak_source"] == "gpus.csv":
                column = "float8_tflops" if "float8" in row["type"] else f"{row['type']}_tflops"
                assert row["peak_tflops"] == peaks[row["gpu"]][column]

    def test_the_multiple_of_8_is_slower_than_its_odd_neighbors_on_an_rtx_4090(self):
        rates = {row["m"]: row["tflops"] for row in table("gemm_kernels") if row["gpu"] == "RTX 4090"}
        assert rates[2056] < min(rates[2055], rates[2057])
        assert rates[2072] < min(rates[2071], rates[2073])
        assert max(rates, key=rates.get) == 2040

    def test_rates_of_kernels_follow_from_their_times(self):
        for row in table("gemm_kernels"):
            if row["us"] and row["tflops"]:
                flops = 2 * row["batch"] * row["m"] * row["n"] * row["k"]
                assert flops / row["us"] / 1e6 == pytest.approx(row["tflops"], rel=2e-3)

    def test_odd_sizes_got_align1_and_multiples_of_8_did_not(self):
        for row in table("gemm_kernels"):
            if row["type"] == "bfloat16":
                odd = any(row[size] % 2 for size in "nk")
                assert ("align1" in row["kernel"]) == odd

    def test_identical_hosts_differ_little_and_two_labs_much(self):
        for row in table("identical_hosts"):
            assert row["upper_quartile"] / row["lower_quartile"] < 1.01
        labs = {row["lab"]: row["images_per_s"] for row in table("training_rates_by_lab")}
        assert round(labs["NVIDIA"] / labs["Lambda"], 1) == 1.6

    @pytest.mark.parametrize("name", ["matmul_rates", "gemm_kernels", "identical_hosts", "training_rates_by_lab"])
    def test_columns_are_explained(self, name):
        readme = (Path(gpulab.__file__).parent.parent / "data" / "README.md").read_text(encoding="utf-8")
        section = readme.partition(f"## `{name}.csv`")[2].partition("\n## ")[0]
        assert all(f"`{column}`" in section for column in table(name)[0])


def timed(gpu, n, dtype, runs=1, warm=1, wait=True, make=torch.randn, measurements=3, average=statistics.median):
    """TFLOPS on a practice GPU: several measurements, each of `runs` products between two looks at the clock."""
    import time

    seconds = []

    with virtual_gpu.running(gpu):
        left, right = (make(n, n, device="cuda").to(getattr(torch, dtype)) for _ in range(2))
        for _ in range(warm):
            torch.mm(left, right)
        for _ in range(measurements):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(runs):
                torch.mm(left, right)
            if wait:
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - begin)
    return 2 * n**3 / average(seconds) / 1e12


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("faster", [1.0, 2.2])
def test_products_on_the_practice_gpu_run_at_its_rates(dtype, faster):
    gpu = MatmulGPU(faster)
    answer = timed(gpu, 64, dtype)
    gpu.require(answer, 64, dtype)
    assert answer == pytest.approx(faster * RATES[dtype] / 1e12, rel=0.01)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"wait": False}, "Not synchronized"),
        ({"runs": 5}, "several runs together"),
        ({"warm": 0, "measurements": 1}, "Only 1 of them"),
        ({"make": torch.zeros}, "Constant data"),
        ({"make": torch.empty}, "torch.empty"),
        ({"average": statistics.mean}, "A cold first product, or a mean"),
        ({"warm": 9, "measurements": 2}, "Fewer than three measurements"),
        ({"warm": 9, "measurements": 1}, "is right here, but not reliable. Fewer than three measurements"),
    ],
)
def test_the_practice_gpu_names_how_a_product_was_measured(options, words):
    gpu = MatmulGPU()
    answer = timed(gpu, 64, "float32", **options)
    with pytest.raises(AssertionError, match=words):
        gpu.require(answer, 64, "float32")


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (0.5, "2 FLOPs"),
        (1e3, "GFLOPS"),
        (1e6, "MFLOPS"),
        (1e12, "looks like FLOPS"),
        (1 / 64, "Too few FLOPs"),
        (3 * 4 / (2 * 64), "the bytes of the matrices"),
    ],
)
def test_the_practice_gpu_names_what_was_counted(factor, words):
    with pytest.raises(AssertionError, match=words):
        MatmulGPU().require(factor * RATES["float32"] / 1e12, 64, "float32")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, r"you returned None \(NoneType\), expected 0.0003. Is there a return statement\?"),
        (0.0, r"you returned 0.0 \(float\), expected 0.0003. Is it rounded to 0, or divided with //\?"),
        (False, r"you returned False \(bool\), expected 0.0003.$"),
        (-1, r"you returned -1 \(int\), expected 0.0003.$"),
    ],
)
def test_the_practice_gpu_says_what_is_no_rate(answer, words):
    with pytest.raises(AssertionError, match=words):
        MatmulGPU().require(answer, 64, "float32")


def test_the_practice_gpu_says_which_products_it_has_not_seen():
    gpu = MatmulGPU()
    answer = timed(gpu, 64, "float32")
    with pytest.raises(AssertionError, match="No product of bfloat16 matrices"):
        gpu.require(answer, 64, "bfloat16")


def test_data_that_are_made_inside_the_clock_are_named():
    import time

    gpu = MatmulGPU()
    with virtual_gpu.running(gpu):
        for _ in range(3):
            begin = time.perf_counter()
            left, right = torch.randn(2, 64, 64, device="cuda")
            torch.mm(left, right)
            torch.cuda.synchronize()
            seconds = time.perf_counter() - begin
    with pytest.raises(AssertionError, match="More than the product is timed: the creation of the data"):
        gpu.require(2 * 64**3 / seconds / 1e12, 64, "float32")


PRODUCTS = {
    "@": lambda x, weight: x @ weight.T,
    "linear": torch.nn.functional.linear,
    "einsum": lambda x, weight: torch.einsum("ij,oj->io", x, weight),
    "addmm": lambda x, weight: torch.addmm(torch.zeros(len(weight)), x, weight.T),
    "inference mode": torch.inference_mode()(lambda x, weight: x @ weight.T),
    "three dimensions": lambda x, weight: torch.nn.functional.linear(x[None], weight),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_the_outputs_of_a_product_are_counted(name):
    x, weight, machine = torch.ones(3, 7), torch.ones(8, 7), OutputCounter()
    with virtual_gpu.running(machine):
        PRODUCTS[name](x, weight)
    machine.require(5, 8, 3 * 7, "5 outputs")
    with pytest.raises(AssertionError, match=r"8 outputs, expected 6\. weight has 5 rows, and needs 1 more"):
        machine.require(5, 6, 3 * 7, "5 outputs")
    with pytest.raises(AssertionError, match=r"expected 5\. It is a multiple already"):
        machine.require(5, 5, 3 * 7, "5 outputs")


def test_sums_are_no_product():
    machine = OutputCounter()
    with virtual_gpu.running(machine):
        (torch.ones(3, 1, 7) * torch.ones(8, 7)).sum(dim=-1)
    with pytest.raises(AssertionError, match="no matrix product of PyTorch's was seen"):
        machine.require(5, 8, 3 * 7, "5 outputs")
