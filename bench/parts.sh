# Scripts that train and evaluate in parts, each with the program as it was built, source this from the
# repository. A signal goes to the part at work, which saves; the script ends with its exit code.
torch=$(${PYTHON:-python3} -c 'import os, torch; print(os.path.dirname(torch.__file__))') || exit 1
export LD_LIBRARY_PATH=$torch/lib:$PWD/build:${LD_LIBRARY_PATH:-}

child=
stopped=
trap 'stopped=1; [ -z "$child" ] || kill -TERM "$child"' TERM INT
part() { # WHAT WORD...: the program with these words, and the seconds it took
  local from=$SECONDS code
  ./build/darope "${@:2}" &
  child=$!
  wait "$child"
  code=$?
  [ -z "$stopped" ] || { wait "$child"; code=$?; }  # the signal ended the first wait
  child=
  if [ $code != 0 ]; then
    echo "$1: ended with $code after $((SECONDS - from)) s" >&2
    exit $code
  fi
  echo "$1: $((SECONDS - from)) s"
}
