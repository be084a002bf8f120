# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Whether reflection accounts for every byte of a type, so that its layout can be reproduced."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .. import core

OBJECT_HEADER_SIZE = 24
OBJECT_HEADER_ALIGNMENT = 8


@dataclass
class Verdict:
    """Outcome for one type, with the bytes it rests on."""

    type_key: str
    parent: str | None
    ancestors: list[str]
    total_size: int | None
    is_final: bool | None
    verdict: str = "opaque"
    reason: str | None = None
    detail: str = ""
    own_bytes: list[int] | None = None
    fields: list[dict[str, Any]] = field(default_factory=list)
    uncovered: list[list[int]] = field(default_factory=list)
    padding: list[list[int]] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """The layout can be reproduced."""
        return self.verdict == "complete"

    def refuse(self, reason: str, detail: str) -> Verdict:
        """Mark as opaque."""
        self.verdict, self.reason, self.detail = "opaque", reason, detail
        return self

    def to_json_obj(self) -> dict[str, Any]:
        """Entry of the report."""
        names = (
            "verdict",
            "reason",
            "detail",
            "parent",
            "ancestors",
            "total_size",
            "is_final",
            "own_bytes",
            "fields",
            "uncovered",
            "padding",
        )
        return {name: getattr(self, name) for name in names}


def align_up(value: int, alignment: int) -> int:
    """Next multiple of `alignment`."""
    return (value + alignment - 1) // alignment * alignment


def classify(type_keys: list[str]) -> dict[str, Verdict]:
    """Verdicts of registered types and, as far as needed, of their ancestors."""
    out: dict[str, Verdict] = {}
    for key in type_keys:
        index = core._object_type_key_to_index(key)
        if index is not None and "." in key:  # plain values have names without a dot
            _verdict(core._type_index_to_type_info(index), out)
    return {key: out[key] for key in type_keys if key in out}


def _verdict(info: Any, known: dict[str, Verdict]) -> Verdict:
    if info.type_key in known:
        return known[info.type_key]
    parent_info = info.parent_type_info
    parent = None if parent_info is None else _verdict(parent_info, known)
    size = info.total_size or None
    made = Verdict(
        info.type_key,
        None if parent is None else parent.type_key,
        [core._type_index_to_type_info(i).type_key for i in info.type_ancestors],
        size,
        None
        if size is None
        else core._lookup_type_attr(info.type_index, "__ffi_type_final__") is True,
    )
    known[info.type_key] = made
    return _decide(info, parent, made)


def _decide(info: Any, parent: Verdict | None, out: Verdict) -> Verdict:
    if parent is None and info.type_key == "ffi.Object":
        out.own_bytes, out.is_final = [OBJECT_HEADER_SIZE, OBJECT_HEADER_SIZE], None
        out.verdict = "complete"
        out.detail = f"object header [0, {OBJECT_HEADER_SIZE}): owned by the C ABI"
        return out
    if out.total_size is None:
        return out.refuse("layout-unknown", "no metadata of its own: total_size is unknown")
    if parent is not None and not parent.is_complete:
        return out.refuse(
            "parent-opaque", f"parent {parent.type_key!r} is opaque ({parent.reason})"
        )
    # A complete parent has a size.
    start = OBJECT_HEADER_SIZE if parent is None else parent.total_size or OBJECT_HEADER_SIZE
    out.own_bytes = [start, out.total_size]
    out.fields = [
        {"name": f.name, "offset": f.offset, "size": f.size, "alignment": f.alignment}
        for f in sorted(info.fields or (), key=lambda f: f.offset)
    ]
    return _fill(out, start, out.total_size)


def _fill(out: Verdict, start: int, total: int) -> Verdict:
    """Lay the fields out one after the other and look for what they leave over."""
    cursor, alignment = start, OBJECT_HEADER_ALIGNMENT
    for item in out.fields:
        end = item["offset"] + item["size"]
        alignment = max(alignment, item["alignment"])
        if item["offset"] < cursor:
            return out.refuse(
                "field-overlap",
                f"field {item['name']!r} at [{item['offset']}, {end}) starts before byte {cursor}",
            )
        _gap(out, cursor, item["offset"], align_up(cursor, item["alignment"]))
        cursor = end
    _gap(out, cursor, total, align_up(cursor, alignment))
    if out.uncovered:
        listed = ", ".join(f"[{a}, {b})" for a, b in out.uncovered)
        return out.refuse(
            "uncovered-bytes",
            f"bytes {listed} of [{start}, {total}) are not accounted for by reflected fields",
        )
    out.verdict = "complete"
    out.detail = f"reflected fields fill [{start}, {total}) exactly"
    if out.padding:
        listed = ", ".join(f"[{a}, {b})" for a, b in out.padding)
        out.detail += f" (alignment padding {listed})"
    return out


def _gap(out: Verdict, cursor: int, actual: int, expected: int) -> None:
    """Sort the bytes before the next field into padding and unknown ones."""
    if actual == cursor:
        return
    (out.padding if actual == expected else out.uncovered).append([cursor, actual])
