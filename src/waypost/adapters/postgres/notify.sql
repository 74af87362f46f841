-- name: ring
-- tenant: all carries no data at all
-- Wakes the workers of all processes; whoever hears it asks the database what there is to do.
notify waypost_work
