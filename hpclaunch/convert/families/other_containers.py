"""Steps of Slurm in containers of Singularity, Shifter or Sarus: told as those of Pyxis are, though no job is
written, since a job's containers are Pyxis's."""

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.families import plain_slurm
from hpclaunch.convert.families.singularity import FILES, MAKE_ONE, NOT_RUN
from hpclaunch.convert.mapping.container import instances, other_runtimes, pulled
from hpclaunch.convert.mapping.container.images import reference
from hpclaunch.convert.mapping.slurm.scripts.submitted import unwrapped
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs import singularity
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.reading import ShellReading

_NO_REGISTRY = ("/", "./", "../", "library:", "oras:", "shub:")


def are_steps(reading: ShellReading) -> bool:
    """Whether one of these programs starts something in the script."""
    found = (layers(command.words) for command in reading.starting)
    return any(
        layer.program in other_runtimes.PROGRAMS and (layer.program != singularity.SHELL or its[-1].words)
        for its in found
        for layer in its
    )


def put(reading: ShellReading, draft: Draft, options: Options) -> None:
    """All that can be told of the launch."""
    plain_slurm.convert(reading, draft, options)
    inside = unwrapped(reading)
    instances.say(inside, draft)
    other_runtimes.say_instance_options(inside, draft)
    _image(reading, draft)
    draft.findings[:] = [
        each for each in draft.findings if each.kind != "left" or not other_runtimes.is_told(each.what)
    ]


def _image(reading: ShellReading, draft: Draft) -> None:
    """A file of Singularity's is no image of a job: what it was made of is, where the script makes it."""
    fact = draft.facts.get(("image",))
    text = str(fact.value) if fact is not None and not fact.is_open else ""
    if fact is not None and (text.endswith(FILES) or text.startswith(_NO_REGISTRY)):
        draft.unsay(("image",))
        del draft.facts["image",]
        source = pulled.source(unwrapped(reading), text)
        if source is not None:
            draft.put(("image",), reference(source[0]), (*fact.places, source[1]), text.removeprefix("./"))
            return
        draft.say("left", fact.places, f"the image {text.removeprefix('./')}", why=NOT_RUN, todo=MAKE_ONE)
