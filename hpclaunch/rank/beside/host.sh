# Runs a command of the job outside its container: FOLDER NAME=value... -- =word...
set -u
CDPATH='' cd -- "$1" 2>/dev/null || cd /
unset -v OLDPWD # dash exports it
shift
while [ "$1" != -- ]; do
  export "$1"
  shift
done
shift
for hl_word; do
  set -- "$@" "${hl_word#=}"
  shift
done
exec "$@"
