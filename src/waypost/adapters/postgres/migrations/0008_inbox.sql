-- oldest_code: 1
-- The in-app inbox.
do $$ begin end $$;
