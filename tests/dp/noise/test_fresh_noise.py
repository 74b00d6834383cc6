"""Fresh noise: no two processes, forks or threads draw the same, and nobody can set what is drawn."""

import ast
import inspect
import json
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from types import ModuleType

import typer

import dp
import kms
import vault
from dp.noise.discrete_laplace_batch import sample_many
from dp.noise.random_source import OperatingSystemRandom, RandomSource
from kms.errors import MissingExtraError
from vault.cli.app import app

ROOT = Path(dp.__file__).parents[1]

# Scales so wide that of some thousand numbers no two are the same by chance: one time in 10**11 or less.
DRAWING = r"""
import json, os, random, sys
from fractions import Fraction

import numpy as np

from dp import Aggregates, Caps, Count, Price, release
from dp.noise.discrete_gaussian import sample_discrete_gaussian, sample_many_gaussian
from dp.noise.discrete_laplace import sample_discrete_laplace
from dp.noise.discrete_laplace_batch import sample_many
from dp.noise.permute_and_flip import permute_and_flip, top_picks
from dp.noise.randomized_response import RandomizedResponse
from dp.noise.random_source import OperatingSystemRandom

random.seed(0)
np.random.seed(0)
source = OperatingSystemRandom()
wide = Fraction(2**60)


def together(choices):
    return int("".join(map(str, choices)))


def noises():
    counts = release(Count(Caps(rows=2**31 - 1), 5), "count", Aggregates(((0,) * 5,)), Price.pure(1))
    return [
        *(int(group.value) for group in counts.groups),
        *(sample_discrete_laplace(wide, source) for _ in range(5)),
        *sample_many(wide, 5, source),
        sample_discrete_gaussian(wide**2, source),
        *sample_many_gaussian(wide**2, 5, source),
        together(permute_and_flip([0, 0], Fraction(1), source) for _ in range(60)),
        together(top_picks([0] * 30, Fraction(1), 30, source)),
        together(RandomizedResponse(1).tell_many([0] * 60)),
    ]


def family(depth):
    # This process and its forks, and theirs, each tell what they drew.
    noises()  # whatever could be kept over a fork is there by now
    forks = []
    for _ in range(3 if depth else 0):
        fork = os.fork()
        if fork == 0:
            family(depth - 1)
            os._exit(0)
        forks.append(fork)
    os.write(1, (json.dumps(noises()) + "\n").encode())  # a whole line at once, whoever writes first
    for fork in forks:
        os.waitpid(fork, 0)


"""
SEEDING = {"seed", "rng", "random_state", "generator", "entropy"}


def drawn(program: str, processes: int = 1) -> list[list[int]]:
    command = [sys.executable, "-c", DRAWING + program]
    running = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    told = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * processes
    return [json.loads(line) for output in told for line in output.splitlines()]


def assert_all_fresh(workers: list[list[int]]) -> None:
    every = [noise for worker in workers for noise in worker]
    assert len(set(every)) == len(every)


def test_k18_03_two_processes_with_the_same_seeds_draw_different_noise() -> None:
    workers = drawn("print(json.dumps(noises()))", processes=2)
    assert len(workers) == 2
    assert_all_fresh(workers)


def test_k18_03_no_two_forks_of_a_process_draw_the_same_noise() -> None:
    workers = drawn("family(2)")
    assert len(workers) == 1 + 3 + 9
    assert_all_fresh(workers)


def test_k18_03_no_two_threads_draw_the_same_noise() -> None:
    source = OperatingSystemRandom()
    with ThreadPoolExecutor(8) as threads:
        assert_all_fresh(list(threads.map(lambda _: sample_many(Fraction(2**60), 50, source), range(32))))


def modules() -> list[ModuleType]:
    found = []
    for package in (dp, vault, kms):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            with suppress(MissingExtraError, ImportError):
                found.append(import_module(module.name))
    return found


def callables(module: ModuleType) -> Iterator[tuple[str, Callable[..., object]]]:
    """What a module defines and does not begin with an underscore, the methods of its classes too."""
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", "") != module.__name__ or not callable(thing):
            continue
        yield f"{module.__name__}.{name}", thing
        for method_name, method in vars(thing).items() if inspect.isclass(thing) else ():
            function = getattr(method, "__func__", method)
            if not method_name.startswith("_") and callable(function):
                yield f"{module.__name__}.{name}.{method_name}", function


def parameters(function: Callable[..., object]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except (ValueError, TypeError):  # a class of C, or one that is made otherwise
        return {}


def test_k18_03_no_public_signature_takes_a_seed() -> None:
    seen = [(name, one) for module in modules() for name, function in callables(module) for one in parameters(function)]
    assert len(seen) > 1000
    assert not [(name, one) for name, one in seen if one.lower().strip("_") in SEEDING or "seed" in one.lower()]


def test_k18_03_what_the_packages_offer_takes_no_random_source() -> None:
    offered = [(name, getattr(package, name)) for package in (dp, vault) for name in package.__all__]
    taking = []
    for name, thing in offered:
        functions = [(name, thing)]
        if inspect.isclass(thing):
            functions += [(f"{name}.{m}", f) for m, f in vars(thing).items() if inspect.isfunction(f) and m[0] != "_"]
        taking += [(label, parameters(f)["random"]) for label, f in functions if "random" in parameters(f)]
    # A question's own release() is the deterministic core; it is handed the source and has none to fall back upon.
    assert {label.partition(".")[2] for label, _ in taking} <= {"release"}
    assert all(one.default is inspect.Parameter.empty and one.annotation is RandomSource for _, one in taking)


def test_k18_03_no_command_has_an_option_for_it() -> None:
    def options(command: object) -> Iterator[str]:
        for parameter in command.params:  # type: ignore[attr-defined]
            yield from parameter.opts
        for child in getattr(command, "commands", {}).values():
            yield from options(child)

    told = list(options(typer.main.get_command(app)))
    assert len(told) > 50
    assert not [option for option in told if any(word in option for word in ("seed", "rng", "random"))]


def test_k18_03_nothing_but_the_operating_system_gives_random_bits() -> None:
    sources = [
        name for module in modules() for name, thing in callables(module) if {"below", "bytes"} <= set(dir(thing))
    ]
    assert sources == ["dp.noise.random_source.RandomSource", "dp.noise.random_source.OperatingSystemRandom"]
    assert not parameters(OperatingSystemRandom)
    for path in sorted((ROOT / "dp").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert not {"random", "secrets", "numpy.random"} & set(names), path
            assert not (isinstance(node, ast.Attribute) and ast.unparse(node).startswith("np.random")), path
