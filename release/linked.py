"""The crates that are linked into a package, for release/notices and release/sbom."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def crates(package: str, targets: list[str]) -> list[dict]:
    """Returns the crates of others that are linked into the package for any of the targets, sorted by name."""
    platforms = [f"--filter-platform={target}" for target in targets]
    metadata = json.loads(cargo("metadata", "--locked", "--format-version", "1", *platforms))
    every = {(p["name"], p["version"]): p for p in metadata["packages"]}
    tree = cargo("tree", "--locked", "--package", package, "--edges", "normal", "--prefix", "none",
                 "--format", "{p}", *(f"--target={target}" for target in targets))
    names = {tuple(line.split()[:2]) for line in tree.splitlines() if line.strip()}
    linked = [every[name, version.removeprefix("v")] for name, version in sorted(names)]
    return [crate for crate in linked if crate["source"]]


def cargo(*arguments: str) -> str:
    return subprocess.run(["cargo", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
