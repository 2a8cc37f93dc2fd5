"""Writes docs/settings.md: python docs/settings.py [PROGRAM]; the tests hold it against the program."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = sys.argv[1] if len(sys.argv) > 1 else HERE.parent / "build" / "darope"
HEAD = """# Every setting

`darope settings [PREFIX]` prints this table, `darope settings --schema` the same as a JSON schema for
editors, and `darope train CONFIG --print-config` a whole config with the meanings as comments. A config is a
YAML file in which dots are sections; `a.b=c` on the command line changes one setting. `tasks` to `margins.*`
belong to `compare` alone. This page is made by `docs/settings.py`.

"""
table = subprocess.run([PROGRAM, "settings", "--markdown"], capture_output=True, text=True, check=True).stdout
(HERE / "settings.md").write_text(HEAD + table)
