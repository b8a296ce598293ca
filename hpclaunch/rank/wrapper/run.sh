if [ -n "$hl_cwd" ]; then
  CDPATH='' cd -- "$hl_cwd" || hl_fail "cannot work in $hl_cwd"
  unset -v OLDPWD # dash exports it
fi

# The environment last: the job's PATH or LD_PRELOAD must not reach the tools above.
while [ "$1" != -- ]; do
  export "$1"
  shift
done
shift
for hl_word; do
  set -- "$@" "${hl_word#=}"
  shift
done
[ -z "$hl_policy" ] || set -- "$hl_tool" "$hl_policy" -- "$@"
unset -v hl_of_wrapper
[ "$hl_from" != hydra ] || hl_stay "$@"
exec "$@"
