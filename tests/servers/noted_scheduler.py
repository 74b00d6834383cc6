"""A Dask scheduler that notes every byte that it reads and writes, past TLS, in the file named first."""

import sys
from pathlib import Path
from typing import Any

from distributed.cli.dask_scheduler import main
from tornado.iostream import SSLIOStream

if __name__ == "__main__":
    notes = Path(sys.argv.pop(1)).open("ab", buffering=0)  # noqa: SIM115  # until it is killed
    read, write = SSLIOStream.read_from_fd, SSLIOStream.write_to_fd

    def noted_read(self: Any, buffer: Any) -> int | None:
        found = read(self, buffer)
        if found:
            notes.write(bytes(memoryview(buffer)[:found]))
        return found

    def noted_write(self: Any, data: memoryview) -> int:
        notes.write(bytes(data))
        return write(self, data)

    SSLIOStream.read_from_fd, SSLIOStream.write_to_fd = noted_read, noted_write
    sys.argv[0] = "dask-scheduler"
    main()
