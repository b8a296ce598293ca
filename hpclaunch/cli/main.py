"""The `hpclaunch` command. Each subcommand's module is imported only when it is called."""

import gc
import os
import sys
from importlib import import_module
from typing import NoReturn

import click

from hpclaunch import __version__
from hpclaunch.cli.output import say
from hpclaunch.values.errors import HpclaunchError, InputError, told

COMMANDS = {
    "cancel": "jobs:cancel",
    "check": "check:check",
    "compare": "compare:compare",
    "convert": "convert:convert",
    "diff": "diff:diff",
    "doctor": "doctor:doctor",
    "exec": "exec:run_inside",
    "explain": "explain:explain",
    "forget": "forget:forget",
    "image": "image:image",
    "list": "jobs:list_jobs",
    "logs": "jobs:logs",
    "render": "render:render",
    "rerun": "rerun:rerun",
    "results": "results:results",
    "sandbox": "sandbox:sandbox",
    "schema": "schema:schema",
    "shell": "shell:shell",
    "site": "site:site",
    "status": "jobs:status",
    "submit": "submit:submit",
    "topo": "topo:topo",
    "verify": "verify:verify",
    "wait": "jobs:wait",
}


class Lazy(click.Group):
    """A group that knows its commands by name alone."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command = getattr(import_module(f"hpclaunch.cli.{module}"), attribute)
        assert isinstance(command, click.Command)
        gc.freeze()  # what is imported by now stays until the end
        gc.set_threshold(30_000)  # the usual 700 are less than one site file or template engine: no garbage
        gc.enable()
        return command


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hpclaunch")
def hpclaunch() -> None:
    """One job file, any SuperPOD: every rank beside its GPU, its memory and its HCA."""


def main() -> NoReturn:
    """Runs a command, and turns what goes wrong into one clear message and an exit status."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        import_module("hpclaunch.cli.standing_in").open_closed()
    try:
        status = hpclaunch.main(standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        for problem in error.problems:
            # An editor finds file:line:col at the start of a line.
            say(str(problem), "" if problem.where else "hpclaunch: ")
        status = error.exit_status
    except HpclaunchError as error:
        say(str(error))
        status = error.exit_status
    except click.Abort:
        status = 130
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except BrokenPipeError:  # whoever read us has gone
        status = 1
    except KeyboardInterrupt:
        status = 130
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not error.filename:  # getcwd(2) is asked for no name
            say("the folder in which this was typed is gone: change to one that is there")
            status = 2
        else:
            say(told(error))
            status = 1
    finally:  # also of a command that has called sys.exit
        _give_up_unwritten()
    gc.freeze()  # Python would search all of it once more before it ends
    sys.exit(status if isinstance(status, int) else 0)


def _give_up_unwritten() -> None:
    """What standard output does not take now would make Python fail at its own end, with a status of its
    own."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
