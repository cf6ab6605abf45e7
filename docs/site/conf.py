"""Builds the pages as a site with Sphinx (`make site`). `docs/SUMMARY.md` is its table of contents."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
# Pages beside `docs/`, which it links to.
OTHERS = ["README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG", "SECURITY", "findings/**", "bindings/**/README",
          "stacks/**/README", "interop/README", "release/CHECKLIST"]

project = html_title = "commute"
html_theme = "furo"
html_copy_source = False
extensions = ["myst_parser"]
# Anchors of headings are those of GitHub.
myst_heading_anchors = 4
root_doc = "docs/README"
# Of rustdoc, and unknown to Pygments: `rust,no_run`.
suppress_warnings = ["misc.highlighting_failure"]
include_patterns = ["docs/**"] + [other + ".md" for other in OTHERS]
exclude_patterns = ["docs/SUMMARY.md", "**/.*", "**/build", "**/node_modules", "**/target"]


def contents():
    """Yields a table of contents for each part of the summary, then one for the other pages."""
    for part in (ROOT / "docs/SUMMARY.md").read_text().split("\n# ")[1:]:
        entries = re.findall(r"- \[(.*)\]\((.*)\.md\)", part)
        yield part.split("\n")[0], [f"{title} </docs/{page}>" for title, page in entries]
    yield "Repository", ["/" + other for other in OTHERS]


def add_contents(app, name, source):
    if name == root_doc:
        for caption, entries in contents():
            options = [f":caption: {caption}", ":hidden:", ":glob:"]
            source[0] += "\n".join(["", "```{toctree}", *options, "", *entries, "```", ""])


def setup(app):
    app.connect("source-read", add_contents)
