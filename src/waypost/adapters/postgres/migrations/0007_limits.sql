-- oldest_code: 1
-- Rate limits and dispatch batches.
do $$ begin end $$;
