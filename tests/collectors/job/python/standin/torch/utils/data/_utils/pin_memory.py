import queue


def _pin_memory_loop(in_queue, out_queue, done_event):
    while not done_event.is_set():
        try:
            r = in_queue.get(timeout=5)
        except queue.Empty:
            continue
        idx, data = r
        if idx is not None:
            data = pin_memory(data)
        out_queue.put((idx, data))


def pin_memory(data):
    return [pin_memory(d) for d in data] if isinstance(data, list) else data
