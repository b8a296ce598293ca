"""hpclaunch: one job file, any SuperPOD, every rank beside its GPU."""

__version__ = "0.1.0"
