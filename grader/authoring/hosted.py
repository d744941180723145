"""What students without an installation get: a wheel, notebooks that install it, and a page of links.

The folder is put on the web at an address that the instructor names. Each notebook is the released one with a cell in
front, which does nothing where the course is installed; so it is graded as any other submission.
"""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import nbformat

from grader.authoring.launcher import Outline
from grader.model.notebook_io import to_text

SET_UP_ID = "set-up-on-a-host"
LEFT_OUT = frozenset({"jupyterlab", "nbgrader", "jsonschema", "ipykernel", "matplotlib-inline"})
"""A host has its own Jupyter. Another one beside it would change packages that the host's kernel runs on."""
GITHUB = re.compile(
    r"https://(?:github\.com/(?P<repo>[\w.-]+/[\w.-]+)/(?:tree|blob)|raw\.githubusercontent\.com/(?P<raw>[\w.-]+/[\w.-]+))"
    r"/(?P<branch>[\w.-]+)(?P<path>(?:/[\w.-]+)*)/?"
)
SET_UP = """\
# On Colab, Kaggle, or another notebook host: run this cell first. Where the course is installed, it does nothing.
import importlib.util

if importlib.util.find_spec("gpulab") is None:
    import glob, os, site, subprocess, sys, sysconfig, urllib.request

    wheel = "@WHEEL@"
    uploaded = glob.glob(wheel) + glob.glob(f"/kaggle/input/**/{wheel}", recursive=True)
    if not uploaded:
        urllib.request.urlretrieve("@URL@", wheel)
    path = os.path.abspath((uploaded or [wheel])[0])
    there = {**os.environ, "PYTHONPATH": os.pathsep.join([path, *filter(None, [os.environ.get("PYTHONPATH")])])}
    command = [sys.executable, "-u", "-m", "gpulab.hosted", path]
    with subprocess.Popen(command, env=there, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as set_up:
        for line in set_up.stdout:
            print(line, end="")
    assert set_up.returncode == 0, "The course is not installed: the reason is printed above."
    site.addsitedir(site.getusersitepackages() if site.ENABLE_USER_SITE else sysconfig.get_paths()["purelib"])
    importlib.invalidate_caches()
    from gpulab.hosted import prefer_user_packages

    prefer_user_packages()
"""
STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color-scheme:light dark}table{border-collapse:collapse}td,th{padding:.3rem .8rem;text-align:left;"
    "border-bottom:1px solid #8888}div{overflow-x:auto}"
)


@dataclass(frozen=True)
class WebFolder:
    """Where the folder is on the web."""

    files: str
    """Address that files are fetched below, without a slash at the end."""
    shown: str = ""
    """The same folder as `USER/REPOSITORY/blob/BRANCH/PATH` on GitHub; empty elsewhere."""

    def links(self, name: str) -> dict[str, str]:
        """What opens a notebook → its address. Colab and Kaggle open notebooks from GitHub only."""
        links = {"Download": f"{self.files}/{name}"}
        if not self.shown:
            return links
        return {
            "Colab": f"https://colab.research.google.com/github/{self.shown}/{name}",
            "Kaggle": f"https://kaggle.com/kernels/welcome?src=https://github.com/{self.shown}/{name}",
            **links,
        }


def place_of(url: str) -> WebFolder:
    """The place that an address names; a folder on GitHub is taken as one, whichever way it is written."""
    url = url.rstrip("/")
    match = GITHUB.fullmatch(url)
    if not match:
        return WebFolder(url)
    repo, branch, path = match["repo"] or match["raw"], match["branch"], match["path"]
    return WebFolder(f"https://raw.githubusercontent.com/{repo}/{branch}{path}", f"{repo}/blob/{branch}{path}")


