"""Who a script tells of its job's end: a command that reads JSON, or a webhook."""

from collections.abc import Sequence

from hpclaunch.rank import beside
from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.calls import Call
from hpclaunch.readback.shell.values import Value, known, shown
from hpclaunch.values.launch import Unbridged
from hpclaunch.values.longrun import Notify

# How a script runs what SIGTERM, which ends the job, is not to end.
OUTLASTS = ["timeout", "--signal=KILL", "10", "/bin/sh", "-c", 'trap "" TERM; exec "$@"']
_COMMAND = [*OUTLASTS, "hpclaunch-tells"]
# What bounds how much of the command's words gets to the log.
_KEEPS = """\
trap "" TERM; head -c 65536; more=$(head -c 1 | wc -c)
        [ "$more" -eq 0 ] || printf "\\nhpclaunch: more of this is left out\\n"; wc -c >/dev/null"""
_HEARS = ["timeout", "--signal=KILL", "12", "/bin/sh", "-c", _KEEPS, "hpclaunch-hears"]
_WEBHOOK = ["timeout", "--signal=KILL", "12", "/bin/sh", "-c"]
_NAME = "hpclaunch-webhook"


def notices(calls: Sequence[Call], unread: list[str]) -> tuple[Notify | None, list[Unbridged], list[Call]]:
    """Who is told, the same as something that Kubernetes lacks, and the calls that are about other things."""
    mine = [call for call in calls if _is_webhook(call.words) or _is_command(call.words)]
    if not mine:
        return None, [], list(calls)
    words = [outside(known(word) or shown(word)) for word in mine[0].words]
    if _is_webhook(mine[0].words):
        if words[5] != beside.text("webhook"):
            unread.append(f"line {mine[0].line}: {_NAME} is not hpclaunch's own text")
        url, token = words[7:9]
        clear = "://" in url
        told = Notify(
            webhook=url if clear else "",
            webhook_secret="" if clear else url,
            token=token,
            start=len(mine) > 1,
        )
        what = f"notify: the webhook {url}" + (f" with {token}" if token else "")
    else:
        told = Notify(command=tuple(words[len(_COMMAND) :]), start=len(mine) > 1)
        what = f"notify: {' '.join(told.command)}"
    if any(call.words != mine[0].words for call in mine):
        unread.append(f"line {mine[-1].line}: not the same ones are told each time")
    what += ", at each start too" if told.start else ""
    rest = [call for call in calls if call not in mine and _first(call.words, len(_HEARS)) != _HEARS]
    return told, [Unbridged(what, "hpclaunch tells nobody of the end of pods")], rest


def _is_command(words: Sequence[Value]) -> bool:
    return _first(words, len(_COMMAND)) == _COMMAND


def _is_webhook(words: Sequence[Value]) -> bool:
    return _first(words, 5) == _WEBHOOK and len(words) == 9 and known(words[6]) == _NAME


def _first(words: Sequence[Value], count: int) -> list[str | None]:
    return [known(word) for word in words[:count]]
