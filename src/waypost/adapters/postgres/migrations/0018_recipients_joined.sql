-- oldest_code: 17
-- How many people a post for everyone is for is counted in an index that holds when they joined, and nothing else.

create index recipients_joined on recipients (tenant_id, created_at) where erased_at is null and created_at > '-infinity';
