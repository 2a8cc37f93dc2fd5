# Scripts that train and evaluate in parts, each with the program as it was built, source this from the
# repository. A signal goes to the part at work, which saves; the script ends with its exit code.
PATH=$(${PYTHON:-python3} -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
torch=$(${PYTHON:-python3} -c 'import os, torch; print(os.path.dirname(torch.__file__))') || exit 1
export LD_LIBRARY_PATH=$torch/lib:$PWD/build:${LD_LIBRARY_PATH:-}

child=
stopped=
trap 'stopped=1; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null' TERM INT
part() { # WHAT WORD...: the program with these words, and the seconds it took
  local from=$SECONDS code
  [ -z "$stopped" ] || exit 75
  ./build/darope "${@:2}" &
  child=$!
  [ -z "$stopped" ] || kill -TERM "$child" 2>/dev/null
  wait "$child"
  while kill -0 "$child" 2>/dev/null; do wait "$child"; done  # a signal ends a wait, and timeout sends two
  wait "$child"
  code=$?
  child=
  if [ $code != 0 ]; then
    echo "$1: ended with $code after $((SECONDS - from)) s" >&2
    exit $code
  fi
  echo "$1: $((SECONDS - from)) s"
  [ -z "$stopped" ] || exit 75
}
