"""The files that a script writes and its job does not: no step of the job finds them."""

from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import logs
from hpclaunch.convert.mapping.around.files import Files
from hpclaunch.convert.mapping.slurm.batch.asked import of_batch
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.reading import Command, Loop, ShellReading
from hpclaunch.readback.shell.values import Value

_OF_SLURM = "slurm-%j.out"  # sbatch(1), --output
_LOOK = "let it look at the job's own log (`hpclaunch logs`), or let the command itself write the file"


class Missing:
    """What has no file in the job so far."""

    def __init__(self, reading: ShellReading, run: Step | None):
        self._logs, self._left, self._renamed = Files(), Files(), Files()
        self._number = ""
        asked = [each for each in of_batch(reading) if each.name in ("output", "error")]
        for each in asked:
            if each.text:
                self._logs.add_of_slurm(each.text, each.places[0])
        if run is None:
            return
        if not any(each.name == "output" for each in asked):
            self._logs.add_of_slurm(_OF_SLURM, run.command.place)
        for each in run.asked:
            if each.name in ("output", "error") and each.text:
                self._logs.add_of_slurm(each.text, run.command.place)

    def add_run(self, command: Command, loop: Loop | None, draft: Draft) -> None:
        """The files of the run's own output, but for that which is the log of a trial."""
        for output in command.writes:
            if not logs.is_kept(command, output, loop, draft):
                self._logs.add(command, output.path)
            elif number := logs.other_numbers(output, loop):
                self._number = number
                self._renamed.add(command, output.path)

    def add(self, command: Command | None) -> None:
        """Those of a command that no step of the job is made of."""
        if command is not None and not command.within:
            for output in command.writes:
                self._left.add(command, output.path)

    def take(self, command: Command) -> None:
        """Those of a step of the job are written."""
        for output in command.writes:
            self._left.take(command, output.path)

    def why(self, command: Command, words: Sequence[Value], key: str) -> tuple[str, str]:
        """Why the command is no step, and what to do; "" where it has all its files. `key` is that which the
        step would have."""
        log = self._logs.named_by(command, words)
        if log is not None:
            why = f"it is about {log.name}, and hpclaunch keeps what went there in a log of its own"
            return why, f"{_LOOK}, and add it to {key}"
        renamed = self._renamed.named_by(command, words, patterns=False)
        if renamed is not None:
            return f"it is about {renamed.name}: {self._number}", f"add it to {key} with that number"
        left = self._left.named_by(command, words)
        if left is None:
            return "", ""
        why = f"it is about {left.name}, which line {left.place.line} writes, and nothing in the job does"
        return why, f"add both to {key} if the job needs them"
