-- oldest_code: 1
-- To be written.

do $$ begin end $$;
