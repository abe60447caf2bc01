"""Guards the time limit of an exchange: each is aborted at its own end, and none that is over."""

import multiprocessing
import socket

import pytest

from restgpt.specs.watchdog import Watchdog

PATIENCE_S = 60.0


def wait_for_bytes(seconds: float) -> bool:
    """Read from a peer that sends nothing, for so long; return whether the exchange was aborted."""
    watchdog, (here, there) = Watchdog(), socket.socketpair()
    with here, there, watchdog.within(seconds):
        watchdog.use_socket(here)
        here.settimeout(PATIENCE_S)
        assert here.recv(1) == b""
    return watchdog.was_aborted


def test_an_exchange_is_aborted_at_its_end_while_others_that_began_before_go_on() -> None:
    long = Watchdog()
    with long.within(PATIENCE_S):
        assert wait_for_bytes(0.05)
        assert wait_for_bytes(0.01)
    assert not long.was_aborted


def test_an_exchange_without_an_end_is_not_aborted() -> None:
    endless = Watchdog()
    with endless.within(float("inf")):
        assert wait_for_bytes(0.01)
    assert not endless.was_aborted


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
def test_a_forked_process_has_a_watchdog_of_its_own() -> None:
    assert wait_for_bytes(0.01)
    child = multiprocessing.get_context("fork").Process(target=wait_for_bytes, args=(0.05,))
    child.start()
    child.join(PATIENCE_S)
    assert child.exitcode == 0
