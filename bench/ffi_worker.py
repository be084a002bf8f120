# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""One binding under test: `ffi_worker.py KIND FOLDER`, started by ffi.py.

KIND is tvm_ffi or one of the extensions that ffi.py built into FOLDER. Each function below gives
(statement, names) per row; rows of one name do the same work everywhere. Timed in a tight loop.
"""

import json
import sys
import timeit

import common
import numpy as np

TEXT = "a string of some size"
RELEASED = ", lock released"
FROM_DLPACK = "np.from_dlpack(own_a)"
CATCH = "try:\n    fail()\nexcept Exception:\n    pass"


def matrices():
    return {key: np.zeros((4, 4), np.float32) for key in "abc"}


def extension(module, folder):
    names = {**vars(module), "text": TEXT, "back": lambda x: x, **matrices()}
    rows = {
        "call, no argument": "nothing()",
        "call, 3 ints": "add(1, 2, 3)",
        "call, 1 string": "take_text(text)",
        "call, 3 numpy arrays": "take_tensors(a, b, c)",
        "call that calls back": "apply(back, 1)",
        "string there and back": "echo_text(text)",
        "raise and catch an error": CATCH,
    }
    for row in list(rows):
        function, paren, rest = rows[row].partition("(")
        if hasattr(module, f"{function}_released"):
            rows[row + RELEASED] = f"{function}_released{paren}{rest}"
    if hasattr(module, "Pair"):
        names["pair"] = module.Pair(1, 2)
        rows["read a field"] = "pair.a"
        rows["make an object of 2 ints"] = "Pair(1, 2)"
    if hasattr(module, "Numbers"):
        plain = {f"k{i}": i for i in range(10)}
        names.update(
            ten=list(range(10)),
            numbers=module.Numbers(list(range(100))),
            plain=plain,
            table=module.Table(plain),
        )
        rows["make an array of 10 ints"] = "Numbers(ten)"
        rows["index an array"] = "numbers[3]"
        rows["iterate over an array of 100"] = "for _ in numbers: pass"
        rows["make a map of 10"] = "Table(plain)"
        rows["look up in a map"] = "table['k3']"
    return {row: (statement, names) for row, statement in rows.items()}


def capi(folder):
    import capi_ext

    return extension(capi_ext, folder)


def cython(folder):
    import cython_ext

    return extension(cython_ext, folder)


def nanobind(folder):
    import nanobind_ext

    return extension(nanobind_ext, folder)


def tvm_ffi(folder):
    import tvm_ffi
    from tvm_ffi import testing

    def find(name, release=False):
        function = tvm_ffi.get_global_func(name)
        function.release_gil = release
        return function

    own = {f"own_{key}": tvm_ffi.from_dlpack(value) for key, value in matrices().items()}
    plain = {f"k{i}": i for i in range(10)}
    names = {
        **matrices(),
        **own,
        "nothing": find("testing.nop"),
        "echo": find("testing.echo"),
        "typed": find("testing.schema_id_int"),
        "apply": find("testing.apply"),
        "back": tvm_ffi.convert(lambda x: x),
        "nothing_released": find("testing.nop", True),
        "echo_released": find("testing.echo", True),
        "apply_released": find("testing.apply", True),
        "fail": find("testing.test_raise_error", True),
        "text": TEXT,
        "Pair": testing.TestIntPair,
        "pair": testing.TestIntPair(1, 2),
        "ten": list(range(10)),
        "Array": tvm_ffi.Array,
        "Map": tvm_ffi.Map,
        "numbers": tvm_ffi.Array(list(range(100))),
        "objects": tvm_ffi.Array([testing.TestIntPair(1, 2)]),
        "plain": plain,
        "table": tvm_ffi.Map(plain),
        "from_dlpack": tvm_ffi.from_dlpack,
        "np": np,
        "find": tvm_ffi.get_global_func,
        "equal": tvm_ffi.structural_equal,
    }
    rows = {
        "call, no argument": "nothing()",
        "call, 3 ints": "nothing(1, 2, 3)",
        "call, 1 string": "nothing(text)",
        "call, 3 numpy arrays": "nothing(a, b, c)",
        "call that calls back": "apply(back, 1)",
        "string there and back": "echo(text)",
        "read a field": "pair.a",
        "make an object of 2 ints": "Pair(1, 2)",
        "make an array of 10 ints": "Array(ten)",
        "index an array": "numbers[3]",
        "iterate over an array of 100": "for _ in numbers: pass",
        "make a map of 10": "Map(plain)",
        "look up in a map": "table['k3']",
        "raise and catch an error": CATCH.replace("()", "('ValueError', 'a message')"),
        "call, 3 own tensors": "nothing(own_a, own_b, own_c)",
        "wrap a numpy array": "from_dlpack(a)",
        "own tensor to numpy": "own_a.numpy()" if hasattr(tvm_ffi.Tensor, "numpy") else FROM_DLPACK,
        "own tensor to numpy by numpy.from_dlpack": FROM_DLPACK,
        "object there and back": "echo(pair)",
        "find a global function": "find('testing.nop')",
        "int there and back": "echo(1)",
        "typed int there and back": "typed(1)",
        "float there and back": "echo(1.5)",
        "index an array of objects": "objects[0]",
        "structural equality": "equal(pair, pair)",
    }
    for row in list(rows):
        function, paren, rest = rows[row].partition("(")
        if paren and f"{function}_released" in names:
            rows[row + RELEASED] = f"{function}_released{paren}{rest}"
    return {row: (statement, names) for row, statement in rows.items()}


def main():
    common.own_stdout()
    kind, folder = sys.argv[1:3]
    sys.path.insert(0, folder)
    timers, failed = {}, {}
    for row, (statement, names) in globals()[kind](folder).items():
        timer = timeit.Timer(statement, globals=names)
        try:
            timer.timeit(200)
            timers[row] = timer
        except Exception as error:
            failed[row] = f"{type(error).__name__}: {error}"[:200]
    common.reply(event="ready", rows=list(timers), failed=failed)
    counts = {}
    for line in sys.stdin:
        ask = json.loads(line)
        row, timer = ask["row"], timers[ask["row"]]
        if row not in counts:
            once = timer.timeit(500) / 500
            counts[row] = max(20, int(ask["seconds"] / once))
        count = counts[row]
        common.reply(event="times", times=[timer.timeit(count) / count])


if __name__ == "__main__":
    main()
