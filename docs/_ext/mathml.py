"""Formulas as MathML, which browsers draw themselves: pages need no script and no network for them."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)


def _mathml(node: nodes.math | nodes.math_block, display: str) -> str:
    try:
        return convert(node.astext(), display=display)
    except Exception as error:  # the converter raises many kinds; whichever it is, the formula is at fault
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        return f"<code>{escape(node.astext())}</code>"


def visit_inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(f'<span class="math">{_mathml(node, "inline")}</span>')
    raise nodes.SkipNode


def visit_displayed(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(_mathml(node, "block"))
    if node["number"]:
        translator.body.append(f'<span class="eqno">({get_node_equation_number(translator, node)})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
