# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Reads the outline of a serialized ONNX model without parsing it.

Source of the format: protobuf's encoding guide and onnx.proto (field numbers below). Every method
raises ValueError, with a position, for bytes that are no such message.
"""

from __future__ import annotations

_GRAPH, _INITIALIZER = 7, 5  # of ModelProto, of GraphProto
_NODE, _ATTRIBUTE, _SUBGRAPHS = 1, 5, (6, 11)  # of GraphProto, NodeProto, AttributeProto
_RAW_DATA, _DATA_LOCATION = 9, 14  # of TensorProto
_LENGTH_DELIMITED = 2
_FIXED = {1: 8, 5: 4}


class OnnxBytes:
    """The fields of a serialized ``ModelProto``.

    Args:
        data: The whole file.
    """

    def __init__(self, data: memoryview) -> None:
        self.data = data

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        value = shift = 0
        while at < end and shift < 64:
            byte = self.data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, at
            shift += 7
        raise ValueError(f"damaged number at byte {at}")

    def _fields(self, at: int, end: int):
        """``(number, wire type, start of the field, start of its value, end)`` of each field."""
        while at < end:
            start = at
            key, at = self._varint(at, end)
            kind = key & 7
            if kind == _LENGTH_DELIMITED:
                size, at = self._varint(at, end)
                value, at = at, at + size
            elif kind == 0:
                value = at
                _, at = self._varint(at, end)
            elif kind in _FIXED:
                value, at = at, at + _FIXED[kind]
            else:
                raise ValueError(f"wire type {kind} at byte {start}")
            if at > end:
                raise ValueError(f"a field at byte {start} ends past its message")
            yield key >> 3, kind, start, value, at

    def _message(self, number: int, body: list) -> list:
        """A field that holds the message made of the pieces `body`."""
        size = sum(len(piece) for piece in body)
        return [_encode(number << 3 | _LENGTH_DELIMITED) + _encode(size), *body]

    def _tensor(self, start: int, end: int, min_bytes: int) -> tuple[list, tuple[int, int] | None]:
        pieces, place = [], None
        for number, kind, at, value, stop in self._fields(start, end):
            if number == _RAW_DATA and kind == _LENGTH_DELIMITED and stop - value >= min_bytes:
                place = (value, stop - value)
            else:
                pieces.append(self.data[at:stop])
        return pieces, place

    def _graph(self, start: int, end: int, min_bytes: int, places: dict) -> list:
        pieces, index = [], 0
        for number, kind, at, value, stop in self._fields(start, end):
            if number != _INITIALIZER or kind != _LENGTH_DELIMITED:
                pieces.append(self.data[at:stop])
                continue
            if stop - value >= min_bytes:
                tensor, place = self._tensor(value, stop, min_bytes)
                if place is not None:
                    places[index] = place
                    pieces += self._message(_INITIALIZER, tensor)
                    index += 1
                    continue
            pieces.append(self.data[at:stop])
            index += 1
        return pieces

    def without_weights(self, min_bytes: int) -> tuple[bytes, dict[int, tuple[int, int]]]:
        """The model without the raw bytes of large initializers.

        Args:
            min_bytes: What counts as large.

        Returns:
            A serialized model, and position of an initializer -> (offset, bytes) in the file.
        """
        pieces, graphs = [], 0
        places: dict[int, tuple[int, int]] = {}
        for number, kind, at, value, stop in self._fields(0, len(self.data)):
            if number == _GRAPH and kind == _LENGTH_DELIMITED:
                graphs += 1
                pieces += self._message(_GRAPH, self._graph(value, stop, min_bytes, places))
            else:
                pieces.append(self.data[at:stop])
        if graphs > 1:  # a parser would merge them, and their initializers count on
            raise ValueError("the model has several graphs")
        return b"".join(pieces), places

    def has_external_data(self) -> bool:
        """Whether an initializer lies in a file of its own."""
        for number, kind, _, value, stop in self._fields(0, len(self.data)):
            if number != _GRAPH or kind != _LENGTH_DELIMITED:
                continue
            for number, kind, _, begin, end in self._fields(value, stop):
                if number != _INITIALIZER or kind != _LENGTH_DELIMITED:
                    continue
                for field, _, _, at, _ in self._fields(begin, end):
                    if field == _DATA_LOCATION and self._varint(at, end)[0] != 0:
                        return True
        return False

    def _messages(self, numbers: tuple[int, ...], start: int, end: int):
        """``(begin, end)`` of the fields with these numbers that hold messages."""
        for number, kind, _, begin, stop in self._fields(start, end):
            if number in numbers and kind == _LENGTH_DELIMITED:
                yield begin, stop

    def count_nodes(self) -> int:
        """Number of nodes, those of the graphs inside attributes included."""
        count, graphs = 0, list(self._messages((_GRAPH,), 0, len(self.data)))
        while graphs:
            for node in self._messages((_NODE,), *graphs.pop()):
                count += 1
                for attribute in self._messages((_ATTRIBUTE,), *node):
                    graphs.extend(self._messages(_SUBGRAPHS, *attribute))
        return count


def _encode(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
