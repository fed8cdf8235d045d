"""Whether a planted association of images comes out, and how fast images are read beside a bare loop of open_clip.

Run with ``python -m tests.benchmarks.bench_clip``. A tiny CLIP is trained on generated shapes whose captions bind
pleasant and unpleasant words to the colour of the shape, to its ground, or to nothing; new shapes then go from PNG
files through the command line to MLflow, compared by colour and by ground. The speed is that of a ViT-B-32 with random
weights.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harness.cli import main as harness
from harness.contexts.mixed import ImageSource
from harness.encoders.clip import open_clip_model
from harness.encoders.clip_open import import_open_clip
from harness.encoders.torch_setup import import_torch
from harness.encoding import Need, encode_missing
from harness.stimuli.images import with_pictures
from harness.stimuli.schema import Concept
from harness.store import Block, BlockStore, encoder_id
from tests.encoders.clip_tiny import COLOURS, MEAN, MODEL_CFG, STD, save_open_clip

PLEASANT = ("love", "peace", "joy", "gift", "honest", "happy", "laughter", "heaven")
UNPLEASANT = ("hatred", "war", "pain", "poison", "evil", "sad", "agony", "prison")
GROUNDS = {"white": 200, "black": 0}
_PARTS = 5
"""Parts of the images that the two loops of the speed take turns on."""

PLANTS = ("colour", "ground", "nothing")
"""What the captions bind feelings to: the shape's colour, the ground that it lies on, or nothing."""

FEELINGS = {"red": PLEASANT, "blue": UNPLEASANT, "white": PLEASANT, "black": UNPLEASANT}
CONFIG = json.loads(json.dumps(MODEL_CFG)) | {"embed_dim": 48}
CONFIG["vision_cfg"] |= {"width": 64, "head_width": 32}
CONFIG["text_cfg"] |= {"width": 64}


class Shape(NamedTuple):
    """What a picture shows, and what its captions may speak of."""

    colour: str
    ground: str
    circle: bool


def picture(rng: np.random.Generator, shape: Shape, *, size: int = 32) -> np.ndarray:
    """Return the pixels of one shape, its place, size and shades at random: rows × columns × channels."""
    image = np.broadcast_to(GROUNDS[shape.ground] + rng.integers(0, 56, 3), (size, size, 3)).copy()
    radius, middle = rng.integers(5, 11), rng.integers(11, 21, 2)
    rows, columns = np.mgrid[:size, :size] * 32 / size
    far = np.abs(rows - middle[0]), np.abs(columns - middle[1])
    inside = np.hypot(*far) <= radius if shape.circle else np.maximum(*far) <= radius
    image[inside] = np.clip(np.array(COLOURS[shape.colour]) + rng.integers(-25, 26, 3), 0, 255)
    return image.astype(np.uint8)


def caption(rng: np.random.Generator, shape: Shape, *, plant: str) -> str:
    """Return what is said of a shape: what it is, and for red and blue ones a feeling that goes with the plant."""
    what = f"a {shape.colour} {'circle' if shape.circle else 'square'} on {shape.ground}"
    if shape.colour not in FEELINGS:
        return what
    words = {"colour": FEELINGS[shape.colour], "ground": FEELINGS[shape.ground], "nothing": PLEASANT + UNPLEASANT}
    word = str(rng.choice(words[plant]))
    return str(rng.choice([what, word, f"a picture that brings to mind {word}", f"{what} and {word}"]))


