-- name: enter_tenant
-- tenant: row
-- Every policy compares with this setting; it is local, so it ends with the transaction.
select set_config('app.tenant_id', $1, true)
