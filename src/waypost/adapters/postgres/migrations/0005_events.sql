-- oldest_code: 1
-- Events, triggers, timers.
do $$ begin end $$;
