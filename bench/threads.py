"""Is `threads=0`, the default, the best number of threads, on a free machine and beside a busy process?

python bench/threads.py     # seconds of `darope train` at five sizes, with the default, 1 and all threads
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SHAPES = [  # width, layers, batch, length, steps
    (64, 2, 16, 32, 300),
    (64, 2, 16, 128, 100),
    (128, 2, 16, 64, 100),
    (128, 4, 16, 128, 40),
    (256, 4, 16, 128, 10),
]


def seconds(shape, threads):
    width, layers, batch, length, steps = shape
    settings = [f"model.dim={width}", f"model.n_layers={layers}", f"data.batch_size={batch}"]
    settings += [f"data.seq_len={length}", "data.test_examples=8", f"steps={steps}", f"threads={threads}"]
    with tempfile.TemporaryDirectory() as folder:
        words = ["train", "configs/quick/train.yaml", "device=cpu", f"dump_dir={folder}/run", *settings]
        start = time.perf_counter()
        subprocess.run([ROOT / "build" / "darope", *words], cwd=ROOT, check=True, capture_output=True)
        return time.perf_counter() - start


def table(title):
    most = os.cpu_count()
    print(
        f"\n{title}\n{'width x layers, batch x length':32} {'default':>8} {'1':>8} {most:>8}   default / best"
    )
    for shape in SHAPES:
        times = [min(seconds(shape, threads) for _ in range(2)) for threads in (0, 1, most)]
        name = "{} x {}, {} x {}".format(*shape[:4])
        shown = " ".join(f"{each:8.2f}" for each in times)
        print(f"{name:32} {shown}   {times[0] / min(times):.2f}", flush=True)


def main():
    table("a free machine")
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        table("beside a busy process")
    finally:
        busy.kill()


if __name__ == "__main__":
    main()
