hl_opens() { # does the device $1 open? Its mode does not tell: a cgroup may refuse root too. Standard error says why not.
  [ -e "$1" ] && true <>"$1"
}
