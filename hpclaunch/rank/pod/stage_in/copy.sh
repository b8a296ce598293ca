# Copies folders to a worker's node before its ranks start, each once. Runs in an init container.
# Protocol 1: SOURCE TARGET NAME... with a name for each source, by which the target knows that it has it.
# Only what every /bin/sh has is used: dash, busybox, bash; and find, with cp or rsync.
set -uf
umask 022

hl_say() {
  printf 'hpclaunch: stage_in on %s: %s\n' "${HPCLAUNCH_NODE:-this node}" "$1" >&2
}

hl_is_staged() { # is the source called $2 in the target $1 to its last file?
  while read -r hl_line; do
    [ "$hl_line" != "$2" ] || return 0
  done 2>/dev/null <"$1/.hpclaunch-staged"
  return 1
}

hl_copy() { # what is in the folder $1 to the folder $2, whose own mode and times may be another's
  hl_tool='cp -af'
  # Not as root busybox's cp would have a line for each file, since owners cannot be kept.
  [ "$(id -u)" = 0 ] || cp --version >/dev/null 2>&1 || hl_tool='cp -RPf'
  ! command -v rsync >/dev/null || hl_tool='rsync -a'
  # shellcheck disable=SC2016 # for the other shell
  find "$1" -mindepth 1 -maxdepth 1 ! -name '.hpclaunch-staged*' -exec \
    /bin/sh -c 'tool=$1 to=$2 && shift 2 && exec $tool -- "$@" "$to/"' sh "$hl_tool" "$2" {} +
}

hl_stage() { # the folder $1 to the folder $2, under the name $3
  if [ ! -d "$1" ]; then
    hl_say "there is no folder $3"
    return 121
  fi
  # Of two jobs on one node the second waits, and finds all there. The lock ends with this process.
  if ! { true >>"$2/.hpclaunch-staged.lock"; } 2>/dev/null; then
    hl_say "nothing can be written to the folder that $3 is to be copied to"
    return 121
  fi
  exec 9>>"$2/.hpclaunch-staged.lock"
  if command -v flock >/dev/null; then
    flock 9 || return
  else
    hl_say "the image has no flock: another job that copies $3 here now is not waited for"
  fi
  if hl_is_staged "$2" "$3"; then
    hl_say "$3 is there already"
    return 0
  fi
  hl_say "copying $3"
  hl_copy "$1" "$2" || return
  # The name last, and at once: what was cut short before has none, and is copied again.
  {
    ! [ -e "$2/.hpclaunch-staged" ] || cat "$2/.hpclaunch-staged"
    printf '%s\n' "$3"
  } >"$2/.hpclaunch-staged.new" && mv -f "$2/.hpclaunch-staged.new" "$2/.hpclaunch-staged"
}

trap 'exit 143' TERM INT # as a container's first process the shell has no default for them
while [ $# -ge 3 ]; do
  hl_stage "$1" "$2" "$3" &
  wait $!
  hl_status=$?
  if [ "$hl_status" != 0 ]; then
    hl_say "$3 was not copied: status $hl_status"
    exit "$hl_status"
  fi
  shift 3
done
