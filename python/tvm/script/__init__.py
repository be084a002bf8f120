# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""TVMScript: IR written as Python functions and classes.

Parsing a function from source runs parts of it: treat scripts as code.
"""

from tvm._lazy import attach as _attach

__getattr__, __dir__ = _attach(
    __name__,
    globals(),
    modules=("ir", "tirx", "relax", "ir_builder", "parser", "printer", "highlight"),
    names={
        "from_source": "parser",
        "parse": "parser",
        "ir_module": "parser",
        "register_dialect": "parser",
    },
)
