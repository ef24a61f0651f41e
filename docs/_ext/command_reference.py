"""All commands with their arguments and options, as ``--help`` tells them: the directive command-reference."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from minimaxrisk.cli.app import app as application

# An option with what follows it, where it is an example; else the option alone.
OPTION = re.compile(r"(?:(?<=: )|(?<=or ))(?:--[\w-]+ [^\s,\[]+ ?)+|--[\w-]+")


def commands() -> Iterator[tuple[str, Any]]:
    """All commands by their full names, groups before their members."""
    pending = [("minimaxrisk", typer.main.get_command(application))]
    while pending:
        name, command = pending.pop(0)
        yield name, command
        pending = [(f"{name} {each.name}", each) for each in getattr(command, "commands", {}).values()] + pending


def parameters(name: str, command: Any) -> dict[str, list[tuple[str, str]]]:
    """How each is written and what it means, by the heading under which ``--help`` shows them."""
    context = command.make_context(name, [], resilient_parsing=True)
    found: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
            found.setdefault(parameter.rich_help_panel or usual, []).append(record)
    return found


class CommandReference(SphinxDirective):
    """A section for each command, none of which can be forgotten."""

    def run(self) -> list[nodes.Node]:
        return [self._section(name, command) for name, command in commands()]

    def _section(self, name: str, command: Any) -> nodes.section:
        title = nodes.title("", "", nodes.literal(text=name))
        section = nodes.section("", title, ids=[nodes.make_id(name)], names=[name])
        context = command.make_context(name, [], resilient_parsing=True)
        section += nodes.literal_block(text=" ".join([name, *command.collect_usage_pieces(context)]))
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
    return [nodes.paragraph(text=heading), nodes.literal_block(text=dedent(lines).rstrip())]


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
