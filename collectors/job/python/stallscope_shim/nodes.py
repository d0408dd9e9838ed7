"""torchdata.nodes: chains of nodes that end in a Loader, without a DataLoader.

    __next__     of the outermost node, in the job's thread: a batch
                 in a thread of a Prefetcher: the same ahead of the loop, unless it waits for others
    _apply_udf   the job's function, in the threads and processes of a ParallelMapper
"""
import functools

from . import libraries, loaders, plain


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


def _role(node):
    return libraries.role_of("torchdata.nodes", lambda: any(_waits(each) for each in _chain(node)))


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
    return (loaders.place_of(node), loaders.class_name(node), ", ".join(names)[:200], settings, node)
