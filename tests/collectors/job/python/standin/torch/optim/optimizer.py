class Optimizer:
    def __init__(self):
        self.add_param_group({})

    def add_param_group(self, param_group):
        pass

    def step(self):
        self._update()
        self._optimizer_step_code()

    def _optimizer_step_code(self):
        pass

    def _update(self):
        pass

    def zero_grad(self):
        pass


class SGD(Optimizer):
    pass
