"""What starts one process for each GPU of a node: torchrun and its like.

The options are those of torch/distributed/run.py, with --use_env of torch/distributed/launch.py, and those
that MLPerf's bind_launch.py adds. deepspeed's are of deepspeed/launcher/runner.py, composer's of
composer/cli/launcher.py of MosaicML's Composer; accelerate's are in `accelerate.py`. Those of Bagua and
OneFlow are of bagua/distributed/launch.py and run.py (0.9) and oneflow/distributed/launch.py (0.8), which are
copies of torch's; baguarun's are of bagua/script/baguarun.py, Colossal-AI's of
colossalai/cli/launcher/__init__.py (0.1 to 0.4).
"""

import re
from collections.abc import Sequence

from hpclaunch.convert.programs import accelerate
from hpclaunch.convert.programs.flags import Table, stands_for_options, table, take
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.readback.shell.values import Unknown, Value, known, program_of

_RUN = table(
    (
        (1, "nnodes nproc_per_node node_rank master_addr master_port rdzv_backend rdzv_endpoint rdzv_id"),
        (1, "rdzv_conf max_restarts monitor_interval start_method event_log_handler role log_dir=logdir"),
        (1, "redirects=r tee=t local_addr local_ranks_filter logs_specs numa_binding signals_to_handle"),
        (1, "nsockets_per_node ncores_per_socket nnuma_nodes"),
        (0, "standalone module=m no_python run_path use_env no_hyperthreads no_membind h help"),
    )
)
_DEEPSPEED = table(
    (
        (1, "hostfile=H include=i exclude=e nnodes=num_nodes nproc_per_node=num_gpus master_addr"),
        (1, "master_port node_rank launcher launcher_args autotuning bind_core_list min_elastic_nodes"),
        (1, "max_elastic_nodes ssh_port enable_each_rank_log venv_script"),
        (0, "module no_python no_local_rank force_multi bind_cores_to_rank elastic_training no_ssh"),
        (0, "no_ssh_check save_pid"),
    )
)
_NO_MPI = ("pdsh", "slurm")
_COMPOSER = table(
    (
        (1, "nproc_per_node=nproc,n world_size base_rank node_rank master_addr master_port stdout stderr"),
        (0, "module=module_mode,m no_python=command_mode,c verbose=v version help=h"),
    )
)
_BAGUA = {
    **_RUN,
    **table(
        (
            (
                1,
                "bagua_service_port autotune_level autotune_log_file autotune_max_samples host_list ssh_port",
            ),
            (1, "autotune_sampling_confidence_time autotune_warmup_time default_bucket_size"),
            (0, "set_additional_flag report_metrics is_output_autotune_log enable_bagua_net"),
        )
    ),
}
_ONEFLOW = {**_RUN, **table(((0, "redirect_stdout_and_stderr"),))}
_BAGUARUN = table(
    ((1, "host=host_list ssh_port master_port nproc_per_node bagua_service_port x"), (0, "no_python"))
)
_COLOSSALAI = table(
    (
        (1, "host=H hostfile include exclude nnodes=num_nodes nproc_per_node master_addr master_port"),
        (1, "extra_launch_args ssh_port"),
    )
)
# Of PHP's package manager, which has the name too.
_OF_PHP = frozenset(
    (
        *("install", "require", "update", "upgrade", "remove", "global", "create-project", "config", "init"),
        *("dump-autoload", "run-script", "self-update", "validate"),
    )
)
MODULES: dict[str, tuple[str, Table]] = {
    "torch.distributed.launch": ("torch.distributed.launch", _RUN),
    "torch.distributed.run": ("torchrun", _RUN),
    "torchrun_jsc": ("torchrun", _RUN),
    "deepspeed.launcher.runner": ("deepspeed", _DEEPSPEED),
    "accelerate.commands.launch": ("accelerate", accelerate.OPTIONS),
    "bagua.distributed.launch": ("bagua.distributed.launch", _BAGUA),
    "bagua.distributed.run": ("bagua.distributed.run", _BAGUA),
    "oneflow.distributed.launch": ("oneflow.distributed.launch", _ONEFLOW),
}
# Copies of torch.distributed.launch that put numactl before each process.
_BIND_LAUNCH = re.compile(r"(^|[./])bind_(launch\w*|pyt)(\.py)?$")
# Where `pip install --user` puts scripts (PEP 370).
_OF_USER = "/.local/bin"
# Options of the interpreter that take a word (python -W ignore).
_PYTHON = table(((1, "W X"), (0, "u O OO B E I q s S v d i P x b")))

