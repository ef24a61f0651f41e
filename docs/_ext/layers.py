"""The directive ``layers``: a picture of the layers that an import contract of pyproject.toml names.

It is drawn while the site is built, so that it cannot be out of date, and in the colours of the page.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
WIDTH, HEIGHT, GAP = 440, 34, 12  # of a phone, so that names can be read there


def layers_of(contract: str) -> list[list[str]]:
    """The layers of a contract from the top down, each with the packages that stand side by side in it."""
    contracts = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = (one["layers"] for one in contracts if one["name"] == contract)
    return [layer.split(" | ") for layer in layers]


def picture(layers: list[list[str]], title: str) -> str:
    """Boxes in rows, with an arrow from each row to the one below, which it may import."""
    height = len(layers) * (HEIGHT + GAP) - GAP + 2
    parts = [
        f'<svg class="layers" role="img" aria-label="{title}" viewBox="-1 -1 {WIDTH + 2} {height}" '
        f'width="{WIDTH}" xmlns="http://www.w3.org/2000/svg">'
    ]
    for i, names in enumerate(layers):
        top, width = i * (HEIGHT + GAP), (WIDTH - GAP * (len(names) - 1)) / len(names)
        for k, name in enumerate(names):
            left = k * (width + GAP)
            parts.append(f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{HEIGHT}" rx="5"/>')
            parts.append(f'<text x="{left + width / 2:.1f}" y="{top + HEIGHT / 2 + 5}">{name}</text>')
        if i + 1 < len(layers):
            x, y = WIDTH / 2, top + HEIGHT
            parts.append(f'<path d="M{x} {y + 1} v{GAP - 3} m-4 -4 l4 4 l4 -4"/>')
    return "".join([*parts, "</svg>"])


class Layers(SphinxDirective):
    """``{layers}`` with the name of a contract as content."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(PYPROJECT))
        contract = " ".join(self.content)
        return [nodes.raw("", picture(layers_of(contract), contract), format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("layers", Layers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
