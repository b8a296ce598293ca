"""Runs the rank wrapper as the launchers do, and reads what arrives at its command."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from hpclaunch.rank import wrapper_text

SHELLS = {"dash": ["dash"], "busybox": ["busybox", "sh"], "bash": ["bash", "--posix"]}
SLURM = {
    "SLURM_PROCID": "11",
    "SLURM_LOCALID": "3",
    "SLURM_NODEID": "1",
    "SLURM_STEP_NUM_TASKS": "16",
    "SLURM_STEP_NUM_NODES": "2",
    "SLURM_STEP_NODELIST": "dgx[003-004]",
    "SLURM_JOB_ID": "4711",
    "SLURM_STEP_ID": "0",
}
# Prints, with NUL between, the arguments and then the environment, as bytes.
RECORD = (
    "import os, sys; w = sys.stdout.buffer.write; "
    "w(b'\\0'.join(map(os.fsencode, sys.argv[1:]))); w(b'\\0--\\0'); "
    "w(b'\\0'.join(k + b'=' + v for k, v in os.environb.items()))"
)

Runner = Callable[..., subprocess.CompletedProcess[bytes]]


def run_wrapper(
    shell: list[str],
    *given: str,
    env: dict[str, str] | None = None,
    root: Path | None = None,
    before: tuple[str, ...] = (),
    **more: object,
) -> subprocess.CompletedProcess[bytes]:
    """SETTING... -- NAME=value... -- word..., for the rank that SLURM and `env` tell. With `root` on the
    made-up node there, whose stand-ins come first on PATH. The words of `before` start it."""
    # The third part is the command, each word with `=` before it.
    command_at = given.index("--", given.index("--") + 1) + 1
    arguments = [*given[:command_at], *(f"={word}" for word in given[command_at:])]
    full = {"PATH": os.environ["PATH"], **SLURM}
    if root:
        full |= {"PATH": f"{root}/stand-ins:{os.environ['PATH']}", "HPCLAUNCH_ROOT": str(root)}
    command = [*before, *shell, "-c", wrapper_text(given[: given.index("--")]), "hpclaunch-rank", *arguments]
    return subprocess.run(command, env=full | (env or {}), capture_output=True, timeout=20, **more)  # type: ignore[call-overload, no-any-return]


def recorded(result: subprocess.CompletedProcess[bytes]) -> tuple[list[bytes], dict[bytes, bytes]]:
    assert result.returncode == 0, result.stderr.decode()
    argv, _, environment = result.stdout.partition(b"\0--\0")
    pairs = (entry.partition(b"=") for entry in environment.split(b"\0"))
    return argv.split(b"\0"), {name: value for name, _, value in pairs}


def environment(result: subprocess.CompletedProcess[bytes]) -> dict[str, str]:
    """What the command `env -0` saw."""
    assert result.returncode == 0, result.stderr.decode()
    return dict(entry.split("=", 1) for entry in result.stdout.decode().split("\0") if entry)
