"""Manifests that a program makes of a template: {{ .Values.image }} of Helm, {{.Image}} of Go's
text/template, {{ image }} of Jinja.

A place for a value becomes ${image}, as envsubst has it. What a template does on a condition or in a loop
only that program knows, and it is refused.
"""

import re

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.text.repair import TEMPLATE
from hpclaunch.values.conversion import Place

BY = "what makes the manifest of this template"
# pkg.go.dev/text/template ("Actions"), helm.sh/docs/chart_template_guide, and Jinja's {% %}.
_ACTS = re.compile(
    r"\{\{-?\s{0,9}(?:(?:if|range|include|with|define|end|else|template|block|toYaml|tpl)\b|\$\w{1,60}\s{0,9}:=|/\*)"
    r"|\{%"
)
_VALUE = re.compile(
    r"(?<!\$)\{\{-?\s{0,9}\$?\.?([A-Za-z_][\w.-]{0,200})\s{0,9}(?:\|[^{}\n]{0,200})?-?\}\}"
    r"|(?<=[:-] )\{ \{ ?\$?\.?([A-Za-z_][\w.]{0,200}) ?\} \}"
)
_MOST_LINES = 5


def values_put_in(file: str, text: str, draft: Draft) -> tuple[str, frozenset[str]]:
    """The text with ${NAME} for each value, and the names; as it is where it does more than put values in."""
    if _ACTS.search(text) or not TEMPLATE.search(text):
        return text, frozenset()
    lines: dict[str, list[int]] = {}
    written: dict[str, str] = {}
    number = 1

    def place(found: re.Match[str]) -> str:
        name = _name(found[1] or found[2])
        lines.setdefault(name, []).append(number)
        written.setdefault(name, found[0])
        return f"${{{name}}}"

    made = []
    for line in text.split("\n"):
        made.append(line if line.lstrip().startswith("#") else _VALUE.sub(place, line))
        number += 1
    for name, its in lines.items():
        why = "it is a template, and what makes the manifest of it fills it in"
        todo = f"convert the manifest that is made of it, or convert again with --env {name}=VALUE"
        places = [Place(file, each) for each in its[:_MOST_LINES]]
        draft.say("repaired", places, written[name], became=f"${{{name}}}", why=why, todo=todo)
    return "\n".join(made), frozenset(lines)


def _name(text: str) -> str:
    return re.sub(r"\W+", "_", text.removeprefix("Values."), flags=re.ASCII).strip("_")
