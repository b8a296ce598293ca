# Of several nodes mpirun tells no number.
hl_divide() { # hl_local, hl_node, hl_nodes: of local rank $1 of $2, where each node was filled before the next
  hl_local=$1 hl_node=$((hl_rank / $2)) hl_nodes=$((hl_ranks / $2))
  [ $((hl_rank % $2))/$((hl_ranks % $2)) = "$1/0" ] ||
    hl_fail "ranks are not laid out in blocks: it is local rank $1 of $2, and there are $hl_ranks ranks"
}
