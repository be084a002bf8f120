# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Errors in both directions.

A Python exception that leaves a callback travels inside its ffi.Error and comes back as the same
object; an error born in C++ becomes an exception of the class registered for its kind. Either way
the native frames are spliced into the traceback as synthetic frames.
"""

ERROR_NAME_TO_TYPE = {}
ERROR_TYPE_TO_NAME = {}

cdef int _MAX_TRACEBACK_FRAMES = 512


def _register_error_kind(name, cls):
    cdef Py_ssize_t size = 0
    cdef const char* text
    name = str(name)
    ERROR_NAME_TO_TYPE[name] = cls
    ERROR_TYPE_TO_NAME[cls] = name
    text = PyUnicode_AsUTF8AndSize(name, &size)
    RememberErrorClass(text, size, <PyObject*>cls)


for _cls in (RuntimeError, ValueError, TypeError, AttributeError, KeyError, IndexError,
             AssertionError, MemoryError):
    _register_error_kind(_cls.__name__, _cls)


cdef str _require_text(value, str what):
    if not isinstance(value, str):
        raise TypeError(f"{what} of an Error must be a str, got {type(value).__name__}")
    return str(value)


cdef void* _copy_error(void* handle) except NULL:
    """New error of the same content that carries no exception."""
    cdef TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(handle)
    cdef void* out = NULL
    _check(TVMFFIErrorCreateWithCauseAndExtraContext(
        &cell.kind, &cell.message, &cell.backtrace, cell.cause_chain, cell.extra_context, &out))
    return out


cdef class Error(CObject):
    """Error value: kind, message and backtrace.

    Args:
        kind: Name of the error class, e.g. ``"ValueError"``.
        message: Text without the kind.
        backtrace: Frames, most recent call first.
    """

    def __init__(self, kind, message, backtrace=""):
        cdef str kind_text = _require_text(kind, "kind")
        cdef str message_text = _require_text(message, "message")
        cdef str backtrace_text = _require_text(backtrace, "backtrace")
        cdef TVMFFIByteArray kind_bytes = _byte_array(kind_text)
        cdef TVMFFIByteArray message_bytes = _byte_array(message_text)
        cdef TVMFFIByteArray backtrace_bytes = _byte_array(backtrace_text)
        cdef void* out = NULL
        _check(TVMFFIErrorCreate(&kind_bytes, &message_bytes, &backtrace_bytes, &out))
        _reset_handle(self, out)

    def __reduce__(self):
        return (Error, (self.kind, self.message, self.backtrace))

    def __copy__(self):
        cdef Error out = Error.__new__(Error)
        out.chandle = _copy_error(_handle_of(self))
        return out

    def __deepcopy__(self, memo):
        return self.__copy__()

    @property
    def kind(self):
        """Name of the error class."""
        return _text(&TVMFFIErrorGetCellPtr(_handle_of(self)).kind)

    @property
    def message(self):
        """Text without the kind."""
        return _text(&TVMFFIErrorGetCellPtr(_handle_of(self)).message)

    @property
    def backtrace(self):
        """Frames, most recent call first."""
        return _text(&TVMFFIErrorGetCellPtr(_handle_of(self)).backtrace)

    @property
    def extra_context(self):
        """Object that a visitor attached to the error, or None."""
        cdef void* extra = TVMFFIErrorGetCellPtr(_handle_of(self)).extra_context
        return None if extra == NULL else _borrowed_to_python(extra)

    @property
    def cause_chain(self):
        """Error that led to this one, or None."""
        cdef void* cause = TVMFFIErrorGetCellPtr(_handle_of(self)).cause_chain
        return None if cause == NULL else _borrowed_to_python(cause)

    def update_backtrace(self, backtrace):
        """Replace the backtrace."""
        cdef str text = _require_text(backtrace, "backtrace")
        cdef TVMFFIByteArray bytes = _byte_array(text)
        cdef void* handle = _handle_of(self)
        _update_backtrace(handle, &bytes)

    def py_error(self):
        """Exception for this error: the original one if it was born in Python."""
        return _to_exception(_handle_of(self))


cdef extern from *:
    """
    static inline void tvm_ffi_py_replace_backtrace(void* handle, const TVMFFIByteArray* text) {
      TVMFFIErrorGetCellPtr(handle)->update_backtrace(handle, text,
                                                      kTVMFFIBacktraceUpdateModeReplace);
    }
    """
    void _update_backtrace "tvm_ffi_py_replace_backtrace"(void*, const TVMFFIByteArray*)


# --- FFI -> Python ---------------------------------------------------------------------------

cdef list _native_frames(str text):
    """(file, line, function) of `File "f", line n, in fn` lines, most recent call first."""
    cdef list frames = []
    cdef Py_ssize_t name_end
    cdef Py_ssize_t line_end
    for row in text.splitlines():
        row = row.strip()
        if not row.startswith('File "'):
            continue
        name_end = row.find('", line ', 6)
        if name_end < 0:
            continue
        line_end = row.find(", in ", name_end)
        number = row[name_end + 8:line_end if line_end >= 0 else len(row)]
        function = row[line_end + 5:] if line_end >= 0 else "<unknown>"
        if "tvm_ffi_py::" in function or function.startswith("__pyx"):
            continue  # our own glue is no news to the user
        frames.append((row[6:name_end], int(number) if number.isdecimal() else 0, function))
    return frames


# Backtrace text -> ((frame, line), ..), innermost first. The same few places raise again and again,
# and a frame that never ran can serve many tracebacks.
cdef dict _FRAMES_OF_TEXT = {}
cdef Py_ssize_t _MAX_FRAME_TEXTS = 256
cdef object _TracebackType


def _find_traceback_type():
    try:
        raise RuntimeError
    except RuntimeError as error:
        return type(error.__traceback__)


_TracebackType = _find_traceback_type()


cdef tuple _frames_of_text(str text):
    cdef tuple found = _FRAMES_OF_TEXT.get(text)
    if found is not None:
        return found
    frames = []
    for filename, line, function in _native_frames(text)[:_MAX_TRACEBACK_FRAMES]:
        frame = NewNativeFrame(
            (<str>filename).encode("utf-8", "replace"), (<str>function).encode("utf-8", "replace"),
            line, {"__name__": "<native>"})
        if frame is not None:
            frames.append((frame, line))
    found = tuple(frames)
    if len(_FRAMES_OF_TEXT) >= _MAX_FRAME_TEXTS:
        _FRAMES_OF_TEXT.clear()
    if len(text) <= 8192:
        _FRAMES_OF_TEXT[text] = found
    return found


cdef object _splice_frames(object traceback, const TVMFFIByteArray* text):
    """`traceback` below synthetic frames for `text`."""
    cdef tuple frames = _frames_of_text(_text(text))
    RememberFrames(text[0], <PyObject*>frames)
    for frame, line in frames:
        traceback = _TracebackType(traceback, frame, 0, line)
    return traceback


cdef object _exception_of_kind(str kind, str message):
    cls = ERROR_NAME_TO_TYPE.get(kind, RuntimeError)
    try:
        error = cls(message)
    except Exception:  # a registered class with another constructor
        error = cls.__new__(cls)
        error.args = (message,)
    return error


cdef object _to_exception(void* handle):
    """Exception for a borrowed ffi.Error, its traceback extended by the native frames."""
    cdef TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(handle)
    cdef TVMFFIByteArray native = NativeFrames(handle)
    cdef PyObject* original = TakeException(handle)
    cdef void* plain = NULL
    cdef Error error
    if original != NULL:
        exception = <object>original
        Py_XDECREF(original)
        if TVMFFIObjectUseCount(handle) > 1:
            # `handle` keeps the exception; tie the exception to a copy that does not.
            plain = _copy_error(handle)
    else:
        exception = _exception_of_kind(_text(&cell.kind), _text(&cell.message))
    if plain == NULL:
        TVMFFIObjectIncRef(handle)
        plain = handle
    error = Error.__new__(Error)
    error.chandle = plain
    try:
        exception.__tvm_ffi_error__ = error
    except Exception:
        pass  # a class without room for attributes, or that refuses them
    if native.size != 0:
        # Not by assignment: the class may have a `__setattr__` of its own.
        trace = _splice_frames(exception.__traceback__, &native)
        PyException_SetTraceback(<PyObject*>exception, <PyObject*>trace)
    return exception


cdef extern from *:
    """
    static inline uint32_t tvm_ffi_py_use_count(void* handle) {
      return static_cast<uint32_t>(
          __atomic_load_n(&static_cast<TVMFFIObject*>(handle)->combined_ref_count,
                          __ATOMIC_RELAXED));
    }
    /// Makes `exception` pending with the traceback it carries, adding no frame. One that was
    /// raised in Python while another was handled knows so already.
    static inline void tvm_ffi_py_set_pending(PyObject* exception) {
      PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(exception));
      PyObject* context = PyException_GetContext(exception);
      if (context == nullptr) {
        PyErr_SetObject(type, exception);
        return;
      }
      Py_DECREF(context);
      Py_INCREF(type);
      Py_INCREF(exception);
      PyErr_Restore(type, exception, PyException_GetTraceback(exception));
    }
    """
    uint32_t TVMFFIObjectUseCount "tvm_ffi_py_use_count"(void*)
    void _set_pending "tvm_ffi_py_set_pending"(PyObject*)


cdef object _take_raised(int status):
    """Exception for the error of a failed call; None if Python already has one pending."""
    cdef void* handle = NULL
    cdef TVMFFIByteArray* kind
    if status == -2 and PyErr_Occurred() != NULL:
        return None
    TVMFFIErrorMoveFromRaised(&handle)
    if handle == NULL:
        if PyErr_Occurred() != NULL:
            return None
        return RuntimeError(f"an FFI call failed with status {status} and left no error")
    kind = &TVMFFIErrorGetCellPtr(handle).kind
    if PyErr_Occurred() != NULL:
        if _text(kind) == "EnvErrorAlreadySet":
            TVMFFIObjectDecRef(handle)
            return None
        PyErr_Clear()  # the FFI error is the newer one
    try:
        return _to_exception(handle)
    finally:
        TVMFFIObjectDecRef(handle)


cdef int _build_pending(int status) except -1:
    exception = _take_raised(status)
    if exception is not None:
        _set_pending(<PyObject*>exception)
    return 0


cdef void _raise_ffi_error(int status) noexcept:
    """Make the raised FFI error pending; the caller returns NULL or -1."""
    cdef PyObject* kind = NULL
    cdef PyObject* value = NULL
    cdef PyObject* trace = NULL
    if RaiseKnownError(status):
        return
    try:
        _build_pending(status)
    except BaseException as err:
        _set_pending(<PyObject*>err)


cdef inline int _check(int status) except -1:
    """Raise the Python form of the error behind a non-zero status."""
    if status == 0:
        return 0
    _raise_ffi_error(status)
    return -1


# --- Python -> FFI ---------------------------------------------------------------------------

cdef str _kind_of(exception):
    for cls in type(exception).__mro__:
        name = ERROR_TYPE_TO_NAME.get(cls)
        if name is not None:
            return name
    return "RuntimeError" if isinstance(exception, Exception) else type(exception).__name__


cdef str _message_of(exception):
    try:
        if isinstance(exception, KeyError) and len(exception.args) == 1 \
                and isinstance(exception.args[0], str):
            return exception.args[0]  # str() would show its repr
        return str(exception)
    except Exception:
        return f"<unprintable {type(exception).__name__}>"


cdef str _format_traceback(traceback):
    """Text of the Python frames, most recent call first."""
    cdef list rows = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        rows.append(f'  File "{code.co_filename}", line {traceback.tb_lineno}, in {code.co_name}\n')
        traceback = traceback.tb_next
    rows.reverse()
    return "".join(rows[:_MAX_TRACEBACK_FRAMES])


cdef void* _new_error(exception) except NULL:
    """New reference to an ffi.Error that carries `exception`."""
    cdef bytes kind = _kind_of(exception).encode("utf-8", "replace")
    cdef bytes message = _message_of(exception).encode("utf-8", "replace")
    cdef bytes frames = _format_traceback(exception.__traceback__).encode("utf-8", "replace")
    cdef void* cause = NULL
    cdef void* extra = NULL
    previous = getattr(exception, "__tvm_ffi_error__", None)
    if isinstance(previous, Error) and (<Error>previous).chandle != NULL:
        cause = TVMFFIErrorGetCellPtr((<Error>previous).chandle).cause_chain
        extra = TVMFFIErrorGetCellPtr((<Error>previous).chandle).extra_context
    return NewPyError(<PyObject*>exception, kind, message, len(message), frames, len(frames),
                      cause, extra)


cdef int _raise_to_ffi(exception) except -1:
    cdef const TVMFFIByteArray* native
    cdef void* handle = _new_error(exception)
    native = TVMFFIBacktrace(NULL, 0, NULL, 0)
    if native != NULL and native.size != 0:
        AppendBacktrace(handle, native)
    TVMFFIErrorSetRaised(handle)
    TVMFFIObjectDecRef(handle)
    return 0


cdef void _set_raised_from_python() noexcept:
    """Move the pending Python exception into the raised slot."""
    cdef PyObject* kind = NULL
    cdef PyObject* value = NULL
    cdef PyObject* trace = NULL
    PyErr_Fetch(&kind, &value, &trace)
    if kind == NULL:
        TVMFFIErrorSetRaisedFromCStr("RuntimeError", "a Python callback failed without an error")
        return
    PyErr_NormalizeException(&kind, &value, &trace)
    if trace != NULL:
        PyException_SetTraceback(value, trace)
    try:
        _raise_to_ffi(<object>value)
    except BaseException:
        TVMFFIErrorSetRaisedFromCStr("RuntimeError", "a Python exception could not be converted")
    Py_XDECREF(kind)
    Py_XDECREF(value)
    Py_XDECREF(trace)


def _convert_to_ffi_error(exception):
    """Wrap an exception into an Error that gives the same exception back."""
    cdef Error error = Error.__new__(Error)
    error.chandle = _new_error(exception)
    return error
