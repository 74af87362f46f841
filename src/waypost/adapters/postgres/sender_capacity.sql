-- name: hold
-- tenant: row
-- A day begins with its first batch. Whoever counts for these accounts counts alone until the end of the transaction,
-- and reads what is there only afterwards: a statement that locks and reads at once would read what was there before.
with opened as (
    insert into sender_days (tenant_id, account_id, day) select $1, u.id, $3 from unnest($2::uuid[]) as u (id)
    on conflict do nothing
)
select s.account_id from sender_states s
where s.tenant_id = $1 and s.account_id = any ($2::uuid[]) order by s.account_id for update

-- name: reserve
-- tenant: row
-- As much as fits: an account whose limit would be passed is not among the answers. Null: no limit.
update sender_days d
set reserved = d.reserved + u.wanted
from unnest($3::uuid[], $4::int[], $5::int[]) as u (account_id, wanted, most)
where d.tenant_id = $1 and d.day = $2 and d.account_id = u.account_id and (u.most is null or d.reserved + u.wanted <= u.most)
returning d.account_id

-- name: note_reservation
-- tenant: row
-- Which messages of a batch an account has room for, until they are settled.
insert into sender_reservations (tenant_id, batch_id, account_id, day, ids) values ($1, $2, $3, $4, $5)

-- name: save_state
-- tenant: row
-- When an account goes on, and what has been promised to those that wait.
update sender_states
set next_at = $3, plan_at = $4, plan_day = $5, planned = $6 where tenant_id = $1 and account_id = $2

-- name: save_paces
-- tenant: row
-- How fast providers are written to.
insert into sender_paces (tenant_id, account_id, provider, hour, taken, taken_before, rate, ceiling, next_at, plan_at,
                          slowed_at, updated_at)
select $1, $2, u.provider, u.hour, u.taken, u.taken_before, u.rate, u.ceiling, u.next_at, u.plan_at, u.slowed_at, $12
from unnest($3::text[], $4::timestamptz[], $5::int[], $6::int[], $7::float8[], $8::float8[], $9::timestamptz[],
            $10::timestamptz[], $11::timestamptz[])
     as u (provider, hour, taken, taken_before, rate, ceiling, next_at, plan_at, slowed_at)
order by u.provider
on conflict (tenant_id, account_id, provider) do update
    set hour = excluded.hour, taken = excluded.taken, taken_before = excluded.taken_before, rate = excluded.rate,
        ceiling = excluded.ceiling, next_at = excluded.next_at, plan_at = excluded.plan_at, slowed_at = excluded.slowed_at,
        updated_at = excluded.updated_at

-- name: sweep
-- tenant: row
-- With the first batch of a day: what batches of days long gone never gave back. The days they are of count no more.
delete from sender_reservations where tenant_id = $1 and account_id = $2 and day < $3
