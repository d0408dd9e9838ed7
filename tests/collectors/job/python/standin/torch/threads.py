_threads = 4


def set_num_threads(count):
    global _threads
    _threads = count


def get_num_threads():
    return _threads
