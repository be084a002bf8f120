# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Direct element access for Array and List, whose layout is part of the ABI."""


cdef extern from "tvm/ffi/c_api.h" nogil:
    ctypedef struct TVMFFISeqCell:
        void* data
        int64_t size

    TVMFFISeqCell* TVMFFISeqGetCellPtr(void*)

cdef extern from *:
    """
    /// Index as a C number; one too large for that becomes the largest or smallest. -1 with an error
    /// pending if it is no index.
    static inline Py_ssize_t tvm_ffi_py_index(PyObject* index) {
      if (PyLong_CheckExact(index)) {
        int overflow = 0;
        const long long value = PyLong_AsLongLongAndOverflow(index, &overflow);
        if (overflow == 0) return static_cast<Py_ssize_t>(value);
      }
      return PyNumber_AsSsize_t(index, nullptr);
    }
    """
    Py_ssize_t _clipped_index "tvm_ffi_py_index"(object)


cdef class _SequenceState(_ContainerState):
    """Element access of Array and List."""

    def __len__(self):
        return TVMFFISeqGetCellPtr(_handle_of(self)).size

    def __bool__(self):
        return TVMFFISeqGetCellPtr(_handle_of(self)).size != 0

    def __getitem__(self, index):
        cdef TVMFFISeqCell* cell
        cdef Py_ssize_t wanted
        cdef Py_ssize_t position
        if isinstance(index, slice):
            return _seq_slice(self, index)
        wanted = _clipped_index(index)
        if wanted == -1 and PyErr_Occurred() != NULL:
            _raise_no_index(index)
        cell = TVMFFISeqGetCellPtr(_handle_of(self))
        position = wanted + cell.size if wanted < 0 else wanted
        if position < 0 or position >= cell.size:
            raise IndexError(f"Index out of range. size: {cell.size}, got index {index}")
        return ViewToPython(&(<TVMFFIAny*>cell.data)[position], self.api)

    def __iter__(self):
        cdef _SequenceIterator iterator = _SequenceIterator.__new__(_SequenceIterator)
        iterator.handle = _handle_of(self)
        iterator.api = self.api
        TVMFFIObjectIncRef(iterator.handle)
        return iterator


cdef class _SequenceIterator:
    """Iterator over Array and List; a list that changes meanwhile behaves like Python's."""

    cdef void* handle  # NULL at the end
    cdef const DLPackExchangeAPI* api
    cdef Py_ssize_t index

    def __cinit__(self):
        self.handle = NULL
        self.index = 0

    def __dealloc__(self):
        if self.handle != NULL:
            TVMFFIObjectDecRef(self.handle)

    def __iter__(self):
        return self

    def __next__(self):
        cdef TVMFFISeqCell* cell
        cdef void* handle = self.handle
        cdef Py_ssize_t index = self.index
        if handle != NULL:
            cell = TVMFFISeqGetCellPtr(handle)
            if index < cell.size:
                self.index = index + 1
                return ViewToPython(&(<TVMFFIAny*>cell.data)[index], self.api)
            self.handle = NULL
            TVMFFIObjectDecRef(handle)
        raise StopIteration

    def __length_hint__(self):
        return 0 if self.handle == NULL \
            else max(0, TVMFFISeqGetCellPtr(self.handle).size - self.index)


cdef int _raise_no_index(object index) except -1:
    PyErr_Clear()
    if hasattr(type(index), "__index__"):
        _index(index)  # fails in its own way
    raise TypeError(f"indices must be integers or slices, not {type(index).__name__}")


