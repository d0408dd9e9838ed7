"""torchdata.nodes: chains of nodes that end in a Loader, without a DataLoader.

    __next__     of the outermost node, in the job's thread: a batch
                 in a thread of a Prefetcher: the same ahead of the loop, unless it waits for others
    _apply_udf   the job's function, in the threads and processes of a ParallelMapper
    __init__     of a ParallelMapper: where the job makes it, by its name or as a Mapper
"""
import functools
import weakref

from . import libraries, loaders, plain
from .sight import called_codes


def attach(module):
    """`module` is torchdata.nodes.base_node."""
    loaders.framework("torchdata")
    plain.watch_class(module.BaseNode, _described, _role)


def attach_mapper(module):
    """`module` is torchdata.nodes._apply_udf, the target of a mapper's threads and processes."""
    original = module._apply_udf

    @functools.wraps(original)
    def _apply_udf(worker_id, in_q, out_q, udf, stop_event):
        return original(worker_id, in_q, out_q, functools.partial(plain.ahead, udf, udf), stop_event)

    module._apply_udf = _apply_udf


def attach_maps(module):
    """`module` is torchdata.nodes.map."""
    libraries.constructed_in(module, module.ParallelMapper)


_waiting = weakref.WeakKeyDictionary()  # node → whether it or one before it waits for others


def _role(node):
    return libraries.role_of("torchdata.nodes", node, _waits_for_others)


def _waits_for_others(node):
    waits = _waiting.get(node)
    if waits is None:
        waits = _waiting[node] = any(_waits(each) for each in _chain(node))
    return waits


def _waits(node):
    """It gets elements from threads or processes of its own."""
    return type(node).__name__ in ("Prefetcher", "PinMemory") or bool(
        getattr(node, "num_workers", 0))


def _chain(node):
    """The nodes from its end to its beginning, of several sources the first one."""
    chain = []
    while node is not None and len(chain) < 20:
        chain.append(node)
        fields = getattr(node, "__dict__", {})
        sources = fields.get("source_nodes")
        if isinstance(sources, dict) and sources:
            node = next(iter(sources.values()))
        else:
            node = fields.get("source", fields.get("root"))
    return chain


def _described(node):
    chain = _chain(node)
    workers = [each.num_workers for each in chain if isinstance(getattr(each, "num_workers", None), int)]
    names = [type(each).__name__ for each in chain]
    if names[0] == "LoaderIterator":
        del names[0]
    settings = {"workers": max(workers)} if any(workers) else {}
    mappers = [each for each in chain if type(each).__name__ == "ParallelMapper"]
    if mappers:
        settings["mappers"] = [_mapper(each) for each in mappers[:8]]
    place = libraries.with_lines(loaders.place_of(node), [libraries.built_at(each) for each in mappers])
    return (place, loaders.class_name(node), ", ".join(names)[:200], settings, node)


def _mapper(node):
    """Of several in a chain, the analysis takes the one whose functions take longest."""
    place = libraries.built_at(node)
    codes = called_codes(node.map_fn if node.prebatch is None else node.map_fn.map_fn)
    return {
        "at": place and loaders.in_short(place),
        "functions": [loaders.in_short({"file": code.co_filename, "line": code.co_firstlineno})
                      for code in codes],
        "workers": node.num_workers, "method": node.method, "max_concurrent": node.max_concurrent}
