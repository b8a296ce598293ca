"""Standing by a scheduler that cannot be reached for a while."""

import time
from collections.abc import Callable
from typing import TypeVar

from hpclaunch.schedulers.contract import Final, Warn
from hpclaunch.values.errors import HpclaunchError, SchedulerError

PATIENCE_S = 600.0  # a controller that restarts, or fails over, is back before that

T = TypeVar("T")


class WaitFailed(HpclaunchError):
    """hpclaunch could not wait until the job's end, and the job may go on."""

    exit_status = 125


class Patience:
    """Asks again and again; `warn` hears once of each trouble."""

    def __init__(self, warn: Warn):
        self._warn = warn
        self._since: float | None = None

    def ask(self, question: Callable[[], T]) -> T | None:
        """The answer, None where there is none at present. Raises WaitFailed where there has been none for 10
        minutes, and at once where this process gets none any more."""
        try:
            answer = question()
        except Final as error:
            raise WaitFailed(str(error)) from error
        except SchedulerError as error:
            if self._since is None:
                self._since = time.monotonic()
                self._warn(f"{error}\nWaiting on.")
            elif time.monotonic() - self._since > PATIENCE_S:
                raise WaitFailed(f"the scheduler cannot be reached: {error}") from error
            return None
        self._since = None
        return answer
