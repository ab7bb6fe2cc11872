#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An agent whose own clock is years off, behind 2038 and before the controller's certificate was made.

usage: agent_clock.py CONTROLLER AGENT FOLDER_OF_THE_DRIVER [WORDS]

Prints TAP and fails if any promise is broken; with words it tries only those whose sentence contains
them. The agent and the process in which it asks the driver have the wrong clock (tests/fake/clock.c).
The controller has the right one. tests/e2e/clocks.py does this to the controller.
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib"))
from both_programs import world
from promises import promise, try_promises
from wrong_clock import WrongClock

YEARS = {12: "expired", -10: "not yet valid"}
RIGHT_S = 10     # from a change until the status says so
BACK_OFF_S = 35  # of what an agent tries again, at most


def becomes_right(made, serial, seconds):
    """So long it takes until the status says what the driver says from now on."""
    since = time.monotonic()
    made.write_devices(serial)
    assert made.api.wait(lambda _: made.serials() == {str(serial)}, seconds), (
        f"{made.serials()} instead of {serial}\n{said(made)[-2000:]}")
    made.check()
    return time.monotonic() - since


def said(made):
    """What the agent did."""
    with open(made.path("agent.log"), encoding="utf-8") as log:
        return log.read()


@promise
def an_agent_whose_clock_is_years_off_says_why_it_is_not_heard_and_is_heard_once_the_clock_is_right():
    notes = []
    for years, why in YEARS.items():
        with world(*PROGRAMS) as made:
            clock = WrongClock(made.folder)
            clock.set(years)
            made.write_devices(1)
            made.start_agent(**clock.environment())
            assert made.api.wait(lambda _: why in said(made) and "clock is right" in said(made), RIGHT_S), said(made)
            made.check()
            assert not made.serials(), "a report was taken"
            clock.set(0)
            notes.append(f"{becomes_right(made, 2, BACK_OFF_S):.1f} s")
    return f"a status after the clock was right: {', '.join(notes)}"


@promise
def a_clock_that_is_set_by_years_while_an_agent_reports_delays_no_status():
    with world(*PROGRAMS) as made:
        clock = WrongClock(made.folder)
        made.write_devices(1)
        made.start_agent(**clock.environment())
        notes = [becomes_right(made, 2, RIGHT_S)]
        for serial, years in enumerate((*YEARS, 0, *reversed(YEARS), 0), 3):
            clock.set(years)
            notes.append(becomes_right(made, serial, RIGHT_S))
    return f"a status after {', '.join(f'{seconds:.1f}' for seconds in notes)} s"


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    PROGRAMS = [os.path.realpath(path) for path in sys.argv[1:4]]
    sys.exit(try_promises(sys.argv[4:]))
