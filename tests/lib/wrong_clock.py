# SPDX-License-Identifier: Apache-2.0
"""A wall clock that is wrong, for programs that are started with its environment(), by tests/fake/clock.c."""

import mmap
import os
import struct
import subprocess

from control_plane import TOP

YEAR_S = 31_556_952


class WrongClock:
    """Right until it is set. It makes its library and its file in the folder."""

    def __init__(self, folder):
        self.library, self.path = os.path.join(folder, "libclock.so"), os.path.join(folder, "clock")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", self.library,
                        os.path.join(TOP, "tests", "fake", "clock.c")], check=True, timeout=60)
        with open(self.path, "wb") as file:
            file.write(struct.pack("=q", 0))
        with open(self.path, "r+b") as file:
            self.shared = mmap.mmap(file.fileno(), 8)

    def environment(self):
        return {"LD_PRELOAD": self.library, "CLOCK_FILE": self.path}

    def set(self, years):
        """So many years off, from now on; below 0: behind."""
        struct.pack_into("=q", self.shared, 0, years * YEAR_S)
