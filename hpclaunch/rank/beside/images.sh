# Images that were imported to a folder. `list FOLDER` prints a line for each: bytes, seconds since 1970 of its last
# use by whoever, name, and what import.sh wrote of it. `remove FOLDER NAME SECONDS` removes one that nobody asked for
# since then, and prints what became of it.
set -u
hl_folder=$2
hl_last() { # NAME FILE
  hl_at=$(stat -c %Y -- "$2") || return
  for hl_mark in "$hl_folder/.$1.used-"*; do
    hl_of=$(stat -c %Y -- "$hl_mark" 2>/dev/null) || continue
    [ "$hl_of" -le "$hl_at" ] || hl_at=$hl_of
  done
}
list() {
  for hl_said in "$hl_folder"/*.sqsh.json; do
    hl_file=${hl_said%.json}
    hl_name=${hl_file##*/}
    hl_bytes=$(stat -c %s -- "$hl_file" 2>/dev/null) || continue
    hl_last "$hl_name" "$hl_file" || continue
    printf '%s %s %s ' "$hl_bytes" "$hl_at" "$hl_name"
    head -n 1 -- "$hl_said"
  done
}
remove() { # NAME SECONDS
  hl_file=$hl_folder/$1
  find "$hl_folder" -maxdepth 1 -type f -name '.*.sqsh.part-*' -mtime +1 -exec rm -f -- {} + 2>/dev/null
  { true >>"$hl_folder/.$1.lock"; } 2>/dev/null || { echo "nothing can be written to $hl_folder" && return; }
  exec 9>>"$hl_folder/.$1.lock"
  flock -n 9 || { echo "another one imports it, or the file system knows no locks" && return; }
  [ -e "$hl_file" ] || { echo gone && return; }
  hl_part=$hl_folder/.$1.part-gone-$$
  mv -- "$hl_file" "$hl_part" || { echo "it cannot be removed" && return; }
  # A job that asks for it marks that first: one that has seen the file did so before this look.
  if ! hl_last "$1" "$hl_part" || [ "$hl_at" -gt "$2" ]; then
    mv -- "$hl_part" "$hl_file" && echo "it is in use again"
    return
  fi
  rm -f -- "$hl_part" "$hl_file.json" && echo removed
  rm -f -- "$hl_folder/.$1.used-"*
}
case $1 in
  list) list ;;
  remove) remove "$3" "$4" ;;
esac
