-- name: enter_at_begin
-- tenant: row
-- The same for a message that also begins the transaction and therefore takes no parameter: the id is checked, then put
-- in its place (see edges.py).
select set_config('app.tenant_id', '$tenant', true)

-- name: enter_in_haste
-- tenant: row
-- The same for those who rather fail than wait for a lock.
select set_config('app.tenant_id', '$tenant', true), set_config('lock_timeout', '50ms', true)
