hl_opens() { # does the device $1 open? Its mode does not tell: a cgroup may refuse root too.
  [ -e "$1" ] && { true <>"$1"; } 2>/dev/null
}