# Jülich's has all options of torch's, and mends names of hosts (https://github.com/HelmholtzAI-FZJ/torchrun_jsc).
_TORCHRUNS = ("torchrun", "torchrun_jsc")


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The layer "torchrun", "torch.distributed.launch", "bind_launch", "deepspeed", "accelerate", "composer"
    or another of `PER_GPU`, and the command that it starts for each GPU, as it starts it. A layer without a
    program where Python starts something else."""
    first = program_of(words)
    if first in _TORCHRUNS:
        return _launcher("torchrun", _RUN, _python(words[0]), words[1:])
    if first == "deepspeed":
        return _launcher("deepspeed", _DEEPSPEED, _python(words[0]), words[1:])
    if first == "composer":
        return _composer(words)
    if first == "baguarun":
        return _launcher("baguarun", _BAGUARUN, ("python",), words[1:])
    if first == "colossalai":
        is_run = len(words) > 1 and known(words[1]) == "run"
        its = _launcher("colossalai", _COLOSSALAI, _python(words[0]), words[2:], shortened=False)
        return its if is_run else (Layer(""), list(words))
    if first == "accelerate" and len(words) > 1 and known(words[1]) == "launch":
        return _launcher("accelerate", accelerate.OPTIONS, _python(words[0]), words[2:])
    _, rest = take(words[1:], _PYTHON, own=lambda value, after: False)
    before = list(words[1 : len(words) - len(rest)])
    name = ""
    is_module = bool(before) and known(before[-1]) == "-m"
    if rest and (is_module or (known(rest[0]) or "").endswith(".py")):
        name, rest = known(rest[0]) or "", rest[1:]
    if _BIND_LAUNCH.search(name):
        return _launcher("bind_launch", _RUN, words[0], rest)
    if re.search(r"torch/distributed/(launch|run)\.py$", name):
        name = "torch.distributed." + name[:-3].rpartition("/")[2]
    if name in MODULES:
        program, options = MODULES[name]
        return _launcher(program, options, words[0], rest)
    return Layer(""), list(words)


def _python(launcher: Value) -> Value:
    """The interpreter of an environment's own launcher, which lies beside it: venv/bin/torchrun. Of one that
    is looked for on the PATH (which torchrun) it is found there too, as of one that pip put among the user's
    own scripts: no interpreter is there."""
    *folder, last = launcher
    if not isinstance(last, str) or "/" not in last:
        return ("python",)
    if any(isinstance(part, Unknown) and part.kind == "output" for part in folder):
        return ("python",)
    beside = last.rpartition("/")[0]
    if f"/{beside}".endswith(_OF_USER):
        return ("python",)
    return (*folder, f"{beside}/python")


def _composer(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    layer, rest = _launcher("composer", _COMPOSER, _python(words[0]), words[1:])
    start = known(rest[2]) if len(rest) > 2 and not layer.option("no_python") else None
    if not rest or (not layer.option("module") and start in _OF_PHP):
        return Layer(""), list(words)
    return layer, rest


def _launcher(
    program: str, options: Table, python: Value, words: Sequence[Value], *, shortened: bool = True
) -> tuple[Layer, list[Value]]:
    """`shortened`: its options may be, as those of argparse."""
    spelled = [(_underscored(word)) for word in words]
    if shortened:
        spelled = [_whole(word, options) for word in spelled]
    found, rest = take(spelled, options, own=stands_for_options(options))
    # The words after the options are the program's own: as they were written.
    rest = list(words[len(words) - len(rest) :])
    layer = Layer(program, tuple(found))
    if layer.option("no_python") or not rest:
        return layer, rest
    start: list[Value] = [python, ("-u",)]
    if layer.option("module"):
        start.append(("-m",))
    return layer, [*start, *rest]


def _underscored(word: Value) -> Value:
    """The option with "_" for "-" in its name: both are taken."""
    if not word or not isinstance(word[0], str) or not word[0].startswith("--"):
        return word
    name, equals, value = word[0].partition("=")
    return ("--" + name[2:].replace("-", "_") + equals + value, *word[1:])


def _whole(word: Value, options: Table) -> Value:
    """The option of which the word has the begin and no other option has: --nnode is --nnodes (Python's
    argparse, allow_abbrev)."""
    if not word or not isinstance(word[0], str) or not word[0].startswith("--"):
        return word
    name, equals, value = word[0][2:].partition("=")
    if not name or name in options:
        return word
    found = {meant: each for each, (meant, _) in options.items() if each.startswith(name) and len(each) > 1}
    if len(found) != 1:
        return word
    return (f"--{next(iter(found.values()))}{equals}{value}", *word[1:])


def passes_local_rank(layer: Layer) -> bool:
    """Whether each process gets --local_rank=N as its first argument: torch.distributed.launch without
    --use_env (the case until PyTorch 1.9; later it is --local-rank), its copies, and deepspeed, but where
    --launcher names another than pdsh: those start the program itself (deepspeed/launcher/multinode_runner.py
    of DeepSpeed 0.10 to 0.16). Bagua's does so where it is told to."""
    if layer.program == "deepspeed":
        starter = layer.option("launcher")
        by_launch = starter is None or (known(starter.value or ()) or "").lower() == "pdsh"
        return by_launch and layer.option("no_local_rank") is None
    if layer.program == "bagua.distributed.launch":
        return layer.option("set_additional_flag") is not None
    return layer.program in ("torch.distributed.launch", "bind_launch") and layer.option("use_env") is None


def needs_no_mpi(layer: Layer | None) -> bool:
    """Whether it starts processes and tells them of each other itself: deepspeed has an MPI do both where its
    --launcher names one (deepspeed/launcher/runner.py, and constants.py for the names)."""
    option = layer.option("launcher") if layer is not None else None
    return layer is not None and (option is None or (known(option.value or ()) or "").lower() in _NO_MPI)


def starts_per_node(layer: Layer) -> Option | None:
    """The option that says how many processes a node gets."""
    return layer.option("nproc_per_node") or layer.option("num_processes")
