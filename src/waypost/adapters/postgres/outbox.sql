-- name: append
-- tenant: row
-- News, noted in the transaction of what happened.
insert into outbox (tenant_id, kind, subject_id, n)
select $1, u.kind, u.subject_id, u.n from unnest($2::smallint[], $3::uuid[], $4::smallint[]) as u (kind, subject_id, n)
