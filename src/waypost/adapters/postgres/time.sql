-- name: now
-- tenant: all asks the server for the time
-- The database's clock judges leases and due times, so processes set theirs by it.
select clock_timestamp()
