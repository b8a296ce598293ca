"""Options of Pyxis's containers -> `image`, `container`, `mounts`, `workdir`."""
