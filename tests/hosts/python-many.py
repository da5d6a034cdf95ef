# SPDX-License-Identifier: MIT
"""70,000 functions, each of which allocates a block."""
import types


def template():
    return bytearray(600)


code = template.__code__
for i in range(70000):
    name = "f%d" % i
    names = {"co_name": name}
    if hasattr(code, "co_qualname"):
        names["co_qualname"] = name
    types.FunctionType(code.replace(**names), globals())()
