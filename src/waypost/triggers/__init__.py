"""What starts a message: events through the trigger map, timers that can be moved, what goes on until seen."""
