"""The system of record: PostgreSQL 16 or newer, through asyncpg and plain SQL."""
