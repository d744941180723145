"""Who a file in a download belongs to, by its name and its folder."""

from __future__ import annotations

import pytest
from downloads import IPYNB, OTHER, moodle
from recorded_class import NAME

from grader.intake.names import Owner, Platform, folder_name, owner_of, platform_of, student_of
from grader.intake.sources import DownloadEntry, without_common_top


class TestNames:
    @pytest.mark.parametrize(
        ("path", "owner"),
        [
            (moodle("Anna Müller_4711", "my work.ipynb"), Owner("Anna Müller", "my work.ipynb", "4711")),
            (f"Anna_4711_assignsubmission_file_/{IPYNB}", Owner("Anna", IPYNB, "4711")),  # before Moodle 4
            (f"Anna_4711_assignsubmission_file_{IPYNB}", Owner("Anna", IPYNB, "4711")),  # not as folders
            (moodle("安娜_4711", f"deep/er/{IPYNB}"), Owner("安娜", IPYNB, "4711")),
            (f"Course-01-99/{moodle('Anna_4711')}", Owner("Anna", IPYNB, "4711")),  # unpacked, zipped again
            (moodle("Group 3_12"), Owner("Group 3", IPYNB, "12")),
            (moodle("Default group"), Owner("Default group", IPYNB)),
            (f"readme/{IPYNB}", None),
        ],
    )
    def test_moodle(self, path: str, owner: Owner | None) -> None:
        assert owner_of(path.split("/"), Platform.MOODLE, [NAME]) == owner

    @pytest.mark.parametrize(
        ("path", "owner"),
        [
            (f"doejane_77_4711_{IPYNB}", Owner("doejane", IPYNB, "77", False, 4711)),
            (f"doejane_LATE_77_4711_{IPYNB}", Owner("doejane", IPYNB, "77", True, 4711)),
            (f"doejane_late_77_4711_{NAME}-2.ipynb", Owner("doejane", f"{NAME}-2.ipynb", "77", True, 4711)),
            (f"anon_x9Yz1_4711_{IPYNB}", Owner("anon", IPYNB, "x9Yz1", False, 4711)),
            (f"müllerzoë_7_8_{IPYNB}", Owner("müllerzoë", IPYNB, "7", False, 8)),
            ("doejane_77_text.html", None),
        ],
    )
    def test_canvas(self, path: str, owner: Owner | None) -> None:
        assert owner_of(path.split("/"), Platform.CANVAS, [NAME]) == owner

    @pytest.mark.parametrize(
        ("path", "student"),
        [
            (f"anna/{NAME}/{IPYNB}", "anna"),
            (f"anna/a/b/c/{IPYNB}", "anna"),
            (f"anna_{IPYNB}", "anna"),
            (f"{NAME}_anna (2).ipynb", "anna"),
            (f"{NAME}/anna/x.ipynb", "anna"),
            ("anna.ipynb", "anna"),
            (IPYNB, None),
        ],
    )
    def test_plain_folders(self, path: str, student: str | None) -> None:
        owner = owner_of(path.split("/"), Platform.FOLDER, [NAME])
        assert (owner and owner.name) == student

    def test_platform_is_told_by_the_paths(self) -> None:
        assert platform_of([[IPYNB], moodle("Anna_4").split("/")]) is Platform.MOODLE
        assert platform_of([[f"doejane_1_2_{IPYNB}"], ["doejane_1_text.html"]]) is Platform.CANVAS
        assert platform_of([["anna", IPYNB]]) is Platform.FOLDER

    def test_no_file_of_one_student_changes_how_all_are_read(self) -> None:
        """A folder or files called as a platform calls them, inside of a student's own."""
        others = [["anna", IPYNB], ["Bob Lee", IPYNB]]
        assert platform_of([*others, ["eve", *moodle("Bob Lee_1").split("/")]]) is Platform.FOLDER
        assert platform_of([*others, *(["eve", f"bob_{i}_1_x.ipynb"] for i in range(9))]) is Platform.FOLDER
        weeks = [[week, *moodle("Anna_4").split("/")] for week in ("week 1", "week 2")]
        assert platform_of(weeks) is Platform.MOODLE

    @pytest.mark.parametrize(
        ("name", "folder"),
        [
            ("Zoe\u0308 Mu\u0308ller", "Zoë Müller"),  # as macOS writes it
            ("../../etc", "_.._etc"),
            ("=cmd|' /C calc'!A0", "=cmd_' _C calc'!A0"),
            ("a\u202egnp.\x1b[31m", "agnp._31m"),
            ("..", ""),
            ("///", ""),
            ("안나 김", "안나 김"),
        ],
    )
    def test_a_name_becomes_a_folder_that_is_safe(self, name: str, folder: str) -> None:
        assert folder_name(name) == folder
        assert "/" not in folder
        assert not folder.startswith(".")

    def test_long_names_leave_room_for_a_number(self) -> None:
        student = student_of(Owner("é" * 300, IPYNB, "123456"), Platform.CANVAS)
        assert student.endswith("é_123456")
        assert len(student.encode()) <= 200

    def test_a_folder_around_everything_is_nobody(self) -> None:
        around = [DownloadEntry(("all", name, IPYNB), 1) for name in ("anna", "bela")]
        assert [one.parts for one in without_common_top(around, "x", [NAME])] == [("anna", IPYNB), ("bela", IPYNB)]
        single = [DownloadEntry(("anna", NAME, IPYNB), 1), DownloadEntry(("anna", OTHER, "x.ipynb"), 1)]
        assert without_common_top(single, "x", [NAME, OTHER]) == single
