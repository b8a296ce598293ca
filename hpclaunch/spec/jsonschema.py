"""JSON Schema of what users may write, for editors: the Structs' schema, widened to what reading takes."""

from typing import Any

import msgspec

from hpclaunch.spec import scalars
from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site

Schema = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_VARIABLE = {
    "pattern": "^(?!hl_)[A-Za-z_][A-Za-z0-9_]*$",  # hl_ is the rank wrapper's, as in scalars.variable_name
    "not": {"enum": sorted(scalars.SHELL_OWNED)},
}


def job_schema() -> Schema:
    """The schema of a job file."""
    schema = _schema(Job, "An hpclaunch job file")
    job = schema["$defs"]["Job"]
    job["description"] = "What to run, and nothing about where."
    job["properties"]["time"] = {
        "description": "The time limit: minutes, any form of Slurm's --time, 30m, 2h, 1d12h, or UNLIMITED.",
        "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "minLength": 1}, {"type": "null"}],
    }
    schema["$defs"]["SignalSpec"]["properties"]["before"] = {
        "description": "A span of time: minutes, any form of Slurm's --time, 90s, 2m.",
        "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "minLength": 1}],
    }
    schema["$defs"]["PreflightSpec"]["properties"]["limit"] = {
        "description": "A span of time: minutes, any form of Slurm's --time, 90s, 2m.",
        "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "minLength": 1}],
    }
    job["properties"]["nodes"]["minimum"] = 1
    job["properties"]["env"]["propertyNames"] = _VARIABLE
    job["anyOf"] = [{"required": ["command"]}, {"required": ["groups"]}]
    group = schema["$defs"]["GroupSpec"]["properties"]
    group["env"]["propertyNames"] = _VARIABLE
    group["nodes"]["minimum"] = 1
    return schema


def site_schema() -> Schema:
    """The schema of a site file. One that extends another needs only its own name."""
    schema = _schema(Site, "An hpclaunch site file")
    site = schema["$defs"]["Site"]
    rest = [name for name in site["required"] if name != "name"]
    site["required"] = ["name"]
    site["anyOf"] = [{"required": ["extends"]}, {"required": rest}]
    site["properties"]["env"]["propertyNames"] = _VARIABLE
    limits = schema["$defs"]["LimitsSpec"]["properties"]
    limits["time"] = {
        "description": "A time limit: minutes, any form of Slurm's --time, 30m, 2h, 1d12h.",
        "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "minLength": 1}, {"type": "null"}],
    }
    return schema


def node_type_schema() -> Schema:
    """The schema of a node type."""
    schema = _schema(NodeType, "An hpclaunch node type")
    schema["$defs"]["NodeType"]["properties"]["env"]["propertyNames"] = _VARIABLE
    return schema


def _schema(struct: type[msgspec.Struct], title: str) -> Schema:
    schema: Schema = _widen(msgspec.json.schema(struct))
    return {"$schema": _DIALECT, "title": title, **schema}


def _widen(part: Any) -> Any:
    """Reading takes a text field's own text whatever YAML would make of it (1.10, no), every spelling of a
    boolean, and an empty value for a list or a map that has a default."""
    if isinstance(part, list):
        return [_widen(item) for item in part]
    if not isinstance(part, dict):
        return part
    wide = {key: _widen_part(key, value) for key, value in part.items()}
    if "description" in wide:
        wide["description"] = " ".join(wide["description"].split())
    match wide.get("type"):
        case "string":
            wide["type"] = ["string", "number", "boolean"]
        case "boolean":
            del wide["type"]
            wide["enum"] = [True, False, *sorted(scalars.TRUE | scalars.FALSE)]
        case "array" | "object" as kind if "default" in wide:
            wide["type"] = [kind, "null"]
    if "$ref" in wide and "default" in wide:
        reference = {"$ref": wide.pop("$ref")}
        wide["anyOf"] = [reference, {"type": "null"}]
    return wide


def _widen_part(key: str, value: Any) -> Any:
    if key in ("properties", "$defs"):  # maps of names, which are not keywords
        return {name: _widen(part) for name, part in value.items()}
    return value if key in ("default", "enum") else _widen(value)
