"""`hpclaunch`, and `python -m hpclaunch`."""

import sys


def main() -> None:
    """Runs the command. What it is made of takes a moment to load, in which Ctrl-C ends it too."""
    try:
        from hpclaunch.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
