-- name: close_over
-- tenant: row
-- A window whose time is over takes nothing more, fired or not: what comes now opens the next.
update timers t set collecting = false
from (select o.id from unnest($2::uuid[], $3::uuid[], $4::text[]) as w (trigger_id, recipient_id, slot)
      join timers o on o.tenant_id = $1 and o.trigger_id = w.trigger_id and o.recipient_id = w.recipient_id
                   and o.slot = w.slot and o.collecting
      where o.due <= $5 order by o.id for update of o) over
where t.tenant_id = $1 and t.id = over.id

-- name: open_windows
-- tenant: row
-- Where none is open. Sorted, so that two batches cannot deadlock; waits for whoever is opening the same.
insert into timers (tenant_id, id, kind, trigger_id, source, recipient_id, slot, state, occurred_at, due, payload,
                    collecting, created_at)
select $1, w.id, 'digest', w.trigger_id, w.id::text, w.recipient_id, w.slot, 'waiting', w.occurred_at, w.due, '', true, $7
from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::timestamptz[], $8::timestamptz[])
     as w (id, trigger_id, recipient_id, slot, occurred_at, due)
order by w.trigger_id, w.recipient_id, w.slot
on conflict (tenant_id, trigger_id, recipient_id, slot) where collecting do nothing

-- name: hold_windows
-- tenant: row
-- The open windows, locked in the order of their ids against firing and against other events.
select t.* from timers t
where t.tenant_id = $1 and t.id = any (array(
    select o.id from unnest($2::uuid[], $3::uuid[], $4::text[]) as w (trigger_id, recipient_id, slot)
    join timers o on o.tenant_id = $1 and o.trigger_id = w.trigger_id and o.recipient_id = w.recipient_id
                 and o.slot = w.slot and o.collecting))
  and t.collecting
order by t.id for update

-- name: add_items
-- tenant: row
-- What was collected, in the order of arrival.
insert into digest_items (tenant_id, timer_id, n, payload)
select $1, i.timer_id, i.n, i.payload from unnest($2::uuid[], $3::int[], $4::bytea[]) as i (timer_id, n, payload)

-- name: count_items
-- tenant: row
-- How many there are by now, also of those that are not kept.
update timers t set collected = c.collected from unnest($2::uuid[], $3::int[]) as c (id, collected)
where t.tenant_id = $1 and t.id = c.id

-- name: items
-- tenant: row
-- What windows have collected.
select timer_id, payload from digest_items where tenant_id = $1 and timer_id = any ($2::uuid[]) order by timer_id, n

-- name: drop_items
-- tenant: row
-- Told, and not needed any more.
delete from digest_items where tenant_id = $1 and timer_id = any ($2::uuid[])
