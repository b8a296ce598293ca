"""What whoever copies a script is to fill in: --container-image <path to docker image>. A shell takes that
for two redirections, and runs the command without its image."""

import re
from collections.abc import Iterator, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.reading import Source
from hpclaunch.values.conversion import Place

# Behind an option, with nothing between the words and their brackets, which no redirection is written like.
_VALUE = re.compile(r"""(?<!\S)(--[a-z][\w-]*[ =])<([A-Za-z][^<>|&;"'`$(){}\n]{0,60}?)(?<! )>(?=\s|\\|$)""")


def put_in(sources: Sequence[Source], draft: Draft) -> list[Source]:
    """The sources with a variable for each, which nobody gave."""
    return [Source(each.name, "\n".join(_lines(each, draft))) for each in sources]


def _lines(source: Source, draft: Draft) -> Iterator[str]:
    for number, line in enumerate(source.text.split("\n"), 1):
        if "<" in line and "--" in line and not line.lstrip().startswith("#"):
            for found in _VALUE.finditer(line):
                name = _name(found[2])
                draft.say(
                    "repaired",
                    [Place(source.name, number)],
                    f"<{found[2]}>",
                    became=f"${{{name}}}",
                    why="whoever copies the script fills it in, and a shell takes it for redirections",
                    todo=f"fill it in, or convert again with --env {name}=VALUE",
                )
            line = _VALUE.sub(lambda found: f"{found[1]}${{{_name(found[2])}}}", line)
        yield line


def _name(text: str) -> str:
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
