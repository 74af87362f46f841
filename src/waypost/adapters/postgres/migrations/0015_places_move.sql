-- oldest_code: 1
-- Whoever is merged into another brings along what they were sent already: the places of its dedupe keys move, so that a
-- call that is repeated under the old id is known again.

grant update (recipient_id) on notification_dedupe to waypost_api;
