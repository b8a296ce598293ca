"""singularity and apptainer: exec, run and shell, and the start of instances. The options are those of
Apptainer 1.4 (cmd/internal/cli/action_flags.go of its sources), which SingularityCE 4 has too, with --data of
that one."""

import re
from collections.abc import Iterable, Sequence

from msgspec import structs

from hpclaunch.convert.programs.flags import leading, table, take
from hpclaunch.convert.programs.layers import IMAGE_FILES, Layer, Option
from hpclaunch.readback.shell.values import Value, base_name, known, shown

_GLOBAL = table(((0, "debug=d quiet=q silent=s verbose=v nocolor"), (1, "config=c")))
_OPTIONS = table(
    (
        (1, "bind=B mount env env-file pwd=cwd home=H overlay=o scratch=S workdir=W app hostname fusemount"),
        (1, "network network-args dns security add-caps drop-caps memory memory-swap memory-reservation"),
        (1, "cpus cpuset-cpus cpuset-mems cpu-shares blkio-weight blkio-weight-device pids-limit"),
        (1, "docker-host docker-username docker-password authfile pem-path device cdi-dirs no-mount no-env"),
        (1, "containlibs runscript-timeout netns-path tmpdir dmtcp-launch dmtcp-restart shell=s"),
        (0, "nv nvccli rocm contain=c containall=C cleanenv=e fakeroot=f writable=w writable-tmpfs ipc=i"),
        (0, "pid=p net=n uts user=userns,u no-home no-privs no-init no-umask no-eval no-https underlay"),
        (0, "compat disable-cache keep-privs allow-setuid passphrase vm unsquash sparse no-pid"),
        (0, "oom-kill-disable docker-login"),
        (1, "apply-cgroups data"),  # --data is SingularityCE's
    )
)
# Those that `instance start` has beside them (cmd/internal/cli/instance_start_linux.go).
_OF_INSTANCE = {**_OPTIONS, **table(((0, "boot"), (1, "pid-file")))}
# Options that a variable of the program's name gives too, where the command line does not, by what stands
# behind that name (EnvKeys in action_flags.go): those with a value, and switches.
_WITH_VALUE, _SWITCHES = (
    frozenset(names.split())
    for names in (
        """
        MOUNT HOME WORKDIR CONTAINLIBS NETWORK HOSTNAME SECURITY DNS OVERLAY OVERLAYIMAGE SCRATCH SCRATCHDIR
        NO_MOUNT FUSESPEC APP APPNAME CWD TARGET_CWD PWD TARGET_PWD APPLY_CGROUPS
        """,
        """
        NV NVCCLI ROCM CONTAIN CONTAINALL CLEANENV COMPAT WRITABLE WRITABLE_TMPFS NO_HOME FAKEROOT NO_PRIVS
        KEEP_PRIVS NO_UMASK NO_EVAL NOSHIMINIT UNSQUASH
        """,
    )
)
_OTHERWISE = {
    "OVERLAYIMAGE": "overlay",
    "SCRATCHDIR": "scratch",
    "FUSESPEC": "fusemount",
    "APPNAME": "app",
    "CWD": "pwd",
    "TARGET_CWD": "pwd",
    "TARGET_PWD": "pwd",
    "NOSHIMINIT": "no-init",
}
# Binds are looked for where mounts are: options add to them. The last ones are of the program's own files.
_NO_OPTIONS = frozenset(("BIND", "BINDPATH", "CACHEDIR", "TMPDIR"))
VARIABLES = frozenset(
    f"{program}_{name}"
    for program in ("SINGULARITY", "APPTAINER")
    for name in _WITH_VALUE | _SWITCHES | _NO_OPTIONS
)
BINDS = re.compile(r"(?:SINGULARITY|APPTAINER)_BIND(?:PATH)?")
_FALSE = ("", "0", "f", "F", "false", "False", "FALSE")  # strconv.ParseBool
# What an image's name looks like: a file, a folder or an address.
_IMAGE = re.compile(r"\.(?:sif|img|simg|sqsh|sqfs)$|^(?:docker|library|oras|shub)://|^[\w./-]+:[\w.-]+$|/$")
_STARTS = ("exec", "run", "shell")
SHELL = "singularity shell"
PROGRAMS = ("singularity exec", "singularity run", SHELL)
INSTANCE = "singularity instance start"


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The layer "singularity exec" with the image as its one word, and the command in it; of `instance start`
    and `instance run` the layer "singularity instance start" with the image and the instance's name."""
    if base_name(words[0]).endswith(IMAGE_FILES):
        return Layer("singularity run", words=(words[0],)), list(words[1:])
    _, rest = take(words[1:], _GLOBAL, clusters=True)
    command = (known(rest[0]) if rest else None) or ""
    verb = (known(rest[1]) if command == "instance" and rest[1:] else None) or ""
    if verb in ("start", "run"):
        options, rest = take(rest[2:], _OF_INSTANCE, clusters=True)
        return Layer(INSTANCE, tuple(options), tuple(rest[:2])), []
    if command not in _STARTS:
        return Layer(f"singularity {command}".strip(), words=tuple(rest[1:])), []
    options, rest = take(rest[1:], _OPTIONS, clusters=True)
    last = options[-1] if options else None
    if last is not None and not last.name and last.value and not (rest and _IMAGE.search(shown(rest[0]))):
        options, rest = options[:-1], [last.value, *rest]  # the variable is the image itself
    inner = rest[1:]
    if command == "shell" and inner and leading(inner[0]).startswith("-"):
        inner = [("bash",), *inner]  # options of the shell
    return Layer(f"singularity {command}", tuple(options), tuple(rest[:1])), inner


def with_variables(layer: Layer, environment: Iterable[tuple[str, Value]]) -> Layer:
    """The layer with the options that variables give it. An option on the command line stands for itself."""
    if layer.program not in (*PROGRAMS, INSTANCE):
        return layer
    options = list(layer.options)
    for name, value in environment:
        short = name.partition("_")[2]
        has_value = short in _WITH_VALUE
        if name not in VARIABLES or short in _NO_OPTIONS or known(value) in (("",) if has_value else _FALSE):
            continue
        option = _OTHERWISE.get(short, short.lower().replace("_", "-"))
        if all(each.name != option for each in options):
            options.append(Option(option, value if has_value else None, f"{name}={shown(value)}"))
    return structs.replace(layer, options=tuple(options))


def is_its(layer: Layer) -> bool:
    """Whether the layer is one of the program's, also of its instances."""
    return layer.program.startswith("singularity")


def in_image(its: Sequence[Layer]) -> Layer | None:
    """The layer that has a command in an image, None for none. Singularity 2 hands the words behind the image
    of `shell` to the shell, and later ones ignore them (ShellCmd in cmd/internal/cli/actions.go): without any
    it is for people."""
    layer = next((each for each in its if each.program in PROGRAMS), None)
    return None if layer is not None and layer.program == SHELL and not its[-1].words else layer
