"""What a manifest would launch. `reader` is the way in; the rest are its steps: `document` (YAML), `models`
and `typed` (the API's objects), `command` and `mpirun` (what the containers start), `pods`."""
