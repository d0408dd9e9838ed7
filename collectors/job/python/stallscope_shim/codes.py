"""What is known of code objects. Their own hash goes through all of their code, which may take longer than the
call that is watched: it is used once for each."""

MOST = 10_000  # more come of code that is made as the job runs


class Known:
    """By identity."""

    __slots__ = ("_known",)

    def __init__(self):
        self._known = {}

    def get(self, code):
        found = self._known.get(id(code))
        return None if found is None else found[1]

    def put(self, code, value):
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[id(code)] = code, value  # which keeps the code, and its id
        return value

    def clear(self):
        self._known.clear()


class Codes:
    """A set of them, in the order in which they came; each may have a name. Of functions that cloudpickle has
    sent from another process there are copies, which are equal."""

    __slots__ = ("_names", "_found")

    def __init__(self, codes=()):
        self._names = {code: None for code in codes}
        self._found = Known()

    def __contains__(self, code):
        found = self._found.get(code)
        return self._found.put(code, code in self._names) if found is None else found

    def __iter__(self):
        return iter(list(self._names))

    def __len__(self):
        return len(self._names)

    def add(self, code, name=None):
        self._names[code] = name
        self._found.clear()

    def update(self, codes):
        for code in codes:
            self.add(code)

    def discard(self, codes):
        for code in codes:
            self._names.pop(code, None)
        self._found.clear()

    def name_of(self, code):
        return self._names[code]

    def items(self):
        return list(self._names.items())

    def clear(self):
        self._names.clear()
        self._found.clear()
