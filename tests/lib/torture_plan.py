# SPDX-License-Identifier: Apache-2.0
"""Makes chosen calls of a program fail, by tests/fake/torture.c, and says what became of the program.

A Torture is a plan that the program maps. arm() makes calls fail from now on, disarm() ends that. In
both the calls are counted, so that a scenario can be run once to learn how many it makes.
"""

import errno
import mmap
import os
import struct

# In the order of enum kind in tests/fake/torture.c.
KINDS = ("allocate", "socket", "connect", "accept", "receive", "send", "epoll_ctl", "open")
SHORT = -1
# What each kind of call can say of itself.
ERRORS = {
    "allocate": (errno.ENOMEM,),
    "socket": (errno.EMFILE, errno.ENOBUFS),
    "connect": (errno.ECONNREFUSED, errno.ENETUNREACH, errno.EINTR),
    "accept": (errno.EMFILE, errno.ECONNABORTED, errno.EINTR, errno.ENOBUFS),
    "receive": (SHORT, errno.EINTR, errno.ECONNRESET, errno.EIO),
    "send": (SHORT, errno.EINTR, errno.ECONNRESET, errno.ENOSPC),
    "epoll_ctl": (errno.ENOMEM, errno.ENOSPC),
    "open": (errno.EMFILE, errno.ENOENT, errno.EINTR),
}
ALL = 2 ** 63
# calls of each kind, failed, kind, error, from, count, one_in, seed, live
PLAN = struct.Struct(f"={len(KINDS)}Q Q qq QQQQ q")
FAILED = struct.calcsize(f"={len(KINDS)}Q")
KIND = FAILED + 8
LIVE = PLAN.size - 8


def name_of(error):
    return "short" if error == SHORT else errno.errorcode[error]


class Point:
    """Which calls fail: `count` of a kind from number `start` on, or one in `one_in` of those."""

    def __init__(self, kind, error, start, count=1, one_in=0, seed=0):
        self.kind, self.error = kind, error
        self.start, self.count, self.one_in, self.seed = start, count, one_in, seed

    def __str__(self):
        many = "" if self.count == 1 else ", all from it" if self.count == ALL else f", {self.count}"
        if self.one_in:
            many += f", one in {self.one_in} by seed {self.seed}"
        return f"{self.kind} {name_of(self.error)} at {self.start}{many}"


class Torture:
    """The plan in a file of the folder; environment() is what the program needs."""

    def __init__(self, library, folder):
        self.library = os.path.realpath(library)
        self.path = os.path.join(folder, "torture.plan")
        with open(self.path, "wb") as file:
            file.write(PLAN.pack(*[0] * len(KINDS), 0, -1, 0, 0, 0, 0, 0, 0))
        with open(self.path, "r+b") as file:
            self.plan = mmap.mmap(file.fileno(), PLAN.size)

    def environment(self):
        return {"LD_PRELOAD": self.library, "TORTURE_FILE": self.path}

    def arm(self, point):
        """Counts anew, and has those calls fail."""
        self.disarm()
        kind = KINDS.index(point.kind)
        struct.pack_into("=q", self.plan, KIND, -1)
        struct.pack_into(f"={len(KINDS)}Q Q", self.plan, 0, *[0] * (len(KINDS) + 1))
        struct.pack_into("=q QQQQ", self.plan, KIND + 8, point.error, point.start, point.count,
                         point.one_in, point.seed)
        struct.pack_into("=q", self.plan, KIND, kind)

    def disarm(self):
        struct.pack_into("=q", self.plan, KIND, -1)

    def count(self):
        """Counts anew; nothing fails."""
        self.disarm()
        struct.pack_into(f"={len(KINDS)}Q Q", self.plan, 0, *[0] * (len(KINDS) + 1))

    def calls(self):
        """How many calls of each kind there were since the counts began."""
        return dict(zip(KINDS, struct.unpack_from(f"={len(KINDS)}Q", self.plan)))

    def failed(self):
        return struct.unpack_from("=Q", self.plan, FAILED)[0]

    def live(self):
        """The bytes that the program has allocated."""
        return struct.unpack_from("=q", self.plan, LIVE)[0]
