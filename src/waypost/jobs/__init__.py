"""Long work: done by workers in small steps, watched and cancelled from outside."""
