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


# --- maps ------------------------------------------------------------------------------------

cdef extern from "py_map.h" namespace "tvm_ffi_py" nogil:
    cdef cppclass MapCursor:
        MapCursor(void*)
        bint Done()
        const TVMFFIAny* Key()
        const TVMFFIAny* Value()
        void Next()

    int64_t MapSize(void*)


cdef int _map_snapshot(CObject mapping, CallFrame* frame) except -1:
    """Own all keys and values of a Map or Dict, alternating, so that no later change matters."""
    cdef void* handle = _handle_of(mapping)
    cdef int64_t n = 2 * MapSize(handle)
    cdef MapCursor* cursor
    cdef int32_t i = 0
    if not frame.Reserve(n):
        raise MemoryError
    cursor = new MapCursor(handle)
    while not cursor.Done() and i < n:
        frame.args[i] = cursor.Key()[0]
        frame.args[i + 1] = cursor.Value()[0]
        _keep_argument(frame, i)
        _keep_argument(frame, i + 1)
        i += 2
        cursor.Next()
    del cursor
    return 0


cdef inline void _keep_argument(CallFrame* frame, int32_t i) noexcept:
    """Let the frame hold a reference to argument `i`."""
    frame.owned[i] = NULL
    if frame.args[i].type_index >= kTVMFFIStaticObjectBegin:
        TVMFFIObjectIncRef(frame.args[i].v_ptr)
        frame.owned[i] = frame.args[i].v_ptr
    frame.size = i + 1


cdef list _map_pairs(CObject mapping):
    """List of (key, value) of a Map or Dict."""
    cdef CallFrame frame
    cdef list out = []
    cdef int32_t i
    _map_snapshot(mapping, &frame)
    for i in range(0, frame.size, 2):
        out.append((_view_to_python(&frame.args[i], NULL),
                    _view_to_python(&frame.args[i + 1], NULL)))
    return out


cdef bint _map_has_bits(void* handle, CallFrame* frame) noexcept:
    """The entries of a map are exactly the packed keys and values, in order."""
    cdef MapCursor* cursor = new MapCursor(handle)
    cdef int32_t i = 0
    cdef bint same = 2 * MapSize(handle) == frame.size
    while same and not cursor.Done():
        same = _same_bits(cursor.Key(), &frame.args[i]) \
            and _same_bits(cursor.Value(), &frame.args[i + 1])
        i += 2
        cursor.Next()
    del cursor
    return same
