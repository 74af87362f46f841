-- oldest_code: 13
-- Calls that arrive together are stored together: the place of this routine is taken by one that notes several requests
-- (routines.sql).

drop function if exists accept(uuid, uuid, uuid[], uuid[], text[], smallint[], timestamptz[], timestamptz[], smallint[],
    uuid[], uuid[], smallint[], smallint[], text[], smallint[], smallint[], text[], smallint[], uuid[], text[], timestamptz[],
    timestamptz[], bytea[], bytea[]);
