-- name: sleeping_lanes
-- tenant: all compares lanes with the queue through a definer function
-- Finds nothing unless something went wrong; then a lane sleeps over its work.
select tenant_id, channel, priority, due from waypost.sleeping_lanes()

-- name: lock_lane
-- tenant: row
-- As every inserter does, so that no claim puts the lane to sleep at the same moment.
select pg_advisory_xact_lock_shared(waypost.lane_lock($1, $2, $3))

-- name: wake_lane
-- tenant: row
-- The lane looks again from its first row on.
select waypost.wake_lane($1, $2, $3)

-- name: tenants_to_purge
-- tenant: all names tenants only, through a definer function
-- Whose rows are older than the moment.
select tenant_id from waypost.tenants_to_purge($1, now() - $2::interval, 100)

-- name: purge_idempotency_keys
-- tenant: row
-- Answers kept for repeated requests, past their day.
delete from idempotency_keys where tenant_id = $1 and key = any (array(
    select key from idempotency_keys where tenant_id = $1 and created_at < now() - $2::interval limit $3))

-- name: purge_gate_changes
-- tenant: row
-- Changes so old that every submission older than them is asked about in full anyway.
delete from gate_changes where tenant_id = $1 and recipient_id = any (array(
    select recipient_id from gate_changes where tenant_id = $1 and changed_at < now() - $2::interval limit $3))

-- name: purge_notification_dedupe
-- tenant: row
-- Places of dedupe keys that may be taken again.
delete from notification_dedupe d
using (select dedupe_key, recipient_id, channel from notification_dedupe
       where tenant_id = $1 and kept_until < now() - $2::interval limit $3) old
where d.tenant_id = $1 and d.dedupe_key = old.dedupe_key and d.recipient_id = old.recipient_id and d.channel = old.channel

-- name: purge_outbox
-- tenant: row
-- News that everyone has been told; the oldest ids are the oldest rows.
delete from outbox where tenant_id = $1 and id = any (array(
    select o.id from (select id, at from outbox where tenant_id = $1 order by id limit $3) o
    where o.at < now() - $2::interval))

-- name: purge_consumed_events
-- tenant: row
-- Events so old that nobody sends them again.
delete from consumed_events e
using (select consumer, event_id from consumed_events
       where tenant_id = $1 and received_at < now() - $2::interval limit $3) old
where e.tenant_id = $1 and e.consumer = old.consumer and e.event_id = old.event_id

-- name: purge_event_failures
-- tenant: row
-- Events that nobody has looked after for a long time.
delete from event_failures where tenant_id = $1 and id = any (array(
    select id from event_failures where tenant_id = $1 and failed_at < now() - $2::interval limit $3))

-- name: purge_timers
-- tenant: row
-- Timers that ended long ago, with what hangs on them.
delete from timers where tenant_id = $1 and id = any (array(
    select id from timers where tenant_id = $1 and ended_at < now() - $2::interval limit $3))

-- name: purge_timer_news
-- tenant: row
-- News about subjects past their month; where a timer of the subject still waits, they are kept and looked at later.
with held as (
    update timer_news n set kept_until = now() + interval '7 days'
    where n.tenant_id = $1 and n.kept_until < now() - $2::interval and exists (
        select from timers t where t.tenant_id = $1 and t.subject_key = n.subject_key and t.state = 'waiting')
)
delete from timer_news n
using (select o.subject_key, o.occurred_at, o.consumer, o.event_id, o.cancels from timer_news o
       where o.tenant_id = $1 and o.kept_until < now() - $2::interval and not exists (
           select from timers t where t.tenant_id = $1 and t.subject_key = o.subject_key and t.state = 'waiting')
       limit $3) old
where n.tenant_id = $1 and n.subject_key = old.subject_key and n.occurred_at = old.occurred_at
  and n.consumer = old.consumer and n.event_id = old.event_id and n.cancels = old.cancels

-- name: purge_throttles
-- tenant: row
-- Counts of windows that have long passed.
delete from throttles h
using (select trigger_id, recipient_id, slot from throttles
       where tenant_id = $1 and touched_at < now() - $2::interval limit $3) old
where h.tenant_id = $1 and h.trigger_id = old.trigger_id and h.recipient_id = old.recipient_id and h.slot = old.slot

-- name: purge_blobs
-- tenant: row
-- Files whose messages can neither go out nor be looked at any more, with the note whose they were.
delete from blobs where tenant_id = $1 and address = any (array(
    select address from blobs where tenant_id = $1 and kept_until < now() - $2::interval limit $3))

-- name: purge_outbox_unread
-- tenant: row
-- News that nobody came to read before it was purged itself: its reader is gone.
delete from outbox_unread where tenant_id = $1 and id = any (array(
    select u.id from outbox_unread u where u.tenant_id = $1 and u.at < now() - $2::interval limit $3))

-- name: purge_publish_backlog
-- tenant: row
-- What a broker was still to be told when its news was purged.
delete from publish_backlog b
using (select reader, subject_id, at, outbox_id from publish_backlog
       where tenant_id = $1 and at < now() - $2::interval limit $3) old
where b.tenant_id = $1 and b.reader = old.reader and b.subject_id = old.subject_id and b.at = old.at
  and b.outbox_id = old.outbox_id

-- name: purge_webhook_deliveries
-- tenant: row
-- Deliveries as old as the news they are about, with the log of their calls, and replays that are done.
with replays as (
    delete from webhook_replays r where r.tenant_id = $1 and r.done and r.until < now() - $2::interval
)
delete from webhook_deliveries where tenant_id = $1 and id = any (array(
    select d.id from webhook_deliveries d where d.tenant_id = $1
      and d.id < (lpad(to_hex((extract(epoch from now() - $2::interval) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
    order by d.id limit $3))

-- name: purge_dead_letters
-- tenant: row
-- Dead letters that nobody has looked after for a long time; their notifications stay as they ended.
delete from dead_letters where tenant_id = $1 and id = any (array(
    select d.id from dead_letters d where d.tenant_id = $1 and d.at < now() - $2::interval order by d.at limit $3))

-- name: purge_trouble_counts
-- tenant: row
-- Counts that no alert asks for any more.
delete from trouble_counts where tenant_id = $1 and (trouble, slot) in (
    select c.trouble, c.slot from trouble_counts c where c.tenant_id = $1 and c.slot < now() - $2::interval limit $3)

-- name: purge_alerts
-- tenant: row
-- Alerts that closed long ago.
delete from alerts where tenant_id = $1 and id = any (array(
    select a.id from alerts a where a.tenant_id = $1 and a.closed_at < now() - $2::interval limit $3))

-- name: queue_standing
-- tenant: all sums over all tenants through a definer function, naming none
-- What waits, by channel and priority, and since when it has been due.
select channel, priority, waiting, greatest(extract(epoch from now() - oldest_due), 0)::float8 as oldest_seconds
from waypost.queue_standing($1)

-- name: workers_alive
-- tenant: all workers serve every tenant
-- How many have a lease in force.
select count(*) from workers where lease_until > now()

-- name: stray_rows
-- tenant: all counts only, through a definer function
-- Rows in DEFAULT partitions.
select coalesce(sum(rows), 0)::bigint from waypost.default_partition_rows()
