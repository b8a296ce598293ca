# Ranks work where this container does: in the image's own folder, or the job's.
hl_has_wdir() { # do the words have it already, up to the shell that each rank begins as?
  for hl_text; do
    case $hl_text in
      /bin/sh) return 1 ;;
      -wdir | --wdir | -wd) return 0 ;;
    esac
  done
  return 1
}

hl_has_wdir "$@" || set -- -wdir "$PWD" "$@"
