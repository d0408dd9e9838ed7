spans = []


class Trace:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        spans.append(self.name)

    def __exit__(self, *_):
        pass
