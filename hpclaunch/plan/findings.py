"""What is found while a job is planned, beside the plan itself."""

from collections.abc import Iterable

from hpclaunch.values.errors import InputError, Problem


class Findings:
    """Collects, in the order of the planning, what is wrong with a job (`problems`) and what a user should
    know (`warnings`). Who finds a problem goes on, so that all of them are told at once."""

    def __init__(self, warnings: Iterable[str] = ()) -> None:
        self.problems: list[Problem] = []
        self.warnings = list(warnings)

    def refuse(self, message: str, *path: str | int) -> None:
        """Notes a problem of the job, at these keys of its file."""
        self.problems.append(Problem(message, "job", path))

    def end_if_refused(self) -> None:
        """Raises InputError, with every problem, where there is one."""
        if self.problems:
            raise InputError(self.problems)
