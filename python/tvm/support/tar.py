# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Archives of object files."""

from __future__ import annotations

import os
import tarfile
import zlib


def tar(output, files) -> None:
    """Make an archive of files under their own names.

    Raises:
        ValueError: Two files have the same name.
    """
    names: dict[str, str] = {}
    for path in [files] if isinstance(files, str) else files:
        name = os.path.basename(path)
        if name in names:
            raise ValueError(f"duplicate file name {name}")
        names[name] = path
    with tarfile.open(output, "w") as archive:
        for name, path in names.items():
            archive.add(path, arcname=name)


tar.output_format = "tar"  # type: ignore[attr-defined]


def untar(tar_file, directory) -> None:
    """Unpack an archive; nothing is written outside the folder.

    Raises:
        ValueError: It is no archive, is cut short, or has a member that is no plain file or folder
            below `directory`.
    """
    os.makedirs(directory, exist_ok=True)
    root = os.path.realpath(directory)
    try:
        with tarfile.open(tar_file) as archive:
            for member in archive.getmembers():
                path = os.path.realpath(os.path.join(root, member.name))
                inside = path == root or path.startswith(root + os.sep)
                if not inside or not (member.isfile() or member.isdir()):
                    raise ValueError(f"{tar_file}: refusing member {member.name!r}")
            archive.extractall(directory)
    except (tarfile.TarError, EOFError, zlib.error) as err:
        reason = (str(err).splitlines() or ["damaged"])[0].rstrip(":")
        raise ValueError(f"{tar_file}: expected a tar archive: {reason}") from None


def normalize_file_list_by_unpacking_tars(temp, file_list) -> list[str]:
    """Files of a list, with archives replaced by what they hold.

    Args:
        temp: TempDirectory to unpack into.
        file_list: The files. What ends in ``.tar`` has to be an archive.
    """
    out = []
    for index, path in enumerate(file_list):
        if not str(path).endswith(".tar") and not tarfile.is_tarfile(path):
            out.append(path)
            continue
        folder = temp.relpath(f"tar{index}")
        untar(path, folder)
        for base, _, names in os.walk(folder):
            out.extend(os.path.join(base, name) for name in sorted(names))
    return out
