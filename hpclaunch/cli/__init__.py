"""The command line: one small file for each group of commands, and no logic."""

import gc

# A command's life is mostly imports. The garbage collector would search what they bring in dozens of times,
# and once more at the end, for nothing: a fifth of `hpclaunch render`. `main` turns it on after them.
gc.disable()
