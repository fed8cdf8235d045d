"""Images as people have them: odd ones are told, unusable ones refused, each in a sentence."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from harness.encoders.pictures import PictureError, changed, read_rgb, refusal


def told(path: Path) -> list[str]:
    return changed([(path.name, str(path), str(path))])


def test_a_plain_image_is_read_as_it_is(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "plain.png")
    assert (np.asarray(read_rgb(str(tmp_path / "plain.png"))) == pixels).all()
    assert told(tmp_path / "plain.png") == []


def test_16_bits_are_scaled_and_not_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "deep.png"
    Image.fromarray(np.array([[0, 257, 32_896, 65_535]], dtype=np.uint16)).save(path)
    assert np.asarray(read_rgb(str(path)))[0, :, 0].tolist() == [0, 1, 128, 255]
    assert told(path) == ["deep.png: 16 bits a pixel, scaled to 8."]


def test_16_bits_of_a_colour_are_told_although_pillow_cuts_them_itself(tmp_path: Path) -> None:
    path = png(tmp_path / "deep.png", (2, 1), b"\0" + struct.pack(">6H", 0, 32_896, 65_535, 257, 257, 257), bits=16)
    assert np.asarray(read_rgb(str(path))).tolist() == [[[0, 128, 255], [1, 1, 1]]]
    assert told(path) == ["deep.png: 16 bits a pixel, scaled to 8."]


def test_an_image_that_a_viewer_would_turn_is_read_as_it_lies_and_told(tmp_path: Path) -> None:
    path = tmp_path / "phone.jpg"
    image = Image.new("RGB", (8, 4))
    exif = image.getexif()
    for orientation, notes in ((1, 0), (6, 1)):
        exif[0x0112] = orientation
        image.save(path, exif=exif)
        assert read_rgb(str(path)).size == (8, 4)
        sentences = changed([(path.name, str(path), str(orientation))])
        assert len(sentences) == notes
    assert sentences[0].startswith("phone.jpg: an EXIF tag that turns it in a viewer and is not applied")


def test_of_several_frames_the_first_is_used(tmp_path: Path) -> None:
    path = tmp_path / "moving.gif"
    red, blue = Image.new("RGB", (4, 4), (255, 0, 0)), Image.new("RGB", (4, 4), (0, 0, 255))
    red.save(path, save_all=True, append_images=[blue], duration=100)
    assert np.asarray(read_rgb(str(path)))[0, 0].tolist() == [255, 0, 0]
    assert "moving.gif: several frames, of which the first is used." in told(path)


def test_a_torn_second_frame_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "torn.gif"
    noise = np.random.default_rng(0).integers(0, 256, (2, 24, 24, 3), dtype=np.uint8)
    first, second = (Image.fromarray(frame) for frame in noise)
    first.save(path)
    alone = path.stat().st_size
    first.save(path, save_all=True, append_images=[second], duration=100)
    whole = path.read_bytes()
    reasons = set()
    for length in range(alone, len(whole), 7):
        path.write_bytes(whole[:length])
        try:
            read_rgb(str(path))
        except PictureError as error:
            reasons.add(error.reason)
        else:
            changed([(path.name, str(path), str(length))])
    assert any(reason.startswith("is damaged") for reason in reasons)


def test_cmyk_becomes_rgb(tmp_path: Path) -> None:
    path = tmp_path / "print.tif"
    Image.new("CMYK", (4, 4), (0, 255, 255, 0)).save(path)
    assert np.asarray(read_rgb(str(path)))[0, 0].tolist() == [255, 0, 0]
    assert told(path) == ["print.tif: CMYK colours, turned into RGB without their colour profile."]


def test_transparency_is_told(tmp_path: Path) -> None:
    Image.new("RGBA", (4, 4), (255, 0, 0, 10)).save(tmp_path / "glass.png")
    assert told(tmp_path / "glass.png") == ["glass.png: transparency, which is dropped."]


def png(path: Path, size: tuple[int, int], data: bytes, *, bits: int = 8) -> Path:
    """A PNG in colour whose head promises this size, whatever its data hold."""
    chunks = {b"IHDR": struct.pack(">IIBBBBB", *size, bits, 2, 0, 0, 0), b"IDAT": zlib.compress(data)}
    parts = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks.items()
    ]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
    return path


@pytest.mark.parametrize("side", [10_000, 60_000])
def test_a_decompression_bomb_is_refused_before_it_unfolds(tmp_path: Path, side: int) -> None:
    with pytest.raises(PictureError, match=r"bomb\.png: (has 10000 × 10000|is larger than).* pixels"):
        read_rgb(str(png(tmp_path / "bomb.png", (side, side), b"\0" * 99)))


def test_a_strip_is_refused_that_a_resize_of_its_short_side_would_unfold(tmp_path: Path) -> None:
    path = tmp_path / "strip.png"
    Image.new("RGB", (100, 1)).save(path)
    assert read_rgb(str(path)).size == (100, 1)
    Image.new("RGB", (1, 101)).save(path)
    with pytest.raises(PictureError, match=r"strip\.png: has 1 × 101 pixels, one side more than 100 times the other"):
        read_rgb(str(path))


def test_empty_torn_and_foreign_files_are_refused(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("empty.png", "torn.jpg", "page.png")}
    files["empty.png"].touch()
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8))
    noise.save(files["torn.jpg"])
    files["torn.jpg"].write_bytes(files["torn.jpg"].read_bytes()[:900])
    files["page.png"].write_text("<html>not found</html>")
    for name, reason in (("empty", r"is empty \(zero bytes\)"), ("torn", "is damaged"), ("page", "is not an image")):
        path = next(path for path in files.values() if path.stem == name)
        with pytest.raises(PictureError, match=rf"{path.name}: {reason}"):
            read_rgb(str(path))
    assert str(refusal([str(path) for path in files.values()])).startswith("3 images cannot be used: ")
    assert "more" not in str(refusal([str(files["empty.png"])]))


def test_what_would_start_another_program_is_not_decoded_under_any_name(tmp_path: Path) -> None:
    path = tmp_path / "drawing.png"
    path.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 50 50\n%%EndComments\nshowpage\n")
    with Image.open(path) as image:
        assert image.format == "EPS"  # pillow itself would hand it to Ghostscript
    with pytest.raises(
        PictureError, match=r"drawing\.png: is not an image of a kind that is read \(BMP, GIF, JPEG, PNG"
    ):
        read_rgb(str(path))


def test_floating_point_pixels_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "heat.tif"
    Image.fromarray(np.ones((3, 3), dtype=np.float32)).save(path)
    with pytest.raises(PictureError, match="holds floating-point numbers; save it with 8 bits"):
        read_rgb(str(path))
