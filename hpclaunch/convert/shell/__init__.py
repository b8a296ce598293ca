"""Shell input, understood without running any of it: `walk.read` goes through the inputs as bash would."""
