"""Programs that start another one in an environment of Python's: conda run, uv run, poetry run.

Options are those of `conda run` (conda 24.9; mamba's and micromamba's are alike), `uv run` (0.5), `pixi run`
(0.39), and of `poetry run` and `pipenv run`, which have none of their own.
"""

import re
from collections.abc import Sequence

from hpclaunch.convert.programs.flags import Table, table, take
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.readback.shell.values import Value, known, program_of

CONDAS = frozenset(("conda", "mamba", "micromamba"))
# They bring software that the machine has into a shell.
MODULES = ("module", "ml", "spack")
LOADERS = CONDAS.union(MODULES)
HOOKS = CONDAS | {"pyenv"}  # they write what sets up a shell
# What makes `conda activate` known to a shell, as it stands there.
HOOK = re.compile(r"eval\s+\"?\$\((?:\S*/)?(?:conda|mamba|micromamba)\s[^()]*\)\"?")
_CONDA = table(
    (
        (1, "name=n prefix=p cwd attach=a root-prefix=r env=e"),
        (0, "verbose=v dev debug-wrapper-scripts no-capture-output=s,live-stream clean-env detach=d"),
    )
)
_TABLES: dict[str, Table] = {
    "conda": _CONDA,
    "mamba": _CONDA,
    "micromamba": _CONDA,
    "uv": table(
        (
            (1, "python=p with with-editable with-requirements project directory extra group env-file"),
            (1, "package index-url=i extra-index-url cache-dir"),
            (0, "no-sync frozen locked active isolated no-project all-extras no-dev offline"),
            (0, "module=m script=s no-cache=n quiet=q verbose=v"),
        )
    ),
    "pixi": table(((1, "environment=e manifest-path"), (0, "frozen locked clean-env quiet=q verbose=v"))),
    "poetry": table(()),
    "pipenv": table(()),
}
ENVIRONMENTS = tuple(_TABLES)


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The program with `run` and its options, and what it starts; of any other command of it nothing."""
    program = program_of(words)
    if len(words) < 3 or known(words[1]) != "run":
        return Layer(""), []
    options, rest = take(list(words[2:]), _TABLES[program])
    if any(each.name in ("module", "script") for each in options):
        return Layer(""), []  # the word behind it is no program
    return Layer(program, tuple(options), (words[1],)), rest


def leaves(words: Sequence[Value]) -> bool:
    """Whether it leaves an environment: conda deactivate, deactivate of Python's venv, source deactivate."""
    behind = words[1:] if program_of(words) in CONDAS.union(("source", ".")) else words
    return bool(behind) and program_of(behind) == "deactivate"
