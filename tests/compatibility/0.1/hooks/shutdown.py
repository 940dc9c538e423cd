import threading

from reame_core.hookspecs import hookimpl


class Ticker:
    def __init__(self):
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.stop.wait, daemon=True)

    @hookimpl
    def startup(self):
        self.thread.start()

    @hookimpl
    def shutdown(self):
        self.stop.set()
        self.thread.join()


plugin = Ticker()
