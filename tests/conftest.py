"""In CI nothing may be skipped: what cannot run there has not been tested. And tests that press Ctrl-C hold
however pytest was started: a shell lets what `&` starts ignore it, and so all that it starts itself."""

import os
import signal
from collections.abc import Generator
from typing import TypeVar

import pytest

R = TypeVar("R", pytest.TestReport, pytest.CollectReport)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _no_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _no_skip((yield))


def _no_skip(report: R) -> R:
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"this is CI, where nothing may be skipped: {reason}"
    return report
