"""What is wrong in the original, with its line and the consequence.

Each module has `find(reading, parsed, options)`, which yields findings of the kind "defect".
"""

from hpclaunch.convert.defects import access, placement, slurm, statuses, words
from hpclaunch.convert.defects.tree import trees
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import ShellReading
from hpclaunch.values.conversion import Finding

_ALL = (words, statuses, slurm, access, placement)


def find(reading: ShellReading, options: Options) -> list[Finding]:
    """The defects of all inputs, in the order of their lines, each once."""
    parsed = trees(reading.sources)
    found = dict.fromkeys(each for module in _ALL for each in module.find(reading, parsed, options))
    order = {source.name: index for index, source in enumerate(reading.sources)}
    return sorted(found, key=lambda each: (order.get(each.places[0].file, 0), each.places[0].line))
