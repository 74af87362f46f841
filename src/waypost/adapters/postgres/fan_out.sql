-- name: fan_out
-- tenant: row
-- Messages of one kind to many people, made in one round trip (see fan_out_routines.sql); those who are handed back come
-- with what the gate would be told about them, in the words of `gate_facts`.
select f.external_id, f.kind, f.house, f.locale, f.tenant_active, f.policy, false as erased, f.timezone,
       'active' as address_status, '{}'::text[] as suppressions, false as platform, $4::text as topic, f.mandatory,
       f.on_by_default, f.choice, f.quiet_start, f.quiet_end, f.consent
from waypost.fan_out($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) f
