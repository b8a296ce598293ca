"""A command's result, on standard output or in the file that -o names."""

import os
import tempfile

import click

from hpclaunch.values.errors import InputError


def put(text: str, output: str | None, mode: int = 0o644) -> None:
    """Prints the text (`output` None or `-`) or writes it into a file, in UTF-8 in every locale.
    A file appears whole or not at all. Raises InputError where it cannot be written."""
    if output is None or output == "-":
        click.echo(text.encode(), nl=False)
        return
    try:
        _write(os.path.realpath(output), text, mode)
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error.strerror}") from None


def refuse_existing(output: str | None, way: str = "remove it first") -> None:
    """For what a person goes on to edit: a file that is there is not written over; `way` is what to do if it
    shall be. Raises InputError."""
    if output is not None and os.path.isfile(os.path.realpath(output)):  # x/.. is here also without an x
        raise InputError(f"{output} is there already: {way}, or name another file")


def _write(path: str, text: str, mode: int) -> None:
    """What is no file (/dev/stdout, a pipe) is written to, and never replaced. Raises OSError."""
    if os.path.lexists(path) and not os.path.isfile(path):
        with open(path, "w", encoding="utf-8", newline="") as device:
            device.write(text)
        return
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".hpclaunch-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            os.fchmod(file.fileno(), mode)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
