"""The numbers that the paper prints, each by where it stands there."""

import csv
import pathlib

with (pathlib.Path(__file__).resolve().parents[1] / "paper" / "numbers.csv").open() as file:
    NUMBERS = list(csv.DictReader(file))
