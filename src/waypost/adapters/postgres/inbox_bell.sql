-- name: ring
-- tenant: all carries ids that mean nothing to anybody who may not read what they name
-- Tells the streams of all processes whose feed to look at again.
select pg_notify('waypost_inbox', $1)
