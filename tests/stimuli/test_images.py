"""Image concepts: folders and manifests, what is missing by name, what is the same by content."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from PIL import Image

from harness import stimuli
from harness.errors import HarnessError
from harness.stimuli import AssociationTest, Concept, load_test
from harness.stimuli.images import copies, holds_images, same_images, shared_images, with_images, with_pictures
from harness.stimuli.validate import validate


def paint(path: Path, shade: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (6, 6), (shade, 0, 0)).save(path)
    return path


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    for number in (1, 2, 10):
        paint(tmp_path / "red" / f"{number}.png", 200 + number)
        paint(tmp_path / "blue" / f"{number}.PNG", number)
    (tmp_path / "red" / "notes.txt").write_text("no image")
    (tmp_path / "red" / ".hidden.png").write_text("no image")
    return tmp_path


def written(tmp_path: Path, x: str, y: str = "{folder: blue}") -> Path:
    path = tmp_path / "own.yaml"
    path.write_text(f"X: {x}\nY: {y}\nA: [red, rose]\nB: [blue, sea]\n")
    return path


def found(path: Path, root: Path | None = None) -> AssociationTest:
    test = with_images(load_test(path), root)
    assert isinstance(test, AssociationTest)
    return test


def test_a_folder_beside_the_test_gives_its_images_in_the_order_people_count(folders: Path) -> None:
    test = found(written(folders, "{folder: red}"))
    assert test.X.words == ("red/1.png", "red/2.png", "red/10.png")
    assert test.X.name == "own/red"
    assert [Path(picture.path).name for picture in test.Y.pictures] == ["1.PNG", "2.PNG", "10.PNG"]
    assert test.X.pictures[0].sha256 == hashlib.sha256((folders / "red" / "1.png").read_bytes()).hexdigest()
    assert holds_images(test)
    assert not holds_images(load_test("c1"))


def test_an_absolute_folder_needs_no_root(folders: Path) -> None:
    assert len(found(written(folders, f"{{folder: {folders / 'red'}}}")).X.words) == 3
    assert len(with_pictures(Concept(name="red", kind="images", folder=str(folders / "red"))).words) == 3


def test_folders_of_one_name_stay_apart(folders: Path) -> None:
    paint(folders / "other" / "red" / "1.png", 7)
    test = load_test(written(folders, "{folder: red}", "{folder: other/red}"))
    assert isinstance(test, AssociationTest)
    assert test.X.name != test.Y.name


def test_paths_images_comes_before_the_folder_of_the_test(folders: Path, tmp_path: Path) -> None:
    paint(tmp_path / "root" / "red" / "7.png", 1)
    assert found(written(folders, "{folder: red}"), tmp_path / "root").X.words == ("red/7.png",)


def test_harness_images_names_a_root_too(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = folders / "elsewhere"
    elsewhere.mkdir()
    path = written(elsewhere, "{folder: red}")
    with pytest.raises(HarnessError, match="the folder red, the folder blue"):
        found(path)
    monkeypatch.setenv("HARNESS_IMAGES", str(folders))
    assert len(found(path).X.words) == 3


def manifest(folders: Path, *rows: str) -> Path:
    (folders / "red.csv").write_text("\n".join(["path,label,licence,sha256", *rows]) + "\n")
    return written(folders, "{manifest: red.csv, folder: red}")


def test_a_manifest_gives_labels_licences_and_checks_digests(folders: Path) -> None:
    digest = hashlib.sha256((folders / "red" / "1.png").read_bytes()).hexdigest()
    test = found(manifest(folders, f"1.png,brick,CC0,{digest}", "2.png,rose,CC-BY,", "10.png,rose,,"))
    assert test.X.words == ("brick", "rose (red/2.png)", "rose (red/10.png)")
    assert [picture.licence for picture in test.X.pictures] == ["CC0", "CC-BY", ""]
    with pytest.raises(HarnessError, match=rf"1\.png: its sha256 is {digest}, and its manifest says 0000"):
        found(manifest(folders, f"1.png,,,{'0' * 64}"))


def test_missing_images_of_a_manifest_are_listed_by_name(folders: Path) -> None:
    with pytest.raises(HarnessError, match=r"needs images that are not here: \S+red/3\.png, \S+red/4\.png; paths"):
        found(manifest(folders, "1.png,,,", "3.png,,,", "4.png,,,"))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (["1.png,,,", "1.png,,,"], r"lists 1\.png more than once"),
        ([",rose,,"], "row 2: has no path"),
        ([], "a manifest has the columns path, label, licence, sha256"),
    ],
)
def test_a_wrong_manifest_gets_one_sentence(folders: Path, rows: list[str], sentence: str) -> None:
    with pytest.raises(HarnessError, match=sentence):
        found(manifest(folders, *rows))


def test_a_folder_without_images_and_an_empty_file_get_one_sentence(folders: Path) -> None:
    (folders / "none").mkdir()
    with pytest.raises(HarnessError, match="none holds no image"):
        found(written(folders, "{folder: none}"))
    (folders / "red" / "3.png").touch()
    with pytest.raises(HarnessError, match=r"red/3\.png: is empty \(zero bytes\)"):
        found(written(folders, "{folder: red}"))


def test_no_image_of_a_folder_is_left_out_in_silence(folders: Path) -> None:
    (folders / "red" / "3.png").symlink_to(folders / "gone.png")
    with pytest.raises(HarnessError, match=r"needs images that are not here: \S+red/3\.png; paths"):
        found(written(folders, "{folder: red}"))
    (folders / "blue" / "phone.HEIC").write_bytes(b"x")
    with pytest.raises(HarnessError, match=r"blue holds images of other kinds \(phone\.HEIC\): save them as PNG"):
        found(written(folders, "{folder: blue}"))


def test_the_same_image_is_found_by_content(folders: Path) -> None:
    (folders / "red" / "20.png").write_bytes((folders / "red" / "2.png").read_bytes())
    (folders / "blue" / "30.png").write_bytes((folders / "red" / "1.png").read_bytes())
    test = found(written(folders, "{folder: red}"))
    assert copies(test.X) == [["red/2.png", "red/20.png"]]
    assert shared_images(test.X, test.Y) == ["red/1.png"]
    assert same_images({"X": test.X, "Y": test.Y, "A": test.Y}) == [
        "The same image under several names (X): red/2.png, red/20.png.",
        "The same image in X and A: red/1.png.",
        "The same image in Y and A: blue/1.PNG, blue/2.PNG, blue/10.PNG, blue/30.png.",
    ]


def test_images_need_a_place_and_words_none(folders: Path) -> None:
    with pytest.raises(HarnessError, match="images need a folder, or a manifest"):
        load_test(written(folders, "{kind: images, words: [a, b]}"))
    with pytest.raises(HarnessError, match="folder belongs to images"):
        load_test(written(folders, "{kind: words, words: [a, b], folder: red}"))


def test_the_eleven_published_tests_name_their_folders_and_where_they_come_from() -> None:
    names = [name for name in stimuli.test_names() if name.startswith("w-clip-")]
    folders: set[str] = set()
    for name in names:
        test = load_test(name)
        assert isinstance(test, AssociationTest)
        folders |= {test.X.folder, test.Y.folder}
        with pytest.raises(HarnessError, match=rf"{test.X.folder}, the folder {test.Y.folder}; `harness fetch ieat-i"):
            with_images(test)
    assert len(names) == 11
    assert len(folders) == 22


def test_validate_reads_image_concepts(folders: Path) -> None:
    checked, problems = validate(written(folders, "{folder: red, source: {paper: own, place: here}, licence: CC0}"))
    assert checked == 1
    assert [problem for problem in problems if problem.level == "error"] == []
