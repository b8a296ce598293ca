"""What stands around the run -> `trials`, `setup`, `before_each`, `after`, `stage_in`."""
