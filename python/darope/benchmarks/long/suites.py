"""The suites of long prompts: one line each."""

from __future__ import annotations

from . import babilong, crosscodeeval, longbench, repobench, ruler

__all__ = ["SUITES"]

SUITES = {
    "ruler": ruler.SUITE,
    "babilong": babilong.SUITE,
    "longbench": longbench.SUITE,
    "crosscodeeval": crosscodeeval.SUITE,
    "repobench": repobench.SUITE,
}
