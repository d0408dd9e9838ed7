class Watcher:
    def begin(self, fetcher, stage): pass
    def end(self): pass
