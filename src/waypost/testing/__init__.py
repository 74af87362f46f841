"""For the tests of applications that send through Waypost: `pytest_plugins = ["waypost.testing"]` gives the fixture
`rehearsal`, a whole Waypost whose mail reaches a fake Internet and nothing else, on a clock that moves by itself.

    async def test_everybody_is_reached(rehearsal):
        report = await rehearsal(profile="greylist", people=100, seed=7)
        assert report.ended == {"dispatched": 100}
"""

from waypost.rehearsal.model import Letter, Person, Profile, Provider, Report
from waypost.rehearsal.profiles import read_profile
from waypost.testing.stage import Rehearse, rehearsal

__all__ = ["Letter", "Person", "Profile", "Provider", "Rehearse", "Report", "read_profile", "rehearsal"]
