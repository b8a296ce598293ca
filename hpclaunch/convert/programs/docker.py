"""docker, nvidia-docker, podman and podman-hpc: run, exec, and what goes with them.

The options are those of docker/cli's cli/command/container/{opts,run,exec}.go, with what podman's `run` has
beside them (cmd/podman/common/create.go), and what the modules of podman-hpc 1.1 add (etc/modules.d of its
sources; its shared-run is run, of which each node has one container). Options end at the first word that is
none: both set SetInterspersed(false).
"""

import re
from collections.abc import Sequence

import msgspec

from hpclaunch.convert.programs.flags import Table, leading, table, take
from hpclaunch.convert.programs.layers import STARTERS, Layer, Option, may_be_many
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.readback.shell.values import Unknown, Value, known, program_of

_GLOBAL = table(
    (
        (1, "config context=c host=H log-level=l tlscacert tlscert tlskey"),
        (0, "debug=D tls tlsverify version=v"),
    )
)
_RUN = table(
    (
        (1, "volume=v mount env=e env-file gpus ulimit network=net uts ipc pid shm-size device security-opt"),
        (1, "cap-add cap-drop user=u workdir=w name entrypoint runtime memory=m cpuset-cpus cpuset-mems"),
        (1, "hostname=h attach=a label=l publish=p cpu-shares=c cpus memory-swap memory-reservation tmpfs"),
        (1, "add-host annotation blkio-weight blkio-weight-device cgroup-parent cgroupns cidfile"),
        (1, "cpu-count cpu-percent cpu-period cpu-quota cpu-rt-period cpu-rt-runtime detach-keys"),
        (1, "device-cgroup-rule device-read-bps device-read-iops device-write-bps device-write-iops"),
        (1, "dns dns-option=dns-opt dns-search domainname expose group-add health-cmd health-interval"),
        (1, "health-retries health-start-interval health-start-period health-timeout io-maxbandwidth"),
        (1, "io-maxiops ip ip6 isolation kernel-memory label-file link link-local-ip log-driver log-opt"),
        (1, "mac-address memory-swappiness network-alias=net-alias oom-score-adj pids-limit platform pull"),
        (1, "restart stop-signal stop-timeout storage-opt sysctl userns volume-driver volumes-from"),
        (1, "annotation arch authfile conmon-pidfile env-merge hooks-dir image-volume pod systemd umask"),
        (0, "privileged rm init detach=d interactive=i tty=t publish-all=P read-only quiet=q sig-proxy"),
        (0, "no-healthcheck oom-kill-disable disable-content-trust help use-api-socket"),
        (0, "env-host http-proxy no-hosts replace tls-verify"),
    )
)
_EXEC = table(
    (
        (1, "env=e env-file user=u workdir=w detach-keys"),
        (0, "detach=d interactive=i tty=t privileged latest=l"),
    )
)
_OTHERS: dict[str, Table] = {
    "pull": table(((1, "platform"), (0, "all-tags=a quiet=q disable-content-trust"))),
    "rm": table(((0, "force=f volumes=v link=l all=a"), (1, "time=t"))),
    "kill": table(((1, "signal=s"), (0, "all=a"))),
    "stop": table(((1, "time=t,timeout signal=s"), (0, "all=a"))),
    "logs": table(((0, "follow=f timestamps=t details"), (1, "tail=n since until"))),
    "login": table(((1, "username=u password=p"), (0, "password-stdin"))),
    "load": table(((1, "input=i platform"), (0, "quiet=q"))),
    "build": table(((1, "tag=t file=f build-arg target network platform"), (0, "no-cache pull rm quiet=q"))),
}
# Modules of podman-hpc by which ranks have the MPI of the step that they are in.
MPI_OF_HPC = ("mpi", "cuda-mpi", "openmpi-pmi2", "openmpi-pmix")
_OF_HPC = table(((0, f"gpu nccl cvmfs home scratch cfs jupyter {' '.join(MPI_OF_HPC)}"),))
_STARTS = {"run": _RUN, "create": _RUN, "exec": _EXEC}
# Names of variables that hold the image, or the container, and not options.
_IMAGE_NAME = re.compile(r"(?i)(^|_)(cont(ainer)?|img|image)(_?(image|name|id|url|tag))?$|image")
_OF_CONTAINERS = re.compile(r"docker ps|podman ps|container")
_LOOKS_LIKE_IMAGE = re.compile(r"^[a-z0-9][\w.-]*(:\d+)?(/[\w.-]+)*(:[\w.-]+|@sha256:\w+)?$")


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The layer, its program with the subcommand ("docker run"), and what it starts. The image of a run, and
    the container of an exec, is its one word. nvidia-docker is docker with --runtime=nvidia. An empty word
    ("$MORE" of an operator who gave nothing) is no image: it is an option without a name."""
    program = program_of(words)
    first, rest = take(words[1:], _GLOBAL, clusters=True)
    if rest and known(rest[0]) in ("container", "image"):
        rest = rest[1:]
    command = (known(rest[0]) if rest else None) or ""
    command = "run" if (program, command) == ("podman-hpc", "shared-run") else command
    options = _STARTS.get(command) or _OTHERS.get(command, {})
    options = {**options, **_OF_HPC} if program == "podman-hpc" else options
    own = _is_before_a_container if command == "exec" else _stands_for_options
    found, rest = take(rest[1:], options, clusters=True, own=own)
    while command in _STARTS and len(rest) > 1 and known(rest[0]) == "":
        found.append(Option("", rest[0], "''"))
        more, rest = take(rest[1:], options, clusters=True, own=own)
        found += more
    if program == "nvidia-docker" and command in ("run", "create"):
        found.insert(0, Option("runtime", ("nvidia",), "nvidia-docker"))
    name = f"docker {command}".strip()
    if command not in _STARTS:
        return Layer(name, (*first, *found), tuple(rest)), []
    layer = Layer(name, (*first, *found), tuple(rest[:1]))
    return layer, [*entrypoint(layer), *rest[1:]] if rest else []


def entrypoint(layer: Layer) -> list[Value]:
    """What --entrypoint puts in front of the words behind the image: a program, or for podman a list in
    JSON (podman-run(1))."""
    option = layer.option("entrypoint")
    text = known(option.value or ()) if option is not None else ""
    if text and text.lstrip().startswith("["):
        try:
            return [(word,) for word in msgspec.json.decode(text, type=list[str])]
        except msgspec.DecodeError:
            return [(text,)]
    return [option.value] if option is not None and option.value else []


def is_option(command: str, name: str) -> bool:
    """Whether docker's subcommand has an option of that name."""
    return any(name == known_name for known_name, _ in {**_STARTS, **_OTHERS}.get(command, {}).values())


