class ArrayImpl:
    def block_until_ready(self):
        return self

    def __float__(self):
        return 0.0
