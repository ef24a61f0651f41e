"""The directive ``command-reference``: all commands with their arguments and options, from their own help."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from minimaxrisk.app.cli.app import app as application

# An option with what follows it, where it is an example; else the option alone.
OPTION = re.compile(r"(?:(?<=: )|(?<=or ))(?:--[\w-]+ [^\s,\[]+ ?)+|--[\w-]+")


def commands() -> Iterator[tuple[str, Any]]:
    """All commands by their full names, groups before their members."""
    pending = [("minimaxrisk", typer.main.get_command(application))]
    while pending:
        name, command = pending.pop(0)
        yield name, command
        pending = [
            (f"{name} {each.name}", each) for each in getattr(command, "commands", {}).values()
        ] + pending


def parameters(name: str, command: Any) -> dict[str, list[tuple[str, str]]]:
    """How each is written and what it means, by the heading under which ``--help`` shows them."""
    context = command.make_context(name, [], resilient_parsing=True)
    found: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:
            continue
        panel = getattr(parameter, "rich_help_panel", None)  # older releases of typer give --help none
        if parameter.param_type_name == "argument":
            found.setdefault(panel or "Arguments", []).append((parameter.metavar, record[1]))
        else:
            found.setdefault(panel or "Options", []).append(record)
    return found


def usage(name: str, command: Any) -> str:
    """The command with its arguments; releases of typer differ in the braces around them."""
    context = command.make_context(name, [], resilient_parsing=True)
    return " ".join([name, *(piece.strip("{}") for piece in command.collect_usage_pieces(context))])


class CommandReference(SphinxDirective):
    """A section for each command, none of which can be forgotten."""

    def run(self) -> list[nodes.Node]:
        return [self._section(name, command) for name, command in commands()]

    def _section(self, name: str, command: Any) -> nodes.section:
        title = nodes.title("", "", nodes.literal(text=name))
        section = nodes.section("", title, ids=[nodes.make_id(name)], names=[name])
        section += _as_typed(usage(name, command))
        for paragraph in (command.help or "").split("\n\n"):
            section += _told(paragraph)
        for heading, records in parameters(name, command).items():
            section += nodes.rubric(text=heading)
            listed = nodes.definition_list(classes=["simple"])
            for written, meaning in records:
                term = nodes.term("", "", nodes.literal(text=written))
                listed += nodes.definition_list_item(
                    "", term, nodes.definition("", nodes.paragraph("", "", *_with_options(meaning)))
                )
            section += listed
        return section


def _told(paragraph: str) -> list[nodes.Node]:
    if not paragraph.startswith("\b"):
        return [nodes.paragraph("", "", *_with_options(" ".join(paragraph.split())))]
    heading, _, lines = paragraph.lstrip("\b\n").partition("\n")
    return [nodes.paragraph(text=heading), _as_typed(dedent(lines).rstrip())]


def _as_typed(text: str) -> nodes.literal_block:
    return nodes.literal_block(text, text, language="text")


def _with_options(text: str) -> list[nodes.Node]:
    """Options as they are typed: in plain text two hyphens would become a dash."""
    text, found, end = " ".join(text.split()), [], 0
    for match in OPTION.finditer(text):
        option = match[0].rstrip(" .;")
        found += [nodes.Text(text[end : match.start()]), nodes.literal(text=option)]
        end = match.start() + len(option)
    return [*found, nodes.Text(text[end:])]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("command-reference", CommandReference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
