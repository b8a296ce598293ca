"""Legacy launchers and foreign manifests -> a job file, and a report of what became of each construct.

Nothing of the input is ever run. Shell texts are walked with the values that they tell (`shell`), a family
recognises what the walk found and puts facts into a `Draft`, and each fact has the lines that support it.
"""
