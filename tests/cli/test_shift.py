"""The command `shift` of images: folders and NPZ files, several copies, bad input, going on after a signal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import oodometer
from oodometer.cli import main
from oodometer.errors import UsageError
from oodometer_lab.shifts import IMAGE_SHIFTS, find_image_shift

from ..snapshots import assert_snapshot, raises_snapshot

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (12, 20, 24, 3), dtype=np.uint8)


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Twelve images in two folders, of several formats and two sizes."""
    home = tmp_path / "images"
    for row, pixels in enumerate(PIXELS):
        place = (
            home
            / ("cat" if row % 2 else "dog")
            / f"{row:02d}{('.png', '.bmp', '.webp', '.jpg')[row % 4]}"
        )
        place.parent.mkdir(parents=True, exist_ok=True)
        more: dict[str, Any] = {"lossless": True} if place.suffix == ".webp" else {}
        Image.fromarray(pixels[: 20 - 4 * (row % 3)]).save(place, **more)
    return home


@pytest.fixture
def arrays(tmp_path: Path) -> Path:
    place = tmp_path / "held.npz"
    np.savez(place, image=PIXELS, label=np.arange(12), names=np.array([f"n{i}" for i in range(12)]))
    return place


def read(path: Path) -> Any:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def ending(path: Path) -> Path:
    """The name under which an image of the source is written."""
    return path.with_suffix(".png") if path.suffix == ".jpg" else path


def run(*words: object) -> int:
    return main(["shift", *map(str, words)])


