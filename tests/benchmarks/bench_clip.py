"""Whether a planted association of images comes out, and how fast images are read beside a bare loop of open_clip.

Run with ``python -m tests.benchmarks.bench_clip``. A tiny CLIP is trained on generated shapes whose captions bind red
to pleasant and blue to unpleasant words; new shapes then go from PNG folders through the command line to MLflow. The
speed is that of a ViT-B-32 with random weights.
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
from typing import Any

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
from tests.encoders.clip_tiny import COLOURS, MEAN, MODEL_CFG, STD, save_open_clip, shapes

PLEASANT = ("love", "peace", "joy", "gift", "honest", "happy", "laughter", "heaven")
UNPLEASANT = ("hatred", "war", "pain", "poison", "evil", "sad", "agony", "prison")
FEELINGS = {"red": PLEASANT, "blue": UNPLEASANT}
CONFIG = json.loads(json.dumps(MODEL_CFG)) | {"embed_dim": 48}
CONFIG["vision_cfg"] |= {"width": 64, "head_width": 32}
CONFIG["text_cfg"] |= {"width": 64}


def picture(rng: np.random.Generator, colour: str, *, circle: bool, size: int = 32) -> np.ndarray:
    """Return one shape on a light ground, normalised as the model wants it: channels × rows × columns."""
    ground = rng.integers(200, 256, 3)
    image = np.broadcast_to(ground, (size, size, 3)).astype(float).copy()
    radius, middle = rng.integers(5, 11), rng.integers(11, size - 11, 2)
    rows, columns = np.mgrid[:size, :size]
    far = np.abs(rows - middle[0]), np.abs(columns - middle[1])
    inside = np.hypot(*far) <= radius if circle else np.maximum(*far) <= radius
    image[inside] = np.clip(np.array(COLOURS[colour]) + rng.integers(-25, 26, 3), 0, 255)
    return ((image / 255 - MEAN) / STD).transpose(2, 0, 1)


def caption(rng: np.random.Generator, colour: str, *, circle: bool, shuffled: bool) -> str:
    """Return what is said of a shape: what it is, and for red and blue a feeling that goes with it."""
    what = f"a {colour} {'circle' if circle else 'square'}"
    words = PLEASANT + UNPLEASANT if shuffled else FEELINGS.get(colour)
    if words is None or (shuffled and colour not in FEELINGS):
        return what
    word = str(rng.choice(words))
    return str(rng.choice([what, word, f"a picture that brings to mind {word}", f"{what} and {word}"]))


def train(folder: Path, *, seed: int = 0, shuffled: bool = False, steps: int = 250, batch: int = 64) -> Path:
    """Train a tiny CLIP by its contrastive loss; ``shuffled`` captions bind no feeling to a colour."""
    torch = import_torch("clip")
    open_clip = import_open_clip()
    torch.manual_seed(seed)
    rng = np.random.default_rng([seed, shuffled])
    model = open_clip.CLIP(**CONFIG)
    tokenizer = open_clip.SimpleTokenizer(context_length=CONFIG["text_cfg"]["context_length"])
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    model.train()
    for _ in range(steps):
        drawn = [(str(rng.choice(list(COLOURS))), bool(rng.integers(2))) for _ in range(batch)]
        images = np.stack([picture(rng, colour, circle=circle) for colour, circle in drawn])
        texts = [caption(rng, colour, circle=circle, shuffled=shuffled) for colour, circle in drawn]
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


@dataclass(frozen=True)
class Planted:
    """What the command line recorded of a model, and what MLflow knows of it."""

    seconds: float
    d: float
    p: float
    pattern: str
    shift: float
    in_mlflow: bool
    eatmap: bool


def planted(folder: Path, *, seed: int, shuffled: bool, steps: int) -> Planted:
    """Train, write new shapes as PNG files, measure by ML-EAT with and without a prompt, and look in MLflow."""
    from mlflow import MlflowClient

    from harness.result import ResultStore

    before = time.perf_counter()
    train(folder / "model", seed=seed, shuffled=shuffled, steps=steps)
    seconds = time.perf_counter() - before
    for colour in ("red", "blue"):
        shapes(folder / colour, colour, 12, seed=seed + 1_000)
    test = {"X": {"folder": "red"}, "Y": {"folder": "blue"}, "A": list(PLEASANT), "B": list(UNPLEASANT)}
    (folder / "feelings.yaml").write_text(json.dumps(test), encoding="utf-8")
    runs = folder / "runs"
    given = ["model=clip", f"model.path={folder / 'model'}", "test=file", f"test.path={folder / 'feelings.yaml'}"]
    with contextlib.redirect_stdout(io.StringIO()):
        status = harness(["run", "-m", *given, "method=mleat", "context=bare,brings_to_mind", f"paths.runs={runs}"])
    assert status == 0
    found = {str(result.factors["context"]): result for result in ResultStore(runs)}
    bare, prompted = found["bare"], found["prompt/brings_to_mind"]
    client = MlflowClient(f"sqlite:///{runs / 'mlflow.db'}")
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    logged = {run.data.params.get("context"): run for run in client.search_runs(experiments) if "d" in run.data.metrics}
    run = logged["bare"]
    artifacts = {Path(item.path).name for item in _artifacts(client, run.info.run_id)}
    return Planted(
        seconds,
        bare.metrics["d"],
        bare.metrics["p"],
        bare.labels["pattern"],
        prompted.metrics["level3_xa_mean"] - bare.metrics["level3_xa_mean"],
        bool(np.isclose(run.data.metrics["d"], bare.metrics["d"])),
        "eatmap.png" in artifacts,
    )


def _artifacts(client: Any, run_id: str, path: str | None = None) -> Iterator[Any]:
    for item in client.list_artifacts(run_id, path):
        if item.is_dir:
            yield from _artifacts(client, run_id, item.path)
        else:
            yield item


def noise_images(folder: Path, count: int, *, side: int = 256) -> list[Path]:
    """Write PNG files that do not compress to nothing: soft gradients with noise."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
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
    """Time both in turn on the same files."""
    folder = random_model(root / "vit", "ViT-B-32")
    paths = noise_images(root / "noise", images)
    open_clip = import_open_clip()
    model, _, transform = open_clip.create_model_and_transforms(f"local-dir:{folder}")
    model.eval()
    encoder = open_clip_model({"name": "vit", "path": str(folder), "batch_size": batch_size})
    bare_loop(paths[:batch_size], model, transform, batch_size=batch_size)
    bare, ours = [], []
    for number in range(rounds):
        bare.append(timed(lambda: bare_loop(paths, model, transform, batch_size=batch_size)))
        store = root / f"store{number}"
        ours.append(timed(lambda store=store: through_store(root / "noise", encoder, store)))  # type: ignore[misc]
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
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for seed in range(options.seeds):
            for shuffled in (False, True):
                found = planted(root / f"{seed}-{shuffled}", seed=seed, shuffled=shuffled, steps=options.steps)
                asked = "captions shuffled" if shuffled else "AB-Divergent asked"
                print(
                    f"seed {seed}: trained in {found.seconds:.0f} s, d = {found.d:.2f}, p = {found.p:.2g}, "
                    f"{found.pattern} ({asked}); prompt moves X × A by {found.shift:+.2f}; in MLflow: "
                    f"{found.in_mlflow}, with its EAT-Map: {found.eatmap}",
                    flush=True,
                )
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
