# The workers may start long after this pod, and their names be in DNS after that.
trap 'exit 143' TERM INT # as a container's first process the shell has no default for them
hl_deadline=$(($(date +%s) + hl_wait))

hl_await() { # until the host $1 runs a command
  until hl_reach "$1" true >/dev/null 2>&1; do
    [ "$(date +%s)" -lt "$hl_deadline" ] || return 1
    sleep 1
  done
}

hl_collect() { # hl_missing: and those of the words PID:HOST that did not answer in time
  for hl_host; do
    wait "${hl_host%%:*}" || hl_missing="$hl_missing ${hl_host#*:}"
  done
}

hl_name() { # hl_text: the first words of several
  hl_text="$1${2+ $2}${3+ $3}"
  [ $# -le 3 ] || hl_text="$hl_text and $(($# - 3)) more"
}

hl_missing= hl_asked= hl_count=0
for hl_host in $hl_workers; do
  hl_await "$hl_host" &
  hl_asked="$hl_asked $!:$hl_host"
  hl_count=$((hl_count + 1))
  [ $((hl_count % 32)) = 0 ] || continue
  hl_collect $hl_asked
  hl_asked=
done
hl_collect $hl_asked
if [ -n "$hl_missing" ]; then
  hl_name $hl_missing
  hl_missing=${hl_missing# }
  hl_why=$(hl_reach "${hl_missing%% *}" true 2>&1)
  hl_fail "after $hl_wait s these workers take no connection: $hl_text (${hl_why##*"
"})"
fi
trap - TERM INT
