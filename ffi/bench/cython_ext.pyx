# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
# cython: language_level=3
"""The operations of the benchmark in Cython."""


def nothing():
    pass


def add(long long a, long long b, long long c):
    return a + b + c


cdef void swallow(const char* text) noexcept:
    pass


def take_text(str text):
    swallow(text.encode())


def echo_text(str text):
    cdef bytes content = text.encode()
    return content.decode()


def take_tensors(const float[:, ::1] a, const float[:, ::1] b, const float[:, ::1] c):
    pass


def apply(function, long long value):
    return function(value)


def fail():
    raise RuntimeError("a message")


cdef class Pair:
    cdef public long long a
    cdef public long long b

    def __init__(self, long long a, long long b):
        self.a = a
        self.b = b
