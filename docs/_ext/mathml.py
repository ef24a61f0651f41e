"""Formulas as MathML, which browsers draw themselves: pages need no script and no network for them."""

from __future__ import annotations

from html import escape
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
# What stands below these in a formula of its own, the converter would set beside them.
WITH_LIMITS = {"min", "max"}
LIMITS = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
SCRIPT_A = 0x1D49C  # browsers know script letters by their characters, no longer by an attribute


def mathml(latex: str, display: str) -> str:
    """A formula in the form that browsers of today draw well."""
    ElementTree.register_namespace("", NAMESPACE)
    root = ElementTree.fromstring(convert(latex, display=display))
    for element in root.iter():
        name = element.tag.removeprefix(f"{{{NAMESPACE}}}")
        if display == "block" and name in LIMITS and element[0].text in WITH_LIMITS:
            element.tag = f"{{{NAMESPACE}}}{LIMITS[name]}"
        if element.attrib.pop("mathvariant", None) == "script" and element.text:
            element.text = "".join(chr(SCRIPT_A + ord(letter) - ord("A")) for letter in element.text)
    return ElementTree.tostring(root, encoding="unicode")


def _drawn(node: nodes.math | nodes.math_block, display: str) -> str:
    try:
        return mathml(node.astext(), display)
    except Exception as error:  # the converter raises many kinds; whichever it is, the formula is at fault
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        return f"<code>{escape(node.astext())}</code>"


def visit_inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(_drawn(node, "inline"))
    raise nodes.SkipNode


def visit_displayed(translator: Any, node: nodes.math_block) -> None:
    # Not of the class "math", which the theme lays out for scripts that draw formulas.
    translator.body.append(translator.starttag(node, "div", CLASS="formula"))
    translator.body.append(_drawn(node, "block"))
    if node["number"]:
        translator.body.append(f'<span class="eqno">({get_node_equation_number(translator, node)})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
