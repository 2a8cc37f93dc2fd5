"""parquet.py FILE: a line of JSON for each row of a parquet file, its column `text` or else `content`.

Rows are read some at a time, so that memory does not grow with the file. It stands alone: no torch is loaded.
"""

import json
import sys

FAILED, BAD_INPUT = 1, 2  # as docs/cli.md has them
AT_ONCE = 64  # rows
BUFFER = 1 << 20  # bytes of a column


def texts(path):
    import pyarrow
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False)
        schema = file.schema_arrow
        words = [each.name for each in schema if str(each.type) in ("string", "large_string", "string_view")]
        name = next((each for each in ("text", "content") if each in words), None)
        if name is None:
            found = ", ".join(f"{each.name} ({each.type})" for each in schema)
            raise ValueError(f"no column of strings called text or content; there are {found}")
        for rows in file.iter_batches(AT_ONCE, columns=[name], use_threads=False):
            yield from rows.column(0).to_pylist()
    except (OSError, ValueError, pyarrow.ArrowException) as problem:
        raise ValueError(f"{path}: {str(problem).splitlines()[0]}") from None


def main(path):
    try:
        for text in texts(path):
            print(json.dumps({"text": text or ""}))
    except ImportError:
        print(f"{path} is parquet: {sys.executable} -m pip install pyarrow", file=sys.stderr)
        return FAILED
    except ValueError as problem:
        print(problem, file=sys.stderr)
        return BAD_INPUT
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
