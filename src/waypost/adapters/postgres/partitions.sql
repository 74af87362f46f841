-- name: ensure
-- tenant: all makes tables through a definer function that sees no rows
-- Months ahead must exist before their first row comes, or it falls into a DEFAULT partition.
select name, problem from waypost.ensure_partitions($1)

-- name: strays
-- tenant: all counts through a definer function, and shows numbers only
-- Rows in a DEFAULT partition come from a broken clock and stop its month's partition from being made.
select name, rows from waypost.default_partition_rows() where rows > 0
