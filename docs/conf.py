"""The documentation site, of the Markdown pages in this folder: `sphinx-build -W -j auto docs build/site`."""

from scheduler_reader import __version__

project = "sched-reader"
copyright = "The sched-reader authors"
release = __version__
extensions = ["myst_parser"]
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]
html_theme = "furo"
html_title = f"sched-reader {release}"
html_static_path: list[str] = []
html_copy_source = False
html_show_sphinx = False
exclude_patterns = ["conf.py"]
