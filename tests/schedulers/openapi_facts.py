"""What slurmrestd takes from v0.0.39 on, as its sources have it: `JOB_DESC_MSG` and the arrays of flags in
src/plugins/data_parser/VERSION/parsers.c, read at the last tags of 23.02 to 26.05. They are alike in what is
here; a flag that is not in its array makes it refuse the whole submission (`_foreach_flag_parser`)."""

from collections.abc import Mapping

# A field -> its kind: text, int, bool, a number that may be unset or infinite, texts, or the names of flags.
FIELDS: Mapping[str, str] = {
    **dict.fromkeys(("account", "array", "comment", "constraints", "current_working_directory"), "text"),
    **dict.fromkeys(
        ("dependency", "kill_warning_signal", "licenses", "mail_user", "name", "network"), "text"
    ),
    **dict.fromkeys(("nodes", "partition", "qos", "reservation", "script", "standard_output"), "text"),
    **dict.fromkeys(("tres_per_node", "wckey"), "text"),
    **dict.fromkeys(("cpus_per_task", "tasks", "tasks_per_node"), "int"),
    **dict.fromkeys(("hold", "kill_on_node_fail", "requeue"), "bool"),
    **dict.fromkeys(("kill_warning_delay", "memory_per_node", "time_limit"), "number"),
    **dict.fromkeys(("environment", "excluded_nodes", "required_nodes"), "texts"),
    **dict.fromkeys(("flags", "kill_warning_flags", "mail_type", "open_mode", "shared"), "flags"),
}
FLAGS: Mapping[str, frozenset[str]] = {
    "flags": frozenset({"KILL_INVALID_DEPENDENCY"}),
    "kill_warning_flags": frozenset({"BATCH_JOB"}),
    "mail_type": frozenset(
        {"BEGIN", "END", "FAIL", "REQUEUE", "TIME=100%", "TIME=90%", "TIME=80%", "TIME=50%", "STAGE_OUT"}
        | {"ARRAY_TASKS", "INVALID_DEPENDENCY"}
    ),
    "open_mode": frozenset({"APPEND", "TRUNCATE"}),
    "shared": frozenset({"none", "oversubscribe", "user", "mcs"}),
}


def fits(field: str, value: object) -> bool:
    """Whether the parser of a field takes such a value."""
    kind = FIELDS[field]
    if kind == "number":
        return isinstance(value, dict) and {
            name: type(part) for name, part in value.items()
        } == {"set": bool, "infinite": bool, "number": int}  # fmt: skip
    if kind in ("texts", "flags"):
        return (
            isinstance(value, list)
            and all(type(part) is str for part in value)
            and (kind == "texts" or set(value) <= FLAGS[field])
        )
    return type(value) is {"text": str, "int": int, "bool": bool}[kind]