def test_a_folder(images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(images, "--kind", "fog", "--severity", 3, "--seed", 5, "--out", out) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "Shifted: 1 copy"
    assert " ".join(" ".join(said[1:]).split()) == f"12 images of {images} fog, severity 3: {out}"
    files = sorted(images.rglob("*.*"))
    written = [
        out / file.relative_to(images).with_suffix(".png" if file.suffix == ".jpg" else file.suffix)
        for file in files
    ]
    assert sorted(one for one in out.rglob("*") if one.is_file()) == sorted(
        [*written, out / "manifest.json"]
    )
    for row, (file, place) in enumerate(zip(files, written, strict=True)):
        expected = find_image_shift("fog").apply(read(file)[None], 3, seed=5, first_row=row)[0]
        np.testing.assert_array_equal(read(place), expected)
    told = json.loads((out / "manifest.json").read_text())
    assert (told["kind"], told["severity"], told["constants"], told["seed"]) == (
        "fog",
        3,
        [0.75, 2.5],
        5,
    )
    assert (told["rows"], told["skipped"], told["version"]) == (12, [], oodometer.__version__)
    assert told["argv"].split()[0] == "oodometer"  # in a worker of pytest nothing more was typed
    assert sorted(one.name for one in tmp_path.iterdir()) == ["images", "out"]


def test_images_are_read_a_few_at_a_time(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few are held at once, the copy is the same."""
    assert run(images, "--kind", "snow", "--severity", 2, "--out", tmp_path / "whole") == 0
    monkeypatch.setattr("oodometer_lab.verbs.shift.image._BYTES", 3000)
    assert run(images, "--kind", "snow", "--severity", 2, "--out", tmp_path / "parts") == 0
    for one in (tmp_path / "whole").rglob("*.???"):
        assert (
            one.read_bytes()
            == (tmp_path / "parts" / one.relative_to(tmp_path / "whole")).read_bytes()
        )


def test_an_npz_file(arrays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oodometer_lab.verbs.shift.image._VALUES", 5000)  # several parts
    out, told = tmp_path / "out.npz", tmp_path / "out.json"
    assert run(arrays, "--kind", "frost", "--severity", 4, "--out", out, "--json", told) == 0
    with np.load(out) as found:
        np.testing.assert_array_equal(found["image"], find_image_shift("frost").apply(PIXELS, 4))
        assert found["label"].tolist() == list(range(12))
        assert found["names"].tolist() == [f"n{i}" for i in range(12)]
    assert json.loads((tmp_path / "out.manifest.json").read_text())["array"] == "image"
    result = json.loads(told.read_text())
    assert result["copies"] == [
        {
            "kind": "frost",
            "severity": 4,
            "out": str(out),
            "manifest": str(tmp_path / "out.manifest.json"),
        }
    ]
    assert "photograph" in result["notes"][0]


@pytest.mark.parametrize("what", ["images", "arrays"])
def test_several_copies(what: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    data, out = request.getfixturevalue(what), tmp_path / "out"
    (out).mkdir()  # an empty folder will do
    assert run(data, "--kind", "all", "--severity", 1, "--severity", 5, "--out", out) == 0
    assert {one.name for one in out.iterdir()} == {
        f"{kind}-{severity}" for kind in IMAGE_SHIFTS for severity in (1, 5)
    }
    assert all((one / "manifest.json").is_file() for one in out.iterdir())
    if what == "arrays":
        with np.load(out / "contrast-5" / "held.npz") as found:
            np.testing.assert_array_equal(
                found["image"], find_image_shift("contrast").apply(PIXELS, 5)
            )


def test_grey_images_under_another_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "digits.npz", digits=PIXELS[..., 0], y=np.arange(12))
    assert (
        run(
            tmp_path / "digits.npz",
            "--kind",
            "fog",
            "--severity",
            1,
            "--out",
            tmp_path / "o.npz",
            "--input",
            "digits",
        )
        == 0
    )
    with np.load(tmp_path / "o.npz") as found:
        assert found["digits"].shape == (12, 20, 24)


def test_images_that_do_not_decode(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = sorted(images.rglob("*.*"))
    (images / "cat" / "00_broken.png").write_bytes(b"no image")
    cut = images / "dog" / "cut.png"
    cut.write_bytes((images / "dog" / "00.png").read_bytes()[:300])
    before = sorted(tmp_path.iterdir())
    words = (images, "--kind", "snow", "--severity", 2, "--out", tmp_path / "out")
    assert run(*words) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert_snapshot(said)
    assert sorted(tmp_path.iterdir()) == before  # nothing half-written
    assert run(*words, "--on-error", "skip") == 0
    assert_snapshot(capsys.readouterr().out)
    told = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [one["name"] for one in told["skipped"]] == ["cat/00_broken.png", "dog/cut.png"]
    assert told["rows"] == len(good)
    rows = sorted(images.rglob("*.*")).index(good[0])  # the rows of the others count those left out
    expected = find_image_shift("snow").apply(read(good[0])[None], 2, first_row=rows)[0]
    place = tmp_path / "out" / ending(good[0].relative_to(images))
    np.testing.assert_array_equal(read(place), expected)


def test_none_that_decodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(b"")
    assert (
        run(
            tmp_path / "images",
            "--kind",
            "fog",
            "--severity",
            1,
            "--out",
            tmp_path / "o",
            "--on-error",
            "skip",
        )
        == 2
    )
    assert_snapshot(capsys.readouterr().err)
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kind", "fogg", "--severity", "1"], "unknown shift 'fogg'; did you mean fog"),
        (["--kind", "fog", "--severity", "0"], "expected a severity from 1 to 5 of fog, got 0"),
        (["--kind", "fog", "--severity", "6"], "expected a severity from 1 to 5 of fog, got 6"),
        (["--kind", "fog", "--severity", "1", "--severity", "9"], "got 9"),
        (["--kind", "fog", "--severity", "x"], "severity"),
        (["--kind", "fog=9"], "expected a severity from 1 to 5 of fog, got 9"),
        (["--severity", "1"], "name one, such as --kind fog --severity 3"),
        (
            ["--kind", "fog", "--severity", "1", "--on-error", "stop"],
            "expected --on-error to be one of refuse, skip",
        ),
        (
            ["--kind", "fog", "--severity", "1", "--seed", "-3"],
            "expected --seed to be a whole number",
        ),
        (
            ["--kind", "fog", "--severity", "1", "--input", "image"],
            "input names an array of an NPZ file",
        ),
    ],
)
def test_wrong_usage(
    words: list[str], said: str, images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(images, "--out", tmp_path / "out", *words) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["images"]


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ({"y": np.arange(3)}, "expected an array of inputs, got y; name it with --input"),
        ({"x": np.zeros((3, 8, 8, 3))}, "column x: expected an array of uint8 images"),
        ({"image": np.zeros((3, 3, 8, 8), np.uint8)}, r"uint8 of shape (3, 3, 8, 8)"),
        ({"image": np.zeros((0, 8, 8, 3), np.uint8)}, "(0, 8, 8, 3)"),
        ({"image": np.array([None, 1])}, "expected an NPZ file of plain arrays"),
    ],
)
def test_an_npz_without_images(
    held: Any, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "a.npz", **held)
    for words in (
        ["--out", str(tmp_path / "o.npz")],
        ["--out", str(tmp_path / "o"), "--severity", "2"],
    ):
        assert run(tmp_path / "a.npz", "--kind", "fog", "--severity", 1, *words) == 2
        assert said in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["a.npz"]


def test_places(
    images: Path, arrays: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fog = ("--kind", "fog", "--severity", 1, "--out")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "table.csv").write_text("a\n1\n")
    for data, out, said in (
        (images, tmp_path / "full", "it is there already and not empty"),
        (arrays, tmp_path / "table.csv", "it is there already and not empty"),
        (arrays, tmp_path / "out", "end the name in .npz"),
        (images, images / "out", "lies in the folder"),
        (images, images, "would write over the input"),
        (images, tmp_path / "no" / "out", "there is no folder"),
        (
            tmp_path / "nowhere",
            tmp_path / "out",
            "expected a folder of images or an NPZ file, got no such file",
        ),
        (tmp_path / "table.csv", tmp_path / "out", "got a file that ends in .csv"),
        (tmp_path / "full", tmp_path / "out", "expected a folder of images, got none in it"),
    ):
        assert run(data, *fog, out) == 2
        assert said in capsys.readouterr().err
        assert not (tmp_path / "out").exists()
    assert (tmp_path / "full" / "mine.txt").read_text() == "mine"


def test_the_verb_writes_nothing_among_what_it_reads(images: Path) -> None:
    with raises_snapshot(UsageError):
        oodometer.shift(images, kind="fog", severity=1, out=images / "out")


def test_the_verb_takes_one_or_several(arrays: Path, tmp_path: Path) -> None:
    one = oodometer.shift(arrays, kind="fog", severity=2, out=tmp_path / "one.npz", seed=1)
    several = oodometer.shift(
        arrays, kind=["fog", "snow"], severity=range(2, 4), out=tmp_path / "several", seed=1
    )
    assert one.rows == several.rows == 12
    assert [(c.kind, c.severity) for c in several.copies] == [
        ("fog", 2),
        ("fog", 3),
        ("snow", 2),
        ("snow", 3),
    ]
    with np.load(several.copies[0].out) as a, np.load(one.copies[0].out) as b:
        np.testing.assert_array_equal(a["image"], b["image"])
    assert_snapshot(str(one))
    assert oodometer.load_result(one.save(tmp_path / "one.json")).view() == one.view()
    with raises_snapshot(UsageError):
        one.to_frame(library="pyarrow")
    with raises_snapshot(UsageError):
        oodometer.shift(arrays, kind=[], severity=2, out=tmp_path / "none")


def test_a_kind_has_its_own_severities_those_of_all_or_those_of_its_paper(
    arrays: Path, tmp_path: Path
) -> None:
    mixed = oodometer.shift(
        arrays, kind=["fog=1,4", "snow"], severity=2, out=tmp_path / "mixed", seed=1
    )
    assert [(c.kind, c.severity) for c in mixed.copies] == [("fog", 1), ("fog", 4), ("snow", 2)]
    usual = oodometer.shift(arrays, kind="fog", out=tmp_path / "usual", seed=1)
    assert [c.severity for c in usual.copies] == [1, 2, 3, 4, 5]
    with np.load(usual.copies[3].out) as a, np.load(mixed.copies[1].out) as b:
        np.testing.assert_array_equal(a["image"], b["image"])
    with pytest.raises(UsageError, match="severity"):
        oodometer.shift(arrays, kind="fog=9", out=tmp_path / "none.npz")


@pytest.mark.skipif(os.name != "posix", reason="signals as on posix")
def test_an_interrupted_command_goes_on(images: Path, tmp_path: Path) -> None:
    """A killed one: tests/verbs/test_runs_of_commands.py."""
    words = [
        "shift",
        str(images),
        "--kind",
        "fog",
        "--kind",
        "contrast",
        "--severity",
        "2",
        "--out",
    ]
    assert main([*words, str(tmp_path / "whole")]) == 0
    out, part = tmp_path / "out", tmp_path / ".out.part"
    slow = (  # each image takes a while, so that the end comes in the middle
        "import sys, time; from oodometer_lab.verbs.shift import image; write = image._write\n"
        "image._write = lambda *a: (time.sleep(0.1), write(*a)); image._BYTES = 2000\n"
        "from oodometer.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    going = subprocess.Popen(
        [sys.executable, "-c", slow, *words, str(out)], stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 60
    while len(list(part.glob("fog-2/*/[0-9]*"))) < 4 and time.monotonic() < until:
        time.sleep(0.02)
    going.send_signal(signal.SIGINT)
    assert "what is finished is kept" in going.communicate(timeout=60)[1]
    assert going.returncode == 130
    assert not out.exists()
    done = {one: one.stat().st_mtime_ns for one in part.glob("*/*/[0-9]*")}
    assert 4 <= len(done) < 24
    assert main([*words, str(out)]) == 0
    assert not part.exists()
    for one, when in done.items():
        assert (out / one.relative_to(part)).stat().st_mtime_ns == when  # not made again
    for one in (tmp_path / "whole").rglob("*"):
        other = out / one.relative_to(tmp_path / "whole")
        if one.name != "manifest.json" and one.is_file():
            assert one.read_bytes() == other.read_bytes()
    assert len(list(out.rglob("*"))) == len(list((tmp_path / "whole").rglob("*")))


def test_what_another_job_left_is_made_anew(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    monkeypatch.setattr("oodometer_lab.verbs.shift.image._BYTES", 2000)
    seen: list[int] = []

    def stop(done: int, total: int) -> None:
        seen.append(done)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        oodometer.shift(images, kind="fog", severity=1, out=out, progress=stop)
    assert (tmp_path / ".out.part").is_dir()
    oodometer.shift(images, kind="snow", severity=1, out=out)
    expected = find_image_shift("snow").apply(read(images / "cat" / "01.bmp")[None], 1)[0]
    np.testing.assert_array_equal(read(out / "cat" / "01.bmp"), expected)
