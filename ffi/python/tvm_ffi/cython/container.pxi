# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Direct element access for Array and List, whose layout is part of the ABI."""


cdef extern from "tvm/ffi/c_api.h" nogil:
    ctypedef struct TVMFFISeqCell:
        void* data
        int64_t size

    TVMFFISeqCell* TVMFFISeqGetCellPtr(void*)


def _seq_size(_ContainerState seq):
    """Number of elements."""
    return TVMFFISeqGetCellPtr(_handle_of(seq)).size


def _seq_item(_ContainerState seq, Py_ssize_t index):
    """Element at `index`; negative counts from the back."""
    cdef TVMFFISeqCell* cell = TVMFFISeqGetCellPtr(_handle_of(seq))
    cdef Py_ssize_t position = index + cell.size if index < 0 else index
    if position < 0 or position >= cell.size:
        raise IndexError(f"Index out of range. size: {cell.size}, got index {index}")
    return _view_to_python(&(<TVMFFIAny*>cell.data)[position], seq.api)


def _seq_slice(_ContainerState seq, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step):
    """List of the elements of a normalised slice."""
    cdef list out = []
    cdef Py_ssize_t i
    cdef TVMFFISeqCell* cell
    for i in range(start, stop, step):
        cell = TVMFFISeqGetCellPtr(_handle_of(seq))
        if i < 0 or i >= cell.size:
            break  # the list shrank meanwhile
        out.append(_view_to_python(&(<TVMFFIAny*>cell.data)[i], seq.api))
    return out
