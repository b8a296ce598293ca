"""LaunchPlan -> text: scripts through `templates/`, manifests by `pods.py`. Nothing is decided here."""
