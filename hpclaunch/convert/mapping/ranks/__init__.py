"""What starts the ranks, and how they find each other -> `ranks_per_node`, `mpi`, `rendezvous`."""
