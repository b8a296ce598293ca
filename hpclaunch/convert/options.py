"""What the user says beside the files."""

from msgspec import Struct

from hpclaunch.spec.nodetype import NodeType


class Options(Struct, frozen=True):
    """`environment` is what the operator exported (--env), `node_type` the machine that the original ran on,
    None where that was not said: it is never inferred from a label. `site` is the name under which hints
    for one site go into the job file, "" for none."""

    environment: dict[str, str]
    node_type: NodeType | None = None
    site: str = ""
