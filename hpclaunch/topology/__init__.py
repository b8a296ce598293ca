"""The machine: the catalogue of node types, the reading of this one, and what follows from them."""
