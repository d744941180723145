"""Settings of `make lab`: JupyterLab on the student's notebooks, nothing that asks or phones home.

Found through JUPYTER_CONFIG_PATH, so that nothing is written to the user's own Jupyter settings. What the page shows
and hides stands in `labconfig/`, which server extensions run in `jupyter_server_config.d/`, submitting in
`nbgrader_config.py`; what gives figures their alternative text, and breaks long lines of outputs between words, in
`labextensions/`.
"""

from pathlib import Path

c = get_config()  # noqa: F821 - put there by the loader; traitlets' own get_config means the running application

course = Path(__file__).resolve().parents[1]
c.ServerApp.root_dir = str(course / "notebooks")
c.LabApp.extra_labextensions_path = [str(course / "jupyter" / "labextensions")]
c.LabApp.extension_manager = "readonly"  # The default one asks PyPI for a catalog.
c.LabApp.news_url = None  # "Would you like to receive news?" is not asked either: see labconfig/.
c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"
if (course / "notebooks" / "README.ipynb").is_file():
    c.LabApp.default_url = "/lab/tree/README.ipynb"  # Chapters, time, points, and how far one is.
