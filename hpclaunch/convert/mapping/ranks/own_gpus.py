"""Launchers whose options tell how many GPUs of a node they take, one for each process -> `gpus_per_node`.

deepspeed takes the first `--num_gpus` of each node, or those of `--include` (parse_resource_filter, main of
deepspeed/launcher/runner.py, 0.10 to 0.16). `accelerate launch --multi_gpu` gives each of its processes a GPU
(prepare_multi_gpu_env of accelerate/utils/launch.py, and PartialState, 1.15).
"""

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.ranks import deepspeed
from hpclaunch.convert.mapping.words.lines import lines_of
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.convert.reading import Command, ShellReading

_VISIBLE = "CUDA_VISIBLE_DEVICES"


def put(reading: ShellReading, command: Command, layer: Layer, often: int | None, draft: Draft) -> bool:
    """Put them where the launcher is started once on each node, and nothing else chooses GPUs for it.
    `often`: how many times it is, None for once. Whether it was put."""
    option, per_node = _by(layer), draft.number("ranks_per_node")
    given = {name for name, _ in (*command.environment, *command.prefix)}
    if option is None or not per_node or (often or 1) > 1 or _VISIBLE in given:
        return False
    why = f"{layer.program} has a GPU for each process that it starts"
    draft.put(("gpus_per_node",), per_node, lines_of(reading, command, option), option.written, why=why)
    return True


def _by(layer: Layer) -> Option | None:
    """The option that tells it."""
    if layer.program == "accelerate":
        asked = layer.option("multi_gpu") is not None and layer.option("cpu") is None
        return layer.option("num_processes") if asked else None
    if layer.program != "deepspeed":
        return None
    chosen = deepspeed.slots(layer)
    if chosen is None:
        return layer.option("nproc_per_node")
    return chosen[0] if chosen[1] and chosen[1] == tuple(range(len(chosen[1]))) else None
