-- oldest_code: 1
-- The relay and outgoing webhooks.
do $$ begin end $$;
