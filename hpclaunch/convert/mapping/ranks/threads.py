"""The threads of each process, where the launcher that is gone set them."""

from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.convert.reading import Command
from hpclaunch.values.conversion import Place

# config_from_args of torch/distributed/run.py, main of torch/distributed/launch.py before it, and accelerate,
# which sets as many as it is told, or one (_validate_launch_command of its commands/launch.py); main of
# bagua/distributed/launch.py, and Colossal-AI, which starts torchrun.
_ONE_THREAD = frozenset(
    (
        *("torchrun", "torch.distributed.launch", "accelerate", "colossalai"),
        *("bagua.distributed.launch", "bagua.distributed.run", "baguarun"),
    )
)
_NAME = "OMP_NUM_THREADS"


def put(layer: Layer | None, places: Sequence[Place], draft: Draft) -> None:
    """What the launcher sets where nothing else does, to be put when the whole environment is in the draft.
    torchrun does it where it starts several processes on a node."""
    if layer is None or layer.program not in _ONE_THREAD or is_told(draft):
        return
    on_node = draft.number("ranks_per_node") or draft.number("gpus_per_node")
    if on_node == 1 and layer.program != "accelerate":
        return
    why = (
        f"{layer.program} sets it in each process where nothing else does; where the operator or the image "
        "does, write that here"
    )
    draft.put(("env", _NAME), "1", places, layer.program, why=why, kind="assumed")


def put_asked(number: str, places: Sequence[Place], what: str, why: str, draft: Draft) -> None:
    """Those that a scheduler is asked for and sets itself, where nothing else does."""
    if not is_told(draft):
        draft.put(("env", _NAME), number, places, what, why=why)


def has_own(command: Command) -> bool:
    """Whether a number stands in front of it: OMP_NUM_THREADS=4 ./a."""
    return any(name == _NAME for name, _ in command.prefix)


def is_told(draft: Draft) -> bool:
    """Whether the ranks are known to have a number of threads, or one that no line tells."""
    command = draft.facts.get(("command",))
    is_left = any(each.key == f"env.{_NAME}" for each in draft.findings)  # its value is in no job file
    return is_left or (
        ("env", _NAME) in draft.facts
        or draft.lists("inherit", _NAME)
        or draft.lists("secrets", _NAME)
        or (command is not None and f"{_NAME}=" in str(command.value))
    )
