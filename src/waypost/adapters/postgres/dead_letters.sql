-- name: page
-- tenant: row
-- The latest first, with what people recognise them by.
select d.id, d.at, d.reason, d.detail, d.channel, d.category, d.attempts, d.spent, m.expires_at,
       r.external_id as recipient, t.key as template
from dead_letters d
left join lateral (
    select n.expires_at, n.recipient_id from notifications n
    where n.tenant_id = $1 and n.id = d.id and n.retention = d.retention limit 1) m on true
left join recipients r on r.tenant_id = $1 and r.id = m.recipient_id and r.erased_at is null
left join lateral (
    select x.key from templates x where x.tenant_id in ($1, '_platform') and x.id = d.template_id limit 1) t on true
where d.tenant_id = $1 and (d.at, d.id) < ($2, $3::uuid) and d.at >= $4 and d.at <= $5
  and ($6::text is null or d.reason = $6) and ($7::smallint is null or d.channel = $7)
  and ($8::smallint is null or d.category = $8)
  and ($9::text is null or d.template_id = any (array(
      select x.id from templates x where x.tenant_id in ($1, '_platform') and x.key = $9)))
order by d.at desc, d.id desc limit $10

-- name: ids
-- tenant: row
-- The oldest first, for who works through them.
select d.at, d.id from dead_letters d
where d.tenant_id = $1 and (d.at, d.id) > ($2, $3::uuid) and d.at >= $4 and d.at <= $5
  and ($6::text is null or d.reason = $6) and ($7::smallint is null or d.channel = $7)
  and ($8::smallint is null or d.category = $8)
  and ($9::text is null or d.template_id = any (array(
      select x.id from templates x where x.tenant_id in ($1, '_platform') and x.key = $9)))
order by d.at, d.id limit $10

-- name: redrive
-- tenant: row
-- Back into the queue, or why not (see pause_routines.sql).
select id, result from waypost.redrive($1, $2, $3)
