"""What becomes of options of other schedulers than Slurm that say nothing about the sizes of a launch.

Options by the manuals that `other_schedulers` names.
"""

from os.path import basename

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around.logs import OF_RECORD
from hpclaunch.convert.mapping.schedulers.asked_values import Places, Rule
from hpclaunch.convert.mapping.slurm.srun.run_command import ACTIVATE, OF_SHELL
from hpclaunch.convert.programs.names import SHELLS

# Shells whose scripts are not read.
OTHER_SHELLS = frozenset(("csh", "tcsh", "fish", "xonsh", "pwsh", "elvish"))
_MAIL = "with `sites.NAME.mail` hpclaunch asks for mail at the end and at a failure"
_NO_MAIL = "without `mail` nobody is written to"
_FROM_HERE = "relative paths start from the job file's folder"
_NO_REQUEUE = "jobs are never requeued by themselves"


def _replaced(reason: str) -> Rule:
    def rule(value: str, places: Places, what: str, draft: Draft) -> bool:
        draft.say("replaced", places, what, why=reason)
        return True

    return rule


def _mail(value: str, places: Places, what: str, draft: Draft) -> bool:
    return _replaced(_NO_MAIL if value == "n" else _MAIL)(value, places, what, draft)


def _rerun(value: str, places: Places, what: str, draft: Draft) -> bool:
    return value in ("n", "no") and _replaced(_NO_REQUEUE)(value, places, what, draft)


def _shell(value: str, places: Places, what: str, draft: Draft) -> bool:
    if basename(value) not in SHELLS:
        return False
    draft.say("without effect", places, what, why="the lines of the script are read as those of such a shell")
    return True


def put_all_variables(value: str, places: Places, what: str, draft: Draft) -> bool:
    """All that the shell which submits exports."""
    draft.say("replaced", places, what, why=OF_SHELL, todo=ACTIVATE)
    return True


def _variables(value: str, places: Places, what: str, draft: Draft) -> bool:
    """-v A=1,B: the job has these, and those without a value from the shell that submits it."""
    named = [each.partition("=") for each in value.split(",")]
    if not all(name.strip().isidentifier() for name, _, _ in named):
        return False
    for name, sign, text in named:
        if sign:
            draft.put(("env", name.strip()), text.strip("\"'"), places, what)
        elif not draft.lists("inherit", name.strip()):
            draft.add("inherit", name.strip(), places, what)
    return True


def _folder(value: str, places: Places, what: str, draft: Draft) -> bool:
    """-cwd of Grid Engine and -d . of Torque: the job starts where it is submitted."""
    return value in ("", ".") and _replaced(_FROM_HERE)(value, places, what, draft)


def _outputs(*names: str) -> dict[str, Rule]:
    return dict.fromkeys(names, _replaced(OF_RECORD))


_PBS = {
    **_outputs("-j", "-o", "-e", "-k"),
    "-m": _mail,
    "-r": _rerun,
    "-S": _shell,
    "-V": put_all_variables,
    "-v": _variables,
}
RULES: dict[str, dict[str, Rule]] = {
    "PBS": {**_PBS, "-d": _folder},
    "Moab": _PBS,
    "Grid Engine": {**{name: rule for name, rule in _PBS.items() if name != "-k"}, "-cwd": _folder},
    "LSF": _outputs("-o", "-oo", "-e", "-eo"),
    "PJM": {**_outputs("-j", "-o", "-e"), "-X": put_all_variables},
    "Cobalt": _outputs("-o", "--output", "-e", "--error"),
    "OAR": _outputs("-O", "--stdout", "-E", "--stderr"),
    "Flux": _outputs("--output", "--error"),
    "LoadLeveler": _outputs("output", "error"),
}