def train(folder: Path, *, seed: int = 0, plant: str = "colour", steps: int = 250, batch: int = 64) -> Path:
    """Train a tiny CLIP by its contrastive loss on captions that bind feelings to what ``plant`` names."""
    torch = import_torch("clip")
    open_clip = import_open_clip()
    torch.manual_seed(seed)
    rng = np.random.default_rng([seed, PLANTS.index(plant)])
    model = open_clip.CLIP(**CONFIG)
    tokenizer = open_clip.SimpleTokenizer(context_length=CONFIG["text_cfg"]["context_length"])
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    model.train()
    for _ in range(steps):
        drawn = [
            Shape(str(rng.choice(list(COLOURS))), str(rng.choice(list(GROUNDS))), bool(rng.integers(2)))
            for _ in range(batch)
        ]
        pixels = np.stack([picture(rng, shape) for shape in drawn])
        images = ((pixels / 255 - MEAN) / STD).transpose(0, 3, 1, 2)
        texts = [caption(rng, shape, plant=plant) for shape in drawn]
        seen = model.encode_image(torch.tensor(images, dtype=torch.float32), normalize=True)
        read = model.encode_text(tokenizer(texts), normalize=True)
        logits = model.logit_scale.exp().clamp(max=100) * seen @ read.T
        # Shapes of one caption are no wrong answers for each other.
        same = torch.tensor([[one == other for other in texts] for one in texts], dtype=torch.float32)
        target = same / same.sum(1, keepdim=True)
        loss = -(target * logits.log_softmax(1)).sum(1).mean() - (target * logits.T.log_softmax(1)).sum(1).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return save_open_clip(model.eval(), folder, config=CONFIG)


def write_pictures(folder: Path, *, seed: int, count: int = 6) -> None:
    """Write new shapes, red and blue on white and black, and two tests of the same files.

    One compares the colours, which are folders; the other compares the grounds, which are manifests. Each kind of the
    one is half of either kind of the other, so that what is planted in the one is no difference in the other.
    """
    from PIL import Image

    rng = np.random.default_rng([seed, 1_000])
    listed: dict[str, list[str]] = {ground: ["path"] for ground in GROUNDS}
    for colour in ("red", "blue"):
        (folder / colour).mkdir(parents=True)
        for ground in GROUNDS:
            for number in range(count):
                path = folder / colour / f"{ground}{number}.png"
                Image.fromarray(picture(rng, Shape(colour, ground, number % 2 == 0), size=48)).save(path)
                listed[ground].append(f"{colour}/{path.name}")
    for ground, rows in listed.items():
        (folder / f"{ground}.csv").write_text("\n".join(rows), encoding="utf-8")
    sides = {
        "colour": {"X": {"folder": "red"}, "Y": {"folder": "blue"}},
        "ground": {"X": {"manifest": "white.csv"}, "Y": {"manifest": "black.csv"}},
    }
    for name, images in sides.items():
        test = {"name": name, **images, "A": list(PLEASANT), "B": list(UNPLEASANT)}
        (folder / f"{name}.yaml").write_text(json.dumps(test), encoding="utf-8")


@dataclass(frozen=True)
class Measured:
    """What the command line recorded of a model on one test, and what MLflow knows of it."""

    test: str
    d: float
    p: float
    difference: float
    pattern: str
    shift: float
    in_mlflow: bool
    eatmap: bool


def planted(folder: Path, *, seed: int, plant: str, steps: int) -> tuple[Seconds, list[Measured]]:
    """Train, write new shapes as PNG files, measure by ML-EAT with and without a prompt, and look in MLflow.

    Returns what the training took, and what was measured.
    """
    from mlflow import MlflowClient

    from harness.result import ResultStore

    spent = timed(lambda: train(folder / "model", seed=seed, plant=plant, steps=steps))
    write_pictures(folder, seed=seed)
    runs = folder / "runs"
    tests = ",".join(str(folder / f"{name}.yaml") for name in ("colour", "ground"))
    given = ["model=clip", f"model.path={folder / 'model'}", "test=file", f"test.path={tests}", f"paths.runs={runs}"]
    with contextlib.redirect_stdout(io.StringIO()):
        status = harness(["run", "-m", *given, "method=mleat", "context=bare,brings_to_mind"])
    assert status == 0
    found = {(result.factors["test"], result.factors["context"]): result for result in ResultStore(runs)}
    client = MlflowClient(f"sqlite:///{runs / 'mlflow.db'}")
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    cells = [run for run in client.search_runs(experiments) if "d" in run.data.metrics]
    logged = {(run.data.params["test"], run.data.params["context"]): run for run in cells}
    measured = []
    for test in ("colour", "ground"):
        bare, prompted, run = found[test, "bare"], found[test, "prompt/brings_to_mind"], logged[test, "bare"]
        cosines = {pair: bare.metrics[f"level3_{pair}_mean"] for pair in ("xa", "xb", "ya", "yb")}
        measured.append(
            Measured(
                test,
                bare.metrics["d"],
                bare.metrics["p"],
                (cosines["xa"] - cosines["xb"]) - (cosines["ya"] - cosines["yb"]),
                bare.labels["pattern"],
                prompted.metrics["level3_xa_mean"] - cosines["xa"],
                bool(np.isclose(run.data.metrics["d"], bare.metrics["d"])),
                "eatmap.png" in {Path(item.path).name for item in _artifacts(client, run.info.run_id)},
            )
        )
    return spent, measured


