"""For tests of Reame and of its plugins: a model that needs no file and answers in microseconds."""

from reame_core.testing.fake_backend import FakeBackend, FakeClock

__all__ = ["FakeBackend", "FakeClock"]
