-- To be written.

do $$ begin end $$;
