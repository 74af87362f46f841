-- name: add_job
-- tenant: row
-- Work to do, or an upload that will be.
insert into jobs (tenant_id, id, kind, state, spec, place, done, total, result, actor, created_at, files_until, served_at)
values ($1, $2, $3, $4, $5, $6::text::jsonb, $7, $8, '{}', $9, $10, $11, $10)

-- name: find_job
-- tenant: row
-- One job as it stands.
select id, kind, state, spec, place, done, total, result, error, actor, cancel_asked, created_at, started_at, finished_at,
       files_until, failures
from jobs where tenant_id = $1 and id = $2

-- name: page_of_jobs
-- tenant: row
-- Newest first, without uploads that have not ended.
select id, kind, state, spec, place, done, total, result, error, actor, cancel_asked, created_at, started_at, finished_at,
       files_until, failures
from jobs where tenant_id = $1 and ($2::text is null or kind = $2) and ($3::uuid is null or id < $3) and state <> 'uploading'
order by id desc limit $4

-- name: begin_waiting
-- tenant: row
-- The upload is complete and stays until the work is done.
update jobs set state = 'waiting', spec = $3, place = $4::text::jsonb, total = $5, served_at = $6, files_until = null
where tenant_id = $1 and id = $2 and state = 'uploading'

-- name: cancel_waiting
-- tenant: row
-- Nobody works on it, so it ends here and its files go with the next tidying.
update jobs set state = 'cancelled', finished_at = $3, files_until = $4, worker_id = null, lease_until = null
where tenant_id = $1 and id = $2 and state = 'waiting'
returning id, kind, state, spec, place, done, total, result, error, actor, cancel_asked, created_at, started_at,
          finished_at, files_until, failures

-- name: cancel_running
-- tenant: row
-- Whoever works on it sees this before the next step.
update jobs set cancel_asked = true where tenant_id = $1 and id = $2 and state = 'running'
returning id, kind, state, spec, place, done, total, result, error, actor, cancel_asked, created_at, started_at,
          finished_at, files_until, failures

-- name: take_job
-- tenant: row
-- For one worker, where it waits or was left behind by another whose lease has run out. A row that is held belongs to a
-- step that is under way, however long it takes: nobody waits for it.
update jobs set state = 'running', worker_id = $3, lease_until = now() + make_interval(secs => $4),
    started_at = coalesce(started_at, now()), served_at = now()
where tenant_id = $1 and id = any (array(
    select j.id from jobs j
    where j.tenant_id = $1 and j.id = $2 and (j.state = 'waiting' or (j.state = 'running' and j.lease_until < now()))
    for no key update skip locked))
returning id, kind, state, spec, place, done, total, result, error, actor, cancel_asked, created_at, started_at,
          finished_at, files_until, failures

-- name: hold_job
-- tenant: row
-- The fence of every step: a worker that lost its lease finds nothing here and does nothing.
update jobs set lease_until = now() + make_interval(secs => $4)
where tenant_id = $1 and id = $2 and worker_id = $3 and state = 'running'
returning id, kind, state, spec, place, done, total, result, error, actor, cancel_asked, created_at, started_at,
          finished_at, files_until, failures

-- name: advance_job
-- tenant: row
-- In the transaction of the step's own effect.
update jobs set place = $3::text::jsonb, done = $4, total = $5, result = $6::text::jsonb, failures = 0
where tenant_id = $1 and id = $2

-- name: end_job
-- tenant: row
-- Finished, failed or cancelled; nothing takes it up again, so where it stood is nobody's business any more.
update jobs set state = $3, error = $4, files_until = $5, finished_at = now(), worker_id = null, lease_until = null,
    cancel_asked = false, place = '{}'
where tenant_id = $1 and id = $2

-- name: give_back_job
-- tenant: row
-- Waits for its next turn behind the others.
update jobs set state = 'waiting', worker_id = null, lease_until = null, served_at = now(),
    failures = case when $4 then failures + 1 else failures end
where tenant_id = $1 and id = $2 and worker_id = $3 and state = 'running'

-- name: drop_unfinished_upload
-- tenant: row
-- An upload that broke off leaves nothing.
delete from jobs where tenant_id = $1 and id = $2 and state = 'uploading'

-- name: forget_files
-- tenant: row
-- The job stays to be looked at, its files are gone.
update jobs set files_until = null where tenant_id = $1 and id = $2

-- name: put_part
-- tenant: row
-- One sealed part of a file.
insert into job_files (tenant_id, job_id, file, n, content) values ($1, $2, $3, $4, $5)

-- name: get_part
-- tenant: row
-- One sealed part of a file.
select content from job_files where tenant_id = $1 and job_id = $2 and file = $3 and n = $4

-- name: drop_files
-- tenant: row
-- What nobody needs any more.
delete from job_files where tenant_id = $1 and job_id = $2 and file = any ($3::text[])

-- name: due_jobs
-- tenant: all names tenants and jobs only, through a definer function
-- What waits, or was left behind; who waited longest comes first.
select tenant_id, id from waypost.due_jobs($1)

-- name: jobs_to_tidy
-- tenant: all names tenants and jobs only, through a definer function
-- Whose files are past their time.
select tenant_id, id from waypost.jobs_to_tidy($1)
