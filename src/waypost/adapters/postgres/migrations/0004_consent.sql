-- oldest_code: 1
-- Topics, preferences, consent, suppression.
do $$ begin end $$;
