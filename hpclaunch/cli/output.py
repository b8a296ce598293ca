"""What commands print: JSON on standard output, messages on standard error."""

import os
import sys
from typing import Any

import click
import msgspec

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def say(message: str, prefix: str = "hpclaunch: ") -> None:
    """A message on standard error, each of its lines after the prefix. Where that takes none (its disk is
    full, its reader has gone) what is done and the exit status stay what they are."""
    try:
        for line in message.splitlines():
            click.echo(prefix + line, err=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def warn(*messages: str) -> None:
    """Says on standard error what the tool did not do."""
    for message in messages:
        say(f"warning: {message}")


def print_facts(facts: dict[str, Any]) -> None:
    """A line for each fact that is known."""
    width = max(map(len, facts))
    for name, value in facts.items():
        if value not in (None, ""):
            click.echo(f"{name.replace('_', ' '):{width}}  {value}")


def print_json(value: object) -> None:
    """A value on standard output, indented, in UTF-8 under every locale."""
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))
