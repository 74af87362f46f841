-- name: add_messages
-- tenant: row
-- Which message belongs to which row of channels.
insert into escalation_messages (tenant_id, notification_id, timer_id)
select $1, m.notification_id, m.timer_id from unnest($2::uuid[], $3::uuid[]) as m (notification_id, timer_id)
on conflict do nothing

-- name: timer_of_message
-- tenant: row
-- What a message that was seen belongs to.
select timer_id from escalation_messages where tenant_id = $1 and notification_id = $2

-- name: messages_of_timers
-- tenant: row
-- All that has been sent so far, oldest first: ids are in the order of time.
select timer_id, notification_id from escalation_messages
where tenant_id = $1 and timer_id = any ($2::uuid[]) order by notification_id
