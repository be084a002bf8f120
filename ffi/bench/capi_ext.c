/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The OpenTVM authors */
/* What CPython itself costs: functions without any argument checks. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject* Nothing(PyObject* self, PyObject* const* args, Py_ssize_t n) { Py_RETURN_NONE; }

static PyObject* Add(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  long long total = 0;
  for (Py_ssize_t i = 0; i < n; ++i) total += PyLong_AsLongLong(args[i]);
  return PyLong_FromLongLong(total);
}

static PyObject* EchoText(PyObject* self, PyObject* text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  return data == NULL ? NULL : PyUnicode_FromStringAndSize(data, size);
}

static PyObject* Apply(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return PyObject_Vectorcall(args[0], args + 1, (size_t)(n - 1), NULL);
}

static PyObject* Fail(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  PyErr_SetString(PyExc_RuntimeError, "a message");
  return NULL;
}

#define FAST(name, function) {name, (PyCFunction)(void*)(function), METH_FASTCALL, ""}
static PyMethodDef kMethods[] = {FAST("nothing", Nothing),
                                 FAST("add", Add),
                                 FAST("take_text", Nothing),
                                 FAST("take_tensors", Nothing),
                                 FAST("apply", Apply),
                                 FAST("fail", Fail),
                                 {"echo_text", EchoText, METH_O, ""},
                                 {NULL, NULL, 0, NULL}};

static struct PyModuleDef kModule = {PyModuleDef_HEAD_INIT, "capi_ext", "", -1, kMethods};

PyMODINIT_FUNC PyInit_capi_ext(void) { return PyModule_Create(&kModule); }
