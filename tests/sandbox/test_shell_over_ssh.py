"""From a laptop a shell in an allocation of the sandbox's Slurm, behind a real sshd: on a terminal from end
to end, and gone with its connection."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from laptop import Laptop
from person import Person
from realslurm import Slurm
from waiting import until

JOB = """\
name: far-shell
command: never
nodes: 1
gpus_per_node: 8
time: 10m
secrets: [TOKEN]
env: {STRANGE: "a $b `c`\\n'\\"\\\\ é"}
"""


def words(laptop: Laptop, *more: str) -> list[str]:
    laptop.job.write_text(JOB)
    command = ["shell", str(laptop.job), "--site", str(laptop.site)]
    return [sys.executable, "-m", "hpclaunch", *command, *more]


def jobs(slurm: Slurm) -> Sequence[str]:
    """The ids of the allocations that are there."""
    asked = ("squeue", "--noheader", "--name=far-shell", "--format=%A", "--states=PENDING,RUNNING")
    return slurm.run(*asked).stdout.split()


def holders(text: str) -> list[str]:
    """The processes with this in their arguments, which everybody sees."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if text.encode() in each.read_bytes():
                found.append(each.parent.name)
    return found


def left(laptop: Laptop) -> list[Path]:
    return [*(laptop.cluster / "attached").iterdir()]


def test_a_terminal_from_end_to_end(laptop: Laptop, slurm_a100: Slurm) -> None:
    with Person(words(laptop), {**laptop.env, "TERM": "xterm"}, 30, 100) as person:
        person.sees("Granted job allocation")
        person.types("echo is-$((40 + 2)) ${#TOKEN} $TERM; stty size; printf '%s|' \"$STRANGE\"\r")
        person.sees("is-42 6 xterm\r\n30 100\r\na $b `c`\r\n'\"\\ é|")
        (job,) = jobs(slurm_a100)
        person.resizes(50, 132)
        person.types("until stty size | grep -x '50 132'; do sleep 0.1; done; ")
        person.types("sh -c 'echo up-$((40 + 3)); exec sleep 300'\r")
        person.sees("50 132\r\n")
        person.sees("up-43")
        shown = slurm_a100.run("scontrol", "show", "job", job).stdout
        assert "geheim" not in shown
        assert not holders("geheim")
        person.types("\x03")
        person.sees("^C")
        person.types("echo status-$?; exit 9\r")
        person.sees("status-130")
        assert person.end() == 9, person.seen
    until(lambda: not jobs(slurm_a100))
    until(lambda: not left(laptop))
    assert laptop.sshd.logins() == 1


def test_a_command_has_its_streams_and_status(laptop: Laptop, slurm_a100: Slurm) -> None:
    script = 'cat; echo err >&2; test -t 0 || echo "no terminal"; printf "%s|" "$@"; exit 7'
    sent = ["a b", "$c", "it's\n", "", ":", "é"]
    done = subprocess.run(
        words(laptop, "--", "sh", "-c", script, "x", *sent),
        env=laptop.env,
        input="in\n",
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (done.returncode, done.stdout) == (7, f"in\nno terminal\n{'|'.join(sent)}|"), done.stderr
    assert "err\n" in done.stderr
    until(lambda: not jobs(slurm_a100))
    until(lambda: not left(laptop))


def test_what_slurm_refuses_is_no_status_of_the_command(laptop: Laptop, slurm_a100: Slurm) -> None:
    refused = ("--set", "sites={far: {partition: nowhere}}", "--", "true")
    done = subprocess.run(
        words(laptop, *refused), env=laptop.env, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 3, done.stderr
    assert "nvalid partition" in done.stderr
    own = subprocess.run(
        words(laptop, "--", "sh", "-c", "echo ${SLURM_EXIT_ERROR-none}; exit 1"),
        env=laptop.env,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (own.returncode, own.stdout) == (1, "none\n"), own.stderr
    until(lambda: not left(laptop))


def test_keys_reach_an_allocation_that_waits(laptop: Laptop, slurm_a100: Slurm) -> None:
    held = ("--set", "sites={far: {sbatch: [--hold]}}")
    with Person(words(laptop, *held), {**laptop.env, "TERM": "xterm"}) as person:
        person.sees("Pending job allocation")
        assert len(jobs(slurm_a100)) == 1
        person.types("\x03")
        person.sees("aborted due to signal")
        assert person.end() == 3, person.seen  # there was no allocation
    until(lambda: not jobs(slurm_a100))
    until(lambda: not left(laptop))


@pytest.mark.parametrize(
    "how", ["its window goes", "it is killed", "it is told to end", "the connection breaks"]
)
def test_no_allocation_outlives_its_shell(laptop: Laptop, slurm_a100: Slurm, how: str) -> None:
    with Person(words(laptop), {**laptop.env, "TERM": "xterm"}) as person:
        person.sees("Granted job allocation")
        person.types("echo is-$((40 + 2)); sleep 300\r")
        person.sees("is-42")
        assert len(jobs(slurm_a100)) == 1
        end(laptop, person, how)
    until(lambda: not jobs(slurm_a100))
    until(lambda: not left(laptop))


def end(laptop: Laptop, person: Person, how: str) -> None:
    match how:
        case "its window goes":
            person.goes()
        case "it is killed":
            person.kill(signal.SIGKILL)
        case "it is told to end":
            person.kill(signal.SIGTERM)
            assert person.end() == 128 + signal.SIGTERM
        case _:
            laptop.sshd.cut()
            assert person.end() == 3, person.seen
            assert b"broke" in person.seen


def test_without_a_terminal_it_ends_with_its_connection_too(laptop: Laptop, slurm_a100: Slurm) -> None:
    command = words(laptop, "--", "sh", "-c", "echo up; exec sleep 300")
    with subprocess.Popen(
        command, env=laptop.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"up\n"
        process.kill()
    until(lambda: not jobs(slurm_a100))
    until(lambda: not left(laptop))
