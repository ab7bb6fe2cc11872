# SPDX-License-Identifier: Apache-2.0
"""The bytes that a program has allocated, which is started with environment(), by tests/fake/heap.c."""

import mmap
import os
import struct


class Heap:
    """It makes its file in the folder. stand_ins is the folder of the library."""

    def __init__(self, folder, stand_ins):
        self.library, self.path = os.path.join(stand_ins, "libheap.so"), os.path.join(folder, "heap")
        with open(self.path, "wb") as file:
            file.write(struct.pack("=q", 0))
        with open(self.path, "rb") as file:
            self.shared = mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ)

    def environment(self):
        return {"LD_PRELOAD": self.library, "HEAP_FILE": self.path}

    def live(self):
        return struct.unpack_from("=q", self.shared)[0]
