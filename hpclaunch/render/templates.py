"""The templates of scripts: compiled to Python modules in a wheel (compiling one costs half a start-up), read
from `templates/` in a checkout, where they change. Manifests have none (`pods.py`)."""

import os.path
from functools import cache

from jinja2 import BaseLoader, Environment, FileSystemLoader, ModuleLoader, StrictUndefined, Template

from hpclaunch.render import quote

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def environment(loader: BaseLoader) -> Environment:
    """How templates are read; the build compiles them with the same."""
    env = Environment(
        loader=loader,
        undefined=StrictUndefined,
        autoescape=False,  # shell: `bash` quotes what comes from users
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    env.filters["bash"] = quote.bash
    env.filters["inherited"] = quote.inherited
    env.filters["reads"] = quote.reads
    return env


@cache
def template(name: str) -> Template:
    """The template of that file name."""
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    compiled = os.path.join(_PACKAGE, "_compiled")
    if os.path.isdir(compiled):
        return environment(ModuleLoader(compiled))
    return environment(FileSystemLoader(os.path.join(os.path.dirname(_PACKAGE), "templates")))
