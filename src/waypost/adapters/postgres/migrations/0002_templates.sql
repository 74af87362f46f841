-- oldest_code: 1
-- Templates: versions, locales, layouts and partials.
do $$ begin end $$;
