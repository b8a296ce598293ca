"""Scripts among the inputs that the pods of manifests start: they run where the ranks are."""

from collections.abc import Sequence
from os.path import basename

from msgspec import structs

from hpclaunch.convert.file_names import names
from hpclaunch.convert.inputs import Input


def told(inputs: Sequence[Input]) -> Sequence[Input]:
    """The inputs, where pods of manifests start all scripts among them, as rank scripts. A script that
    names a manifest submits it."""
    manifests = [each for each in inputs if each.role == "manifest"]
    scripts = [each for each in inputs if each.role in ("shell", "rank script")]

    def is_of_pods(script: Input) -> bool:
        named = any(names(each.text, basename(script.name)) for each in manifests)
        return named and not any(names(script.text, basename(each.name)) for each in manifests)

    if not (manifests and scripts and all(map(is_of_pods, scripts))):
        return inputs
    return [structs.replace(each, role="rank script") if each in scripts else each for each in inputs]
