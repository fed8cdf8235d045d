"""ELMo's forward pass in torch: characters to words, and a bidirectional language model over the words.

Peters et al. 2018, Deep contextualized word representations; the network as its authors published it. Two conventions
of the weights are TensorFlow's: the gates of a cell come in the order input, candidate, forget, output, and 1 is added
to the forget gate's bias when it is used. The state begins at zero in every text. AllenNLP carries the last states of a
batch into the next one; there a vector depends on what was encoded before it, here it does not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from harness.encoders.elmo_weights import ElmoOptions, Weights, cell_group

_WORDS_AT_ONCE = 256
"""Words that go through the filters together: the widest layer takes 180 kB a word."""


class _Highway(NamedTuple):
    carry: torch.Tensor
    carry_bias: torch.Tensor
    transform: torch.Tensor
    transform_bias: torch.Tensor


class _Cell(NamedTuple):
    from_input: torch.Tensor
    from_state: torch.Tensor
    bias: torch.Tensor
    projection: torch.Tensor


class ElmoNetwork:
    """The weights on a device, and the forward pass."""

    def __init__(self, options: ElmoOptions, weights: Weights, *, device: str) -> None:
        self._options = options
        self._device = torch.device(device)
        tensors = {name: torch.from_numpy(array).to(self._device) for name, array in weights.items()}
        cnn, lstm = options.char_cnn, options.lstm
        nothing = torch.zeros(1, cnn.embedding.dim, device=self._device)
        self._characters = torch.cat([nothing, tensors["char_embed"]])
        self._filters = [
            # (1, width, in, out) as published; torch wants (out, in, width)
            (tensors[f"CNN/W_cnn_{place}"][0].permute(2, 1, 0).contiguous(), tensors[f"CNN/b_cnn_{place}"])
            for place in range(len(cnn.filters))
        ]
        self._highways = [
            _Highway(*(tensors[f"CNN_high_{place}/{part}_{gate}"] for gate in ("carry", "transform") for part in "Wb"))
            for place in range(cnn.n_highway)
        ]
        self._projection = (tensors["CNN_proj/W_proj"], tensors["CNN_proj/b_proj"])
        self._directions = [
            [_cell(tensors, cell_group(direction, layer), lstm.dim) for layer in range(lstm.n_layers)]
            for direction in (0, 1)
        ]

    def forward(
        self, table: npt.NDArray[np.int64], places: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float32]:
        """Return every layer of every token, shape (layers + 1, texts, tokens, 2 * projection).

        Parameters
        ----------
        table
            Character ids of the distinct words, one row a word.
        places
            For each text, the row of each of its tokens; shorter texts are filled up at their end.
        lengths
            How many tokens of each text are real. The numbers of the others mean nothing.

        Notes
        -----
        Layer 0 is the word from its characters alone, once for each direction. Layer k > 1 has the layer below added
        to it: the skip connection. Forward and backward meet only when they are put side by side.
        """
        with torch.inference_mode():
            words = self._words(torch.from_numpy(table).to(self._device))
            inputs = words[torch.from_numpy(places).to(self._device)]
            turned = _turned(torch.from_numpy(lengths).to(self._device), inputs.shape[1])
            forward = self._stack(inputs, self._directions[0])
            backward = [
                _reordered(layer, turned) for layer in self._stack(_reordered(inputs, turned), self._directions[1])
            ]
            layers = [torch.cat(pair, dim=-1) for pair in zip(forward, backward, strict=True)]
            result: npt.NDArray[np.float32] = torch.stack(layers).cpu().numpy()
            return result

    def _words(self, table: torch.Tensor) -> torch.Tensor:
        activation = torch.relu if self._options.char_cnn.activation == "relu" else torch.tanh
        rows = []
        for part in table.split(_WORDS_AT_ONCE):
            characters = self._characters[part].transpose(1, 2)
            found = [
                activation(torch.nn.functional.conv1d(characters, weight, bias).amax(dim=-1))
                for weight, bias in self._filters
            ]
            rows.append(torch.cat(found, dim=-1))
        words = torch.cat(rows)
        for layer in self._highways:
            gate = torch.sigmoid(words @ layer.carry + layer.carry_bias)
            # The published name is misleading: an open "carry" gate lets the transformed vector through.
            words = gate * torch.relu(words @ layer.transform + layer.transform_bias) + (1 - gate) * words
        weight, bias = self._projection
        return words @ weight + bias

    def _stack(self, inputs: torch.Tensor, cells: list[_Cell]) -> list[torch.Tensor]:
        layers = [inputs]
        for depth, cell in enumerate(cells):
            output = self._recur(layers[-1], cell)
            layers.append(output + layers[-1] if depth > 0 else output)
        return layers

    def _recur(self, inputs: torch.Tensor, cell: _Cell) -> torch.Tensor:
        lstm = self._options.lstm
        driven = inputs @ cell.from_input + cell.bias
        state = inputs.new_zeros(len(inputs), lstm.projection_dim)
        memory = inputs.new_zeros(len(inputs), lstm.dim)
        outputs = []
        for step in range(inputs.shape[1]):
            enter, candidate, forget, leave = (driven[:, step] + state @ cell.from_state).chunk(4, dim=-1)
            memory = torch.sigmoid(forget) * memory + torch.sigmoid(enter) * torch.tanh(candidate)
            memory = _clipped(memory, lstm.cell_clip)
            state = _clipped((torch.sigmoid(leave) * torch.tanh(memory)) @ cell.projection, lstm.proj_clip)
            outputs.append(state)
        return torch.stack(outputs, dim=1)


def _cell(tensors: dict[str, torch.Tensor], group: str, dim: int) -> _Cell:
    from_input, from_state = tensors[f"{group}/W_0"].chunk(2)
    bias = tensors[f"{group}/B"].clone()
    bias[2 * dim : 3 * dim] += 1
    return _Cell(from_input, from_state, bias, tensors[f"{group}/W_P_0"])


def _clipped(values: torch.Tensor, bound: float | None) -> torch.Tensor:
    return values if bound is None else values.clamp(-bound, bound)


def _turned(lengths: torch.Tensor, steps: int) -> torch.Tensor:
    """Return the order that turns each text round in its own length and leaves the padding behind it."""
    places = torch.arange(steps, device=lengths.device).expand(len(lengths), steps)
    last = lengths[:, None] - 1
    return torch.where(places <= last, last - places, places)


def _reordered(values: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    return values.gather(1, order[:, :, None].expand_as(values))
