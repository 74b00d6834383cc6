"""botocore's files: megabytes of JSON that it reads anew for each client, and here once a process."""

from functools import cache
from typing import Any

from botocore.loaders import JSONFileLoader, Loader


@cache
def read_them_once() -> None:
    """From now on, in this process."""
    read = cache(JSONFileLoader().load_file)
    find, found = Loader.list_available_services, {}

    def list_available_services(self: Loader, type_name: str) -> Any:
        at = (*self.search_paths, type_name)
        if at not in found:
            found[at] = find(self, type_name)
        return list(found[at])

    JSONFileLoader.load_file = lambda _, file_path: read(file_path)
    Loader.list_available_services = list_available_services
