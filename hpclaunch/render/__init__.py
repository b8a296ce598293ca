"""LaunchPlan -> text, through `templates/`. Nothing is decided here."""
