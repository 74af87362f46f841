"""The command line: `waypost up` and its companions. Commands import what they need when they run, so help is quick."""
