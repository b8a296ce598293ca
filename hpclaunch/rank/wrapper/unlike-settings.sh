# Where groups differ in nodes or ranks the first setting is how many ranks are on each node of this one's.
hl_each=
case $1 in local_ranks=*) hl_each=${1#*=} && shift ;; esac
