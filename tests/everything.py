"""Everything: this imports all modules of the project and the drivers, so that a process forked after it need not.

Nothing is opened, and no thread is begun. At run time the modules import each other only when they are used.
"""

import importlib
import pkgutil
from typing import Final

import psycopg  # noqa: F401
import pymysql  # noqa: F401
from sqlalchemy.dialects import mysql, postgresql, sqlite  # noqa: F401

import dp
import kms
import vault

MODULES: Final = [
    importlib.import_module(found.name)
    for package in (kms, dp, vault)
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]
