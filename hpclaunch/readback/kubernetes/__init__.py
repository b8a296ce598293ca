"""What a manifest would launch. `reader` is the way in; the rest are its steps: `document` (YAML),
`podmodels`, `jobmodels` and `typed` (objects of the API), `objects` (which pods), `pods` (what these give),
`command` and `mpirun` (what they start), `coherence` (does it fit together?).
"""
