# title: Scripts in outputs, messages, and Markdown
# kind: notebook
# tries: to run JavaScript in the browser of a reader of feedback or report, and to control their terminal.
# gets: bump_test failed "<script>"; unit_test failed "<img"
# stock: nbgrader 0.9.6: bump_test 0/2, unit_test 0/2, honest_test 1/1
# %% first
from IPython.display import HTML, SVG, Javascript, Latex, Markdown, display

script = "<script>alert('hostile')</script>"
print(script, "\x1b]0;hostile\x07\x1b[2J\x1b[31m")
for show in (HTML, Javascript, Latex, Markdown):
    display(show(script))
display(SVG("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script>alert('hostile')</script></svg>"))
# %% bump
def bump(x):
    return "<script>alert('hostile')</script>\x1b[2J"
# %% unit
def unit(v):
    raise ValueError("<img src=x onerror=alert('hostile')>")
# %% notebook
for cell in notebook["cells"]:
    if cell["id"] == "intro":
        cell["source"] = "<script>alert('hostile')</script>\n\n[link](javascript:alert('hostile'))\n\n[r]\n\n[r]: javascript:alert('hostile')\n"
notebook["metadata"]["title"] = "<script>alert('hostile')</script>"
