"""Numbers that a job wrote to its log, found by regular expressions in a process that can be ended."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

import msgspec

import hpclaunch
from hpclaunch.records.files import open_log
from hpclaunch.records.searching import Asked, Found, Metric
from hpclaunch.values.errors import told

_SECONDS = 10
_BYTES_A_SECOND = 500_000  # a tenth of what a slow pattern manages: `.*a.*b=(...)` goes through 4 MB/s


class Reader:
    """Looks for metrics in one log after the other. A metric whose search takes too long is said once, by
    `say`, and not looked for any more."""

    def __init__(self, metrics: Mapping[str, Metric], say: Callable[[str], None]):
        self._metrics, self._say = dict(metrics), say
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Reader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._end()

    def read(self, log: Path) -> dict[str, str]:
        """The metrics that the log has, as text. A log that is not there has none, and one that cannot be
        read, which is said."""
        if not self._metrics:
            return {}
        try:
            with open_log(log) as file:
                size = os.fstat(file.fileno()).st_size
        except FileNotFoundError:
            return {}
        except OSError as error:  # of one point: the others have logs of their own
            self._say(f"a log is left out: {told(error)}")
            return {}
        seconds = _SECONDS + size // _BYTES_A_SECOND
        texts = {name: self._search(name, metric, log, seconds) for name, metric in [*self._metrics.items()]}
        return {name: text for name, text in texts.items() if text is not None}

    def _search(self, name: str, metric: Metric, log: Path, seconds: int) -> str | None:
        process = self._process = self._process or _start()
        assert process.stdin
        assert process.stdout
        asked = msgspec.json.encode(Asked(os.fsencode(log), metric, seconds))
        with contextlib.suppress(BrokenPipeError):  # it was killed, which the answer tells too
            process.stdin.write(asked + b"\n")
            process.stdin.flush()
        line = process.stdout.readline()
        if line:
            found = msgspec.json.decode(line, type=Found)
            if found.refused:
                why = f"is not a regular expression for bytes: {found.refused}"
                self._give_up(name, f"its pattern {metric.pattern!r} {why}")
            return found.text
        status = self._end()
        if status == -signal.SIGXCPU:
            why = (
                f"its pattern {metric.pattern!r} was not through {log} after {seconds} seconds: repeats "
                "within repeats, as in (a+)+, take the longer the more ways there are"
            )
        else:
            why = f"what searched {log} ended with the status {status}"
        self._give_up(name, why)
        return None

    def _give_up(self, name: str, why: str) -> None:
        del self._metrics[name]
        self._say(f"metric {name} is left out from here on: {why}")

    def _end(self) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        process.terminate()  # where it has not ended
        with contextlib.suppress(BrokenPipeError), process:
            pass
        return process.returncode


def _start() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "hpclaunch.records.searching"],
        # it must find this very package, also where it is not installed
        cwd=Path(hpclaunch.__file__).parent.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # an interrupt of this command is for this one to act on
    )
