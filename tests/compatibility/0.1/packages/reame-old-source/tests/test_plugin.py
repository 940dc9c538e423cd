from reame_old_source.plugin import OldSource

from reame_core.models.catalogue import read_entry


def test_every_entry_is_one() -> None:
    models = OldSource().register_models()
    assert models
    for name, table in models.items():
        assert read_entry(name, table, "old-source").name == name
