import types

from . import array

xc = types.SimpleNamespace(batched_block_until_ready=lambda arrays: None)


def block_until_ready(tree):
    xc.batched_block_until_ready([each for each in tree.values() if isinstance(each, array.ArrayImpl)])
    return tree
