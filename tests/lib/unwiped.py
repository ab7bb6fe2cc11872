# SPDX-License-Identifier: Apache-2.0
"""Whether a program that is started with environment() gives back memory with a secret, by tests/fake/unwiped.c."""

import mmap
import os
import struct

SIZE, COUNT, BEFORE = 64, 8, 128
SECRETS = 8 + BEFORE + SIZE


class Unwiped:
    """It makes its file in the folder. stand_ins is the folder of the library."""

    def __init__(self, folder, stand_ins):
        self.library, self.path = os.path.join(stand_ins, "libunwiped.so"), os.path.join(folder, "unwiped")
        with open(self.path, "wb") as file:
            file.write(bytes(SECRETS + COUNT * SIZE))
        with open(self.path, "r+b") as file:
            self.shared = mmap.mmap(file.fileno(), 0)

    def environment(self):
        return {"LD_PRELOAD": self.library, "UNWIPED_FILE": self.path}

    def seek(self, *secrets):
        """Looks for these from now on; of a long one for its first bytes."""
        assert len(secrets) <= COUNT
        for index in range(COUNT):
            secret = secrets[index][:SIZE - 1] if index < len(secrets) else b""
            self.shared[SECRETS + index * SIZE:SECRETS + (index + 1) * SIZE] = secret.ljust(SIZE, b"\0")

    def found(self):
        """How often any was found, and with what the first began."""
        return (struct.unpack_from("=Q", self.shared)[0], self.shared[8:SECRETS].strip(b"\0"))
