"""Sphinx's settings for the course's web site. `grader site` puts the pages together and calls Sphinx."""

project = "A GPU course in notebooks"
html_title = project
author = "the gpulab authors"
project_copyright = "the gpulab authors, MIT license"

extensions = ["myst_nb"]
nb_execution_mode = "off"  # `grader build` has executed the chapters
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
# A chapter's sections begin where its text wants them to, and nbgrader's cells have a lexer of their own kind.
suppress_warnings = ["myst.header", "mystnb.unknown_mime_type"]

html_theme = "sphinx_book_theme"
html_theme_options = {
    "show_toc_level": 2,
    "use_download_button": False,
    "use_fullscreen_button": False,
    "home_page_in_toc": True,
}
html_static_path = ["_static"]
html_css_files = ["course.css"]
html_copy_source = False  # the pages as sources are the notebooks, and students get those elsewhere
html_show_sphinx = False
