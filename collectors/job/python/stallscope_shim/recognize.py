"""Whether the code of PyTorch's loader is as the hooks of `data.py` need it.

Internals change between versions. Each method that a hook relies on is checked for the names that it
uses; one that differs is named, and the loader's batches alone are timed.
"""
from .watch import uses


def unknown(module):
    """What of this version's code is not as the hooks need it; None if all of it is."""
    fetch = module._utils.fetch
    for where, name in (
            (module, "_BaseDataLoaderIter"), (module, "_SingleProcessDataLoaderIter"),
            (module, "_MultiProcessingDataLoaderIter"), (fetch, "_BaseDatasetFetcher"),
            (fetch, "_MapDatasetFetcher"), (fetch, "_IterableDatasetFetcher")):
        if name not in vars(where):
            return name
    single, multi = module._SingleProcessDataLoaderIter, module._MultiProcessingDataLoaderIter
    return unlike((
        (module._BaseDataLoaderIter, "__init__"),
        (module._BaseDataLoaderIter, "__next__", "_next_data", "_num_yielded"),
        (module._BaseDataLoaderIter, "_next_index"),
        (fetch._BaseDatasetFetcher, "__init__", "collate_fn"),
        (fetch._MapDatasetFetcher, "fetch", "collate_fn", "dataset"),
        (fetch._IterableDatasetFetcher, "fetch", "collate_fn", "dataset_iter"),
    ) + needed_of_iterators(module.DataLoader, single, multi))


def needed_of_iterators(loader, single, multi):
    return (
        (loader, "__iter__", "_get_iterator"),
        (loader, "_get_iterator"),
        (single, "__init__", "_dataset_fetcher"),
        (single, "_next_data", "_next_index", "_dataset_fetcher", "fetch", "_pin_memory"),
        (multi, "__init__", "_worker_result_queue", "_worker_pids_set", "_reset", "start"),
        (multi, "_reset", "_task_info", "_try_put_index", "_get_data"),
        (multi, "_next_data", "_task_info", "_get_data", "_tasks_outstanding", "_process_data"),
        (multi, "_get_data", "_try_get_data"),
        (multi, "_try_get_data", "_data_queue", "get"),
        (multi, "_try_put_index", "_next_index", "_index_queues", "_task_info", "_send_idx"),
        (multi, "_shutdown_workers", "_shutdown", "_worker_pids_set"),
    )


def unlike(needed):
    for cls, method, *names in needed:
        if not uses(cls, method, *names):
            return "%s.%s" % (cls.__name__, method)
    return None
