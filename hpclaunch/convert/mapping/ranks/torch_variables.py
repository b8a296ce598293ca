"""Options that torchrun takes of variables where no word of its line says them: PET_NNODES,
PET_NPROC_PER_NODE (torch/distributed/argparse_util.py); and the GPUs that it may count."""

from collections.abc import Iterable, Mapping

from hpclaunch.convert.mapping.slurm.batch.export import kept_by
from hpclaunch.convert.programs.flags import cut
from hpclaunch.convert.programs.layers import PER_GPU, Layer, Option, layers
from hpclaunch.convert.programs.plain import by_env
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Value, known, shown
from hpclaunch.values.conversion import Place

_READ_BY = ("torchrun", "torch.distributed.launch")
_BY_NAME = {"PET_NNODES": "nnodes", "PET_NPROC_PER_NODE": "nproc_per_node"}
# They hand on what they are told to, and nothing else of the script's environment.
_OF_THEIR_OWN = ("docker run", "docker exec")


def with_variables(layer: Layer, given: Mapping[str, Value]) -> Layer:
    """The layer with the options that variables of its environment stand for."""
    if layer.program not in _READ_BY:
        return layer
    found = [
        Option(name, given[variable], f"{variable}={shown(given[variable])}")
        for variable, name in _BY_NAME.items()
        if variable in given and layer.option(name) is None
    ]
    return Layer(layer.program, (*found, *layer.options), layer.words) if found else layer


def of_command(layer: Layer, command: Command) -> Layer:
    """The same of a launcher in a command of a script."""
    if layer.program not in _READ_BY:
        return layer
    return with_variables(layer, _given(command))


def visible(command: Command) -> int | None:
    """How many GPUs CUDA_VISIBLE_DEVICES lets a command's launcher see, None where nothing tells it."""
    value = {**dict(command.environment), **dict(command.prefix)}.get("CUDA_VISIBLE_DEVICES")
    text = known(value) if value is not None else None
    inside = any(layer.program in _OF_THEIR_OWN for layer in layers(command.words))
    return len(text.split(",")) if text and not inside else None


def lines(reading: ShellReading, option: Option) -> tuple[Place, ...]:
    """Where the script gives the variable that an option comes from; none of an option of the line."""
    variable = option.written.partition("=")[0]
    assigned = reading.last(variable) if variable in _BY_NAME else None
    return (assigned.place,) if assigned is not None else ()


def _given(command: Command) -> dict[str, Value]:
    """Those of the variables that its launcher has, whatever stands in front of it."""
    there = _only({**dict(command.environment), **dict(command.prefix)}.items())
    for layer in layers(command.words):
        if layer.program in PER_GPU:
            break
        export = layer.option("export")
        if layer.program == "srun" and export is not None:
            there = kept_by(export.value or (), there, by_srun=True)
        elif layer.program == "env":
            given, removed = by_env([layer], there.items())
            there = {name: value for name, value in {**there, **given}.items() if name not in removed}
        elif layer.program in _OF_THEIR_OWN:
            there = _named(layer.all("env"), there)
        elif layer.option("x") is not None:
            there |= _named(layer.all("x"), there)
    return dict(_only(there.items()))


def _only(given: Iterable[tuple[str, Value]]) -> dict[str, Value]:
    return {name: value for name, value in given if name in _BY_NAME}


def _named(options: Iterable[Option], there: Mapping[str, Value]) -> dict[str, Value]:
    """What -e NAME=VALUE gives, and -e NAME hands on."""
    found = {}
    for option in options:
        parts = cut(option.value or (), "=")
        name = parts[0] if parts else known(option.value or ()) or ""
        value = parts[1] if parts else there.get(name)
        if value is not None:
            found[name] = value
    return found
