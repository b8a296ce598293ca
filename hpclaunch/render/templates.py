"""The templates: compiled to Python modules in a wheel (compiling one costs half a start-up), read from
`templates/` in a checkout, where they change."""

import os.path
from functools import cache

from jinja2 import BaseLoader, Environment, FileSystemLoader, ModuleLoader, StrictUndefined, Template

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def environment(loader: BaseLoader, *, manifests: bool) -> Environment:
    """How templates are read; the build compiles them with the same. `manifests`: with the filters of YAML,
    for which no script pays, as no manifest does for bash's."""
    env = Environment(
        loader=loader,
        undefined=StrictUndefined,
        autoescape=False,  # shell and YAML: `bash` and `yaml` quote what comes from users
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    if manifests:
        from hpclaunch.render import kubelet
        from hpclaunch.values import yamltext

        env.filters["kubelet"] = kubelet.word
        env.filters["yaml"] = yamltext.value
        env.filters["comment"] = yamltext.comment
        env.filters["under"] = yamltext.under
    else:
        from hpclaunch.render import quote

        env.filters["bash"] = quote.bash
        env.filters["inherited"] = quote.inherited
    return env


def is_manifest(name: str) -> bool:
    """Whether the template of that file name makes YAML; all others make scripts."""
    return name.endswith(".yaml.j2")


@cache
def template(name: str) -> Template:
    """The template of that file name."""
    return _environment(is_manifest(name)).get_template(name)


@cache
def _environment(manifests: bool) -> Environment:
    compiled = os.path.join(_PACKAGE, "_compiled")
    if os.path.isdir(compiled):
        return environment(ModuleLoader(compiled), manifests=manifests)
    folder = os.path.join(os.path.dirname(_PACKAGE), "templates")
    return environment(FileSystemLoader(folder), manifests=manifests)
