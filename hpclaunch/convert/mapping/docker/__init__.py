"""Launchers that start containers of docker themselves: their steps, sizes, options, command."""
