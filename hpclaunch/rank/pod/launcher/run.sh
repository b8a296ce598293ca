exec "$hl_mpirun" "$@"