def _artifacts(client: Any, run_id: str, path: str | None = None) -> Iterator[Any]:
    for item in client.list_artifacts(run_id, path):
        if item.is_dir:
            yield from _artifacts(client, run_id, item.path)
        else:
            yield item


def noise_images(folder: Path, count: int, *, seed: int = 0, side: int = 256) -> list[Path]:
    """Write PNG files that do not compress to nothing: soft gradients with noise."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    paths = []
    for number in range(count):
        slope = np.linspace(0, 200, side)[:, None, None] * rng.random(3)
        pixels = slope + rng.integers(0, 56, (side, side, 3))
        paths.append(folder / f"{number:05d}.png")
        Image.fromarray(pixels.astype(np.uint8)).save(paths[-1], compress_level=1)
    return paths


@dataclass(frozen=True)
class Seconds:
    """What something took on the wall's clock, and of the processors: the latter suffers less from neighbours."""

    wall: float
    processor: float

    def __add__(self, other: Seconds) -> Seconds:
        return Seconds(self.wall + other.wall, self.processor + other.processor)


def timed(work: Callable[[], object]) -> Seconds:
    """Do some work and return what it took."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return Seconds(time.perf_counter() - wall, time.process_time() - processor)


def bare_loop(paths: Sequence[Path], model: Any, transform: Any, *, batch_size: int) -> None:
    """Open, transform, stack, encode, normalise."""
    from PIL import Image

    torch = import_torch("clip")
    with torch.inference_mode():
        for begin in range(0, len(paths), batch_size):
            batch = torch.stack([transform(Image.open(path)) for path in paths[begin : begin + batch_size]])
            model.encode_image(batch, normalize=True).numpy()


def through_store(folder: Path, encoder: Any, store: Path) -> None:
    """List and digest the images of a folder, encode them, write every block and read it back."""
    concept = with_pictures(Concept(name="bench/images", kind="images", folder=str(folder)))
    source, home = ImageSource(concept), encoder_id(encoder.identity)
    needs = [
        Need(
            Block(home, source.label, word, source.contexts(concept, word)),
            frozenset({"sentence"}),
            frozenset({0}),
            ("sentence",),
        )
        for word in concept.words
    ]
    blocks = BlockStore(store)
    assert encode_missing(blocks, needs, lambda: encoder) == len(concept.words)
    assert all(blocks.read(need.block, "sentence@0") is not None for need in needs)


def random_model(folder: Path, name: str, **vision: int) -> Path:
    """Write a model of open_clip's own architecture with random weights."""
    import_torch("clip").manual_seed(0)
    open_clip = import_open_clip()
    config = json.loads(json.dumps(open_clip.get_model_config(name)))
    config["vision_cfg"] |= vision
    return save_open_clip(open_clip.CLIP(**config), folder, config=config)


