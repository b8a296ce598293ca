"""torchrun, deepspeed, accelerate and the like in a pod: the rendezvous, and what their options become."""

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.objects.workload import Count
from hpclaunch.convert.manifests.running.launch import Launch, lines_of
from hpclaunch.convert.mapping.ranks import deepspeed
from hpclaunch.convert.mapping.ranks.launchers import REPLACED, of_accelerate
from hpclaunch.convert.programs.layers import Layer


def put(launch: Launch, layer: Layer, draft: Draft) -> None:
    """That the job's ranks take the launcher's place, and what becomes of its options."""
    why = f"hpclaunch starts one rank for each process of {layer.program}, and tells it of the others"
    draft.put(("rendezvous",), "torch", [launch.words[0].place], layer.program, why=why)
    for option in layer.options:
        places = tuple(lines_of(launch, option.written))
        if option.name in REPLACED:
            draft.say("replaced", places, option.written, why=REPLACED[option.name])
        elif layer.program == "deepspeed" and deepspeed.option(option, places, draft):
            continue
        elif layer.program == "accelerate":
            of_accelerate(layer, option, places, draft)
        else:
            why = f"an option of {layer.program} that nothing here stands for"
            draft.say("left", places, option.written, why=why, todo="see whether the program counts on it")
    if layer.program == "deepspeed" and (chosen := deepspeed.slots(layer)) is not None:
        deepspeed.put_visible(layer, tuple(lines_of(launch, chosen[0].written)), draft)


def untold(launch: Launch, layer: Layer) -> Count | None:
    """The ranks on each node where no option numbers them: the GPUs of deepspeed's --include, or what asks
    for a number that no line has; None where neither is there."""
    if layer.program == "deepspeed" and (chosen := deepspeed.slots(layer)) is not None:
        option, gpus, _ = chosen
        return Count(len(gpus) if gpus else None, tuple(lines_of(launch, option.written)), option.written)
    by_file = layer.option("config_file") if layer.program == "accelerate" else None
    if by_file is not None:
        what = f"{by_file.written}, a file that is not read and may have num_processes,"
        return Count(None, tuple(lines_of(launch, by_file.written)), what)
    return None
