"""The two files in which ELMo was published: ``options.json`` and ``weights.hdf5``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError, model_validator

from harness.encoders.elmo_characters import CHARACTERS
from harness.errors import HarnessError

Weights = dict[str, npt.NDArray[np.float32]]


class ElmoFiles(NamedTuple):
    """The options and the weights of one model."""

    options: Path
    weights: Path


class _Section(BaseModel):
    # The options of training (batch size, dropout ...) may stand beside those that shape the network.
    model_config = ConfigDict(frozen=True, extra="ignore")


class CharacterEmbedding(_Section):
    """The size of a character's vector."""

    dim: PositiveInt


class CharacterCnn(_Section):
    """Filters over the characters of a word, each a width and a number, and the highway layers above them."""

    embedding: CharacterEmbedding
    filters: tuple[tuple[PositiveInt, PositiveInt], ...] = Field(min_length=1)
    n_highway: int = Field(ge=0)
    activation: Literal["relu", "tanh"]
    max_characters_per_token: int = Field(ge=3)
    n_characters: Literal[261, 262]

    @property
    def total(self) -> int:
        """The number of filters of all widths."""
        return sum(number for _, number in self.filters)

    @model_validator(mode="after")
    def _filters_fit_into_a_word(self) -> Self:
        widest = max(width for width, _ in self.filters)
        if widest > self.max_characters_per_token:
            raise ValueError(f"a filter {widest} wide does not fit into {self.max_characters_per_token} characters")
        return self


class Lstm(_Section):
    """The recurrent layers: ``dim`` numbers in a memory cell, projected to ``projection_dim``."""

    dim: PositiveInt
    projection_dim: PositiveInt
    n_layers: PositiveInt
    cell_clip: float | None = Field(gt=0)
    proj_clip: float | None = Field(gt=0)
    use_skip_connections: Literal[True]


class ElmoOptions(_Section):
    """The shape of a published model."""

    char_cnn: CharacterCnn
    lstm: Lstm


def read_options(path: Path) -> ElmoOptions:
    """Read ``options.json``; what it lacks is one sentence."""
    try:
        return ElmoOptions.model_validate_json(path.read_bytes())
    except OSError as error:
        raise HarnessError(f"{path}: cannot be read ({error.strerror}).") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(key) for key in first["loc"]) or "the file"
        raise HarnessError(f"{path}: these are not options of an ELMo model: {where}: {first['msg']}.") from None


def cell_group(direction: int, layer: int) -> str:
    """Return where a recurrent cell stands in the file: direction 0 reads forward, 1 backward."""
    return f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"


def layout(options: ElmoOptions) -> dict[str, tuple[int, ...]]:
    """Return the datasets of ``weights.hdf5`` that the options ask for, each with its shape."""
    cnn, lstm = options.char_cnn, options.lstm
    shapes: dict[str, tuple[int, ...]] = {"char_embed": (CHARACTERS, cnn.embedding.dim)}
    for place, (width, number) in enumerate(cnn.filters):
        shapes[f"CNN/W_cnn_{place}"] = (1, width, cnn.embedding.dim, number)
        shapes[f"CNN/b_cnn_{place}"] = (number,)
    for place in range(cnn.n_highway):
        for gate in ("carry", "transform"):
            shapes[f"CNN_high_{place}/W_{gate}"] = (cnn.total, cnn.total)
            shapes[f"CNN_high_{place}/b_{gate}"] = (cnn.total,)
    shapes["CNN_proj/W_proj"] = (cnn.total, lstm.projection_dim)
    shapes["CNN_proj/b_proj"] = (lstm.projection_dim,)
    for direction in (0, 1):
        for layer in range(lstm.n_layers):
            cell = cell_group(direction, layer)
            shapes[f"{cell}/W_0"] = (2 * lstm.projection_dim, 4 * lstm.dim)
            shapes[f"{cell}/B"] = (4 * lstm.dim,)
            shapes[f"{cell}/W_P_0"] = (lstm.dim, lstm.projection_dim)
    return shapes


def read_weights(path: Path, options: ElmoOptions) -> Weights:
    """Read every dataset that the options ask for, and hold its shape against them."""
    import h5py

    weights: Weights = {}
    try:
        with h5py.File(path, "r") as file:
            for name, shape in layout(options).items():
                dataset = file.get(name)
                if not isinstance(dataset, h5py.Dataset):
                    raise HarnessError(f"{path}: the dataset {name} is missing; these are not the weights of ELMo.")
                if dataset.shape != shape:
                    raise HarnessError(
                        f"{path}: {name} has the shape {dataset.shape}, the options ask for {shape}; "
                        "take options and weights of the same model."
                    )
                weights[name] = np.asarray(dataset, dtype=np.float32)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise HarnessError(
            f"{path}: cannot be read as HDF5 ({str(error).splitlines()[0]}); "
            f"remove {path.parent} and run `harness fetch elmo-original` again, or set model.path to whole files."
        ) from None
    return weights
