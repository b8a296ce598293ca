"""Which objects of a file are the launch, which stand beside it, and which are refused."""
