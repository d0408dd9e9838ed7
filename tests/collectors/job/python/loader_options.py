"""Options of loaders, and a map of a graph, made in another file than the loop."""


def reading(grain):
    return grain.ReadOptions(num_threads=2, prefetch_buffer_size=4)


def processes(grain):
    return grain.MultiprocessingOptions(num_workers=2)


def pipeline(dali):
    return dali.Pipeline(num_threads=2)


def mapped(data, function):
    return data.map(function)
