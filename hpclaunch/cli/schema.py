"""`hpclaunch schema`: JSON Schema of the files that users write."""

from collections.abc import Callable
from typing import Any

import click

from hpclaunch.cli.output import print_json
from hpclaunch.spec import jsonschema


@click.group()
def schema() -> None:
    """Print the JSON Schema of a file, for editors."""


def _add(name: str, make: Callable[[], dict[str, Any]], help_text: str) -> None:
    def show() -> None:
        print_json(make())

    schema.command(name, help=help_text)(show)


_add("job", jsonschema.job_schema, "The schema of a job file.")
_add("site", jsonschema.site_schema, "The schema of a site file.")
_add("node-type", jsonschema.node_type_schema, "The schema of a node type.")