def _is_before_a_container(value: Value, after: Sequence[Value]) -> bool:
    """Whether a word of docker exec of which nothing is known is `"${OPTIONS[@]}"` or `$CONTAINER`: behind a
    container stands what is started in it, and behind options a container with that behind it. Where that
    does not tell it, what a command has put out is an array of options, and a variable is the container."""
    part = value[0] if may_be_many(value) and len(after) > 1 else None
    if not isinstance(part, Unknown) or _IMAGE_NAME.search(part.name) or _OF_CONTAINERS.search(part.name):
        return False
    if leading(after[0]).startswith("-"):
        return True
    if _is_started(known(after[0])) or _is_started(known(after[1])):
        return not _is_started(known(after[0]))
    return part.kind == "output" and not leading(after[1]).startswith("-")


def _is_started(text: str | None) -> bool:
    """Whether the word is what docker exec starts."""
    if text is None:
        return False
    name = text.rpartition("/")[2]
    return "/" in text or name.endswith((".sh", ".py")) or name in SHELLS or name in STARTERS


def _has_all_arguments(value: Value) -> bool:
    """Whether it is "$@", or an array that has it: as many words as there are arguments, or none."""
    part = value[0] if len(value) == 1 else None
    return isinstance(part, Unknown) and part.kind == "argument" and part.name.startswith("@")


def _stands_for_options(value: Value, after: Sequence[Value]) -> bool:
    """Whether a word of which nothing is known is `$OPTIONS` or `$IMAGE`: something must be the image."""
    if not (may_be_many(value) or _has_all_arguments(value)) or not after:
        return False
    part = value[0]
    if isinstance(part, Unknown) and _IMAGE_NAME.search(part.name):
        return False
    for word in after:
        if leading(word).startswith("-"):
            return True
        if may_be_many(word):
            inner = word[0]
            if isinstance(inner, Unknown) and _IMAGE_NAME.search(inner.name):
                return True
            continue
        text = known(word)
        return text is None or bool(_LOOKS_LIKE_IMAGE.match(text) and ("/" in text or ":" in text))
    return True
