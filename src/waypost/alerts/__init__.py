"""Who is told when the engine needs a person."""