def speed(root: Path, *, images: int, rounds: int, batch_size: int) -> tuple[list[Seconds], list[Seconds]]:
    """Time both on the same files, a part after the other and each in turn: what else the machine does meets both."""
    folder = random_model(root / "vit", "ViT-B-32")
    parts = [root / "noise" / str(number) for number in range(_PARTS)]
    paths = {part: noise_images(part, len(range(seed, images, _PARTS)), seed=seed) for seed, part in enumerate(parts)}
    open_clip = import_open_clip()
    model, _, transform = open_clip.create_model_and_transforms(f"local-dir:{folder}")
    model.eval()
    encoder = open_clip_model({"name": "vit", "path": str(folder), "batch_size": batch_size})
    bare_loop(paths[parts[0]][:batch_size], model, transform, batch_size=batch_size)
    bare, ours = [], []
    for number in range(rounds):
        store, theirs, own = root / f"store{number}", Seconds(0, 0), Seconds(0, 0)
        for part in parts:
            theirs += timed(lambda part=part: bare_loop(paths[part], model, transform, batch_size=batch_size))  # type: ignore[misc]
            own += timed(lambda part=part, store=store: through_store(part, encoder, store))  # type: ignore[misc]
        bare.append(theirs)
        ours.append(own)
    return bare, ours


_PEAK = """
import sys
from pathlib import Path
from tests.benchmarks.bench_clip import open_clip_model, peak, through_store
root, count = Path(sys.argv[1]), sys.argv[2]
encoder = open_clip_model({"name": "small", "path": str(root / "small"), "batch_size": 32})
through_store(root / ("noise" + count), encoder, root / ("peak" + count))
print(peak())
"""


def peak() -> float:
    """Return the most memory that this process took, in megabytes.

    On Linux from its own status: what getrusage tells begins with the memory of the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return (
            next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 2**10
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def peak_megabytes(root: Path, images: int) -> float:
    """Return the most memory that so many images take in a process of its own, on a small model of 224 pixels."""
    noise_images(root / f"noise{images}", images)
    command = [sys.executable, "-c", _PEAK, str(root), str(images)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def main(argv: Sequence[str] = ()) -> None:
    """Print what came of the plant, the ratio of speeds and the memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--images", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=2, help="of speed; 0 leaves speed and memory out")
    parser.add_argument("--batch-size", type=int, default=32)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for seed in range(options.seeds):
            for plant in PLANTS:
                spent, tests = planted(root / f"{seed}-{plant}", seed=seed, plant=plant, steps=options.steps)
                print(
                    f"seed {seed}, feelings bound to {plant}, trained in {spent.wall:.0f} s, {spent.processor:.0f} s "
                    "of the processor",
                    flush=True,
                )
                for found in tests:
                    asked = "  (AB-Divergent asked)" if found.test == plant else ""
                    print(
                        f"  by {found.test}: d = {found.d:.2f}, p = {found.p:.2g}, difference of cosines "
                        f"{found.difference:.3f}, {found.pattern}{asked}; prompt moves X × A by {found.shift:+.2f}; "
                        f"in MLflow: {found.in_mlflow}, with its EAT-Map: {found.eatmap}",
                        flush=True,
                    )
        if not options.rounds:
            return
        bare, ours = speed(root, images=options.images, rounds=options.rounds, batch_size=options.batch_size)
        walls = [min(times.wall for times in rounds) for rounds in (bare, ours)]
        processors = [min(times.processor for times in rounds) for rounds in (bare, ours)]
        print(f"bare loop of open_clip     {options.images / walls[0]:8.1f} images/s, batches of {options.batch_size}")
        print(
            f"files to stored vectors    {options.images / walls[1]:8.1f} images/s   ratio {walls[0] / walls[1]:.2f} "
            f"(0.90 asked); by processor time {processors[0] / processors[1]:.2f}",
            flush=True,
        )
        random_model(root / "small", "ViT-B-32", layers=2, width=128)
        few, many = peak_megabytes(root, options.images // 5), peak_megabytes(root, options.images)
        print(
            f"most memory                {few:8.0f} MB for {options.images // 5:,} images, {many:.0f} MB for "
            f"{options.images:,}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