def wheel_of(project: dict[str, Any], needs: Sequence[str], package: dict[str, bytes]) -> tuple[str, bytes]:
    """The wheel's name and its bytes, the same for the same content.

    Args:
        project: the course's `[project]`.
        needs: what students need, as in `pyproject.toml`.
        package: path in the wheel → content.
    """
    name, version = project["name"], project["version"]
    about = f"{name}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += ["Summary: What the notebooks of the GPU course import", f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {need}" for need in needs if re.split(r"[\[<>=]", need)[0] not in LEFT_OUT]
    files = dict(sorted(package.items()))
    files[f"{about}/METADATA"] = ("\n".join(lines) + "\n").encode()
    tags = ("Wheel-Version: 1.0", "Generator: grader", "Root-Is-Purelib: true", "Tag: py3-none-any", "")
    files[f"{about}/WHEEL"] = "\n".join(tags).encode()
    record = "".join(f"{path},{_digest(data)},{len(data)}\n" for path, data in files.items())
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for path, data in files.items():
            member = zipfile.ZipInfo(path, date_time=(1980, 1, 1, 0, 0, 0))
            member.external_attr = 0o100644 << 16
            member.create_system = 3  # Unix
            archive.writestr(member, data)
    return f"{name}-{version}-py3-none-any.whl", packed.getvalue()


def with_set_up(notebook: bytes, wheel: str, place: WebFolder) -> bytes:
    """A released notebook with the set-up cell in front."""
    opened = nbformat.from_dict(json.loads(notebook))
    source = SET_UP.replace("@WHEEL@", wheel).replace("@URL@", f"{place.files}/{wheel}").rstrip()
    cell = nbformat.v4.new_code_cell(source, id=SET_UP_ID, metadata={"tags": ["set-up"]})
    opened.cells.insert(0, cell)
    return to_text(opened).encode()


def pages(outlines: Sequence[Outline], place: WebFolder, wheel: str, archive: str) -> dict[str, bytes]:
    """The page of links: as `index.html`, and on GitHub as `README.md`, which it shows with the folder."""
    ways = list(place.links(""))
    how = [
        "Open a chapter and run its first cell: it installs what the course needs, and changes no package of the host. "
        "Work, then download the notebook and hand in that file.",
        f"If the first cell cannot reach the network, upload {wheel} beside the notebook (on Kaggle: as a data set).",
        f"To work on your own machine, download {archive} and read the README in it.",
    ]
    if "Colab" not in ways:
        how.insert(0, 'Download a chapter, and upload it to your host: in Colab "File", "Upload notebook".')
    files = {"index.html": _html(outlines, place, ways, how, archive)}
    if place.shown:
        rows = "".join(
            f"| {one.number} | {one.title} | {one.points_text} | "
            + " · ".join(f"[{way}]({address})" for way, address in place.links(f"{one.name}.ipynb").items())
            + " |\n"
            for one in outlines
        )
        told = "".join(f"- {line}\n" for line in how)
        text = f"# Open a chapter\n\n| | chapter | points | open |\n|---|---|---|---|\n{rows}\n{told}"
        files["README.md"] = text.encode()
    return files


def _html(outlines: Sequence[Outline], place: WebFolder, ways: list[str], how: list[str], archive: str) -> bytes:
    rows = "".join(
        f"<tr><td>{one.number}</td><td>{html.escape(one.title)}</td><td>{html.escape(one.points_text)}</td>"
        + "".join(
            f'<td><a href="{html.escape(address)}" aria-label="{way}: chapter {one.number}"'
            f"{' download' if way == 'Download' else ''}>{way}</a></td>"
            for way, address in {**place.links(f"{one.name}.ipynb"), "Download": f"{one.name}.ipynb"}.items()
        )
        + "</tr>\n"
        for one in outlines
    )
    told = "".join(f"<li>{html.escape(line)}</li>\n" for line in how)
    heads = "".join(f"<th>{head}</th>" for head in ("", "chapter", "points", *([""] * len(ways))))
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Open a chapter</title>\n<style>{STYLE}</style>\n<h1>Open a chapter</h1>\n<ul>\n{told}</ul>\n"
        f"<div><table>\n<tr>{heads}</tr>\n{rows}</table></div>\n"
        f'<p><a href="{archive}">{archive}</a></p>\n</html>\n'
    ).encode()


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
