-- oldest_code: 1
-- People: tags, lists, merged ids, jobs.
do $$ begin end $$;
