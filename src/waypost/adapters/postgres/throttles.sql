-- name: make_room
-- tenant: row
-- A row to lock for whoever is told for the first time. Sorted, so that two batches cannot deadlock.
insert into throttles (tenant_id, trigger_id, recipient_id, slot, times, touched_at)
select $1, w.trigger_id, w.recipient_id, w.slot, '{}', $5
from unnest($2::uuid[], $3::uuid[], $4::text[]) as w (trigger_id, recipient_id, slot)
order by w.trigger_id, w.recipient_id, w.slot
on conflict (tenant_id, trigger_id, recipient_id, slot) do nothing

-- name: hold_throttles
-- tenant: row
-- When the last messages went, locked until the next ones are counted.
select h.trigger_id, h.recipient_id, h.slot, h.times
from unnest($2::uuid[], $3::uuid[], $4::text[]) as w (trigger_id, recipient_id, slot)
join throttles h on h.tenant_id = $1 and h.trigger_id = w.trigger_id and h.recipient_id = w.recipient_id and h.slot = w.slot
order by h.trigger_id, h.recipient_id, h.slot
for update of h

-- name: put_throttles
-- tenant: row
-- One array of times per row, as text: arrays of arrays must all have one length.
update throttles h set times = w.times::timestamptz[], touched_at = $6
from unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[]) as w (trigger_id, recipient_id, slot, times)
where h.tenant_id = $1 and h.trigger_id = w.trigger_id and h.recipient_id = w.recipient_id and h.slot = w.slot
