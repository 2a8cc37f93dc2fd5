"""A sample of what mutations.py does in full."""

from mutations import every_mutation


def test_damage_is_refused_or_changes_nothing(tmp_path):
    found = list(every_mutation(tmp_path, 60, seed=3))
    assert len(found) == 60 and not [each for each in found if each[3]]
