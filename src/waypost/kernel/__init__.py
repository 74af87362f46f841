"""What every slice stands on: ids, time, tenancy, errors, addresses. Nothing here does I/O."""