cdef list _seq_slice(_ContainerState seq, object wanted):
    """List of the elements of a slice."""
    cdef list out = []
    cdef Py_ssize_t i, start, stop, step
    cdef Py_ssize_t bound = TVMFFISeqGetCellPtr(_handle_of(seq)).size + 1
    cdef TVMFFISeqCell* cell
    start, stop, wide_step = wanted.indices(bound - 1)
    step = max(-bound, min(wide_step, bound))  # may not fit; a larger one takes the same element
    for i in range(start, stop, step):
        cell = TVMFFISeqGetCellPtr(_handle_of(seq))
        if i < 0 or i >= cell.size:
            break  # the list shrank meanwhile
        out.append(ViewToPython(&(<TVMFFIAny*>cell.data)[i], seq.api))
    return out


# --- maps ------------------------------------------------------------------------------------

cdef extern from "py_map.h" namespace "tvm_ffi_py" nogil:
    cdef cppclass MapCursor:
        MapCursor()
        MapCursor(void*)
        bint Done()
        bint Valid()
        const TVMFFIAny* Key()
        const TVMFFIAny* Value()
        void Next()

    int64_t MapSize(void*)

cdef extern from "py_map.h" namespace "tvm_ffi_py":
    int FindKey(void*, PyObject*, const TVMFFIAny**) except -1


cdef class _MappingState(_ContainerState):
    """Entry access of Map and Dict."""

    def __len__(self):
        return MapSize(_handle_of(self))

    def __bool__(self):
        return MapSize(_handle_of(self)) != 0

    def __contains__(self, key):
        cdef const TVMFFIAny* value = NULL
        return FindKey(_handle_of(self), <PyObject*>key, &value) != 0

    def __getitem__(self, key):
        cdef const TVMFFIAny* value = NULL
        if FindKey(_handle_of(self), <PyObject*>key, &value) == 0:
            raise KeyError(key)
        return ViewToPython(value, self.api)

    def get(self, key, default=None):
        """Value of `key`, or `default`."""
        cdef const TVMFFIAny* value = NULL
        if FindKey(_handle_of(self), <PyObject*>key, &value) == 0:
            return default
        return ViewToPython(value, self.api)

    def __iter__(self):
        return _iterate_map(self, 0)

    def _iterate(self, int what):
        """Iterate over keys (0), values (1) or pairs (2)."""
        return _iterate_map(self, what)


cdef _MappingIterator _iterate_map(_ContainerState mapping, int what):
    cdef _MappingIterator iterator = _MappingIterator.__new__(_MappingIterator)
    iterator.handle = _handle_of(mapping)
    TVMFFIObjectIncRef(iterator.handle)
    iterator.api = mapping.api
    iterator.what = what
    iterator.cursor = MapCursor(iterator.handle)
    return iterator


cdef class _MappingIterator:
    """Iterator over the entries of a Map or Dict; entries that come or go meanwhile are an error."""

    cdef void* handle  # NULL at the end
    cdef const DLPackExchangeAPI* api
    cdef MapCursor cursor
    cdef int what
    cdef bint started

    def __dealloc__(self):
        if self.handle != NULL:
            TVMFFIObjectDecRef(self.handle)

    def __iter__(self):
        return self

    def __next__(self):
        cdef void* handle = self.handle
        if handle == NULL:
            raise StopIteration
        if not self.cursor.Valid():
            raise RuntimeError("dictionary changed size during iteration")
        if self.started:
            self.cursor.Next()
        self.started = True
        if self.cursor.Done():
            self.handle = NULL
            TVMFFIObjectDecRef(handle)
            raise StopIteration
        if self.what == 0:
            return ViewToPython(self.cursor.Key(), self.api)
        if self.what == 1:
            return ViewToPython(self.cursor.Value(), self.api)
        return (ViewToPython(self.cursor.Key(), self.api),
                ViewToPython(self.cursor.Value(), self.api))


def _plan_container(cls, int kind, function):
    """Build `cls` from a list or tuple (kind 1) or dict (kind 2) without a detour over Python."""
    AddPlan(cls, kind, cls.__dict__["__init__"], function, NULL, NULL)



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
        out.append((ViewToPython(&frame.args[i], NULL), ViewToPython(&frame.args[i + 1], NULL)))
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
