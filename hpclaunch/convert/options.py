"""What the user says beside the files."""

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from hpclaunch.readback.place import Form
from hpclaunch.spec.nodetype import NodeType

# A job file's text, and the folder that it is in ("": the current one) -> what the site's scheduler would
# get. Raises InputError where the site refuses the job.
Render = Callable[[str, str], str]


class Options(Struct, frozen=True):
    """`environment` is what the operator exported (--env), `arguments` the words that stood behind the
    script's name (--args), None where that was not said, `node_type` the machine that the original ran on,
    None where that was not said: it is never inferred from a label. `site` is the name under which hints
    for one site go into the job file, "" for none. Where that site is known, `render` makes its text of a
    job, and `volumes` are the forms of the volumes that it names. `sets` are
    KEY=VALUE of the job file (--set), over what the files tell."""

    environment: dict[str, str]
    node_type: NodeType | None = None
    site: str = ""
    render: Render | None = None
    volumes: Mapping[str, Form] = field(default_factory=dict)
    arguments: tuple[str, ...] | None = None
    sets: tuple[str, ...] = ()
