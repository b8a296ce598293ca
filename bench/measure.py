"""What the benchmarks share: environments of their own, and the CPU time of a whole process."""

import os
import statistics
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
Command = Sequence[str | Path]
# PYTHONPATH would put the checkout before the wheel that is measured.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def new_environment(folder: Path, *requirements: str) -> Path:
    """A fresh virtual environment with these installed; returns the folder of its programs.

    Raises CalledProcessError, with pip's output in it, where pip cannot install them.
    """
    venv.create(folder, with_pip=True, symlinks=True)
    programs = folder / "bin"
    pip = [str(programs / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", *requirements], check=True, capture_output=True, text=True)
    return programs


def wheel(folder: Path) -> Path:
    """hpclaunch's wheel, built from this checkout."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", folder, ROOT], check=True)
    return next(folder.glob("hpclaunch-*.whl"))


def cpu_seconds(argv: Command, cwd: Path | None = None, statuses: Sequence[int] = (0,)) -> float:
    """User and system time of one process and all that it waited for, from the kernel (wait4).

    Its standard output is thrown away. Raises SystemExit where it ends with none of the `statuses`.
    """
    process = subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=cwd, env=ENVIRONMENT
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in statuses:
        sys.exit(f"{argv[0]} ended with {process.returncode}:\n{said.decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime


def alternate(rounds: int, *, cwd: Path | None = None, **commands: Command) -> dict[str, list[float]]:
    """CPU seconds of each command, in turns: what else the machine does then falls on all of them alike."""
    for argv in commands.values():
        cpu_seconds(argv, cwd)  # once unmeasured, for the page cache
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, argv in commands.items():
            times[name].append(cpu_seconds(argv, cwd))
    return times


def show(times: dict[str, list[float]], base: str) -> None:
    """One line for each command: least, median, and the median of the ratios to `base`, round by round."""
    width = max(map(len, times))
    for name, values in times.items():
        ratios = [value / floor for value, floor in zip(values, times[base], strict=True)]
        least, middle = min(values) * 1000, statistics.median(values) * 1000
        ratio = statistics.median(ratios)
        print(f"{name:<{width}}  min {least:7.1f} ms  median {middle:7.1f} ms  ratio {ratio:6.2f}")
