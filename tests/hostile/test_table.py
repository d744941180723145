"""The table in the docs says what the bank says."""

from __future__ import annotations

import re
from pathlib import Path

from hostile import attacks, table

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_up_to_date() -> None:
    text = table.page(attacks.load())
    assert table.PAGE.read_text(encoding="utf-8") == text, 'Run "PYTHONPATH=.:tests python -m hostile.table".'


def test_the_readme_has_the_same_numbers() -> None:
    """Of the bank, of stock nbgrader, and of the hostile answers to the real chapters."""
    page, readme = table.PAGE.read_text(encoding="utf-8"), (ROOT / "README.md").read_text(encoding="utf-8")
    row = re.search(r"earn undeserved points \| 0 of (\d+) \| (\d+) of (\d+) \|", page)
    assert row
    headers = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "answers").glob("*/*.py"))
    hostile = [len(re.findall(rf"^# %% hostile{kind}", headers, re.M)) for kind in ("", " gpu")]
    said = re.search(
        r"Of the (?P<all>\d+) attacks .*?\. (?P<stock>\d+) of them can.*?there (?P<undeserved>\d+) earn"
        r".*?Another (?P<hostile>\d+) hostile answers.*?Of these, (?P<gpu>\d+) can be tried only on a GPU",
        readme,
        re.S,
    )
    assert said
    found = [int(said[name]) for name in ("all", "undeserved", "stock", "hostile", "gpu")]
    assert found == [*map(int, row.groups()), *hostile]


def test_every_attack_is_in_it_once() -> None:
    text = table.page(attacks.load())
    for attack in attacks.load():
        assert text.count(f"bank/{attack.name}.py)") == 1
        assert table.stock_of(attack).text != "not run", f"{attack.name}: neither measured nor why not"


def test_a_stock_verdict_is_read() -> None:
    """Points that stock nbgrader gives and we do not are counted as undeserved, and shown."""
    header = "# title: t\n# kind: answer\n# tries: this.\n# gets: bump_test failed\n"
    attack = attacks.parse(
        f"{header}# stock: nbgrader 1: bump_test 2/2, honest_test 0/1, 3 processes left\n# %% bump\n1", "x"
    )
    assert table.stock_of(attack) == table.Stock(
        "bump_test 2/2, honest_test 0/1, 3 processes left", measured=True, earned=2.0, honest=False, left=3
    )
    assert "| failed; 0 of 2 | **2 of 2**; honest answer lost; 3 processes left |" in table.page([attack])
