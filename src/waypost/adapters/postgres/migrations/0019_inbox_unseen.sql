-- oldest_code: 17
-- Whoever marks everything read tells of the notifications among it that nobody had seen; the other messages are not read.

create index inbox_items_unseen on inbox_items (tenant_id, inbox_id, recipient_id, n)
    where is_notification and seen_at is null and read_at is null and redacted_at is null and n > 0;
