"""Several jobs without the processes, whose start takes longer than the tests."""

import pickle

from joblib import register_parallel_backend
from joblib.parallel import ThreadingBackend


class PickledTasks(ThreadingBackend):
    """Threads that get every task as a process would get it, as a copy."""

    def submit(self, func, callback=None):
        return super().submit(pickle.loads(pickle.dumps(func)), callback)

    def apply_async(self, func, callback=None):  # the name in joblib before 1.5
        return super().apply_async(pickle.loads(pickle.dumps(func)), callback)


register_parallel_backend("pickled", PickledTasks)
