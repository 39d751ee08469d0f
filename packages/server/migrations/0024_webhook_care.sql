-- An endpoint may be switched off and on by its owner, and deleted.
alter table webhook_endpoints drop constraint webhook_endpoints_state_check;
alter table webhook_endpoints add constraint webhook_endpoints_state_check
  check (state in ('enabled', 'disabled', 'deleted'));
alter table webhook_endpoints drop constraint webhook_endpoints_disabled_reason_check;
alter table webhook_endpoints add constraint webhook_endpoints_disabled_reason_check
  check (disabled_reason in ('gone', 'failing', 'owner'));
-- Written anew in one statement with what it stands for: off says since when and why, on says neither.
do $$ declare name text; begin
  select conname into name from pg_constraint
  where conrelid = 'webhook_endpoints'::regclass and contype = 'c' and pg_get_constraintdef(oid) like '%disabled_at%';
  execute format('alter table webhook_endpoints drop constraint %I', name);
end $$;
alter table webhook_endpoints add constraint webhook_endpoints_off_check
  check (state = 'deleted' or (state = 'disabled') = (disabled_at is not null and disabled_reason is not null));
drop trigger states on webhook_endpoints;
create trigger states before update of state on webhook_endpoints for each row
  execute function webhook_keep_states('enabled>disabled', 'disabled>enabled', 'enabled>deleted', 'disabled>deleted');

alter table webhook_endpoints
  -- The secret before the present one signs too, until then.
  add column previous_sealed text,
  add column previous_until timestamptz,
  -- Failures since the last success, and the latest of them.
  add column failures int not null default 0,
  add column last_failure_at timestamptz,
  -- The circuit breaker: until then nothing is sent.
  add column open_until timestamptz,
  -- Notices mailed in this spell of failure, and when the endpoint must be looked at next.
  add column notices int not null default 0,
  add column watch_at timestamptz,
  -- A recovery under way: from when, and how far it has come in the list of events.
  add column recover_since timestamptz,
  add column recover_at timestamptz,
  add column recover_event_id text,
  add check ((previous_sealed is null) = (previous_until is null)),
  add check ((recover_since is null) = (recover_at is null));
create index webhook_endpoints_watch on webhook_endpoints (watch_at) where watch_at is not null;
create index webhook_endpoints_open on webhook_endpoints (open_until) where open_until is not null;
create index webhook_endpoints_recover on webhook_endpoints (recover_since) where recover_since is not null;
create index webhook_endpoints_deleted on webhook_endpoints (agent_id, endpoint_id) where state = 'deleted';

alter table webhook_deliveries
  -- A test or a probe is tried once and is no event of the agent's.
  add column kind text not null default 'event' check (kind in ('event', 'test', 'probe')),
  -- How often it was taken up again, and how many attempts were made before: the waits start anew, the fencing
  -- number goes on.
  add column replays int not null default 0,
  add column attempts_before int not null default 0;
-- What became due together goes in the order in which it happened, as far as that can be.
drop index webhook_deliveries_due;
create index webhook_deliveries_due on webhook_deliveries (due_at, event_id) where state = 'pending';
create index webhook_deliveries_pending on webhook_deliveries (agent_id, endpoint_id) where state = 'pending';
create index webhook_deliveries_dead on webhook_deliveries (agent_id, endpoint_id, settled_at) where state = 'dead';
-- What is settled comes back only by a replay, which counts itself.
create function webhook_keep_deliveries() returns trigger language plpgsql as $$
begin
  if new.state <> old.state and not (
    old.state = 'pending' or (new.state = 'pending' and new.replays = old.replays + 1)) then
    raise exception 'webhook_deliveries cannot go from % to %', old.state, new.state
      using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
drop trigger states on webhook_deliveries;
create trigger states before update of state on webhook_deliveries
  for each row execute function webhook_keep_deliveries();

-- What an endpoint did in each hour, counted in the transaction that settles attempts. Kept for a week.
create table webhook_health (
  agent_id text not null,
  endpoint_id text not null,
  hour timestamptz not null,
  delivered int not null default 0,
  failed int not null default 0,
  duration_ms bigint not null default 0,
  primary key (agent_id, endpoint_id, hour)
);
create index webhook_health_hour on webhook_health (hour);
call pohf_isolate('webhook_health');

-- Up to when the list of events is whole: no transaction that may still commit began before. An event is stamped
-- with the start of its transaction, so one that commits late would else appear behind a reader's back. Two
-- seconds cover the moment in which a transaction has its time and does not show it yet. Where other roles'
-- sessions cannot be seen, one minute stands in: longer than any transaction of ours may last.
create function pohf_events_whole_until() returns timestamptz
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select pohf_now() - (transaction_timestamp() - least(
    transaction_timestamp() - interval '2 seconds',
    min(xact_start),
    case when bool_or(query = '<insufficient privilege>' and pg_has_role(usesysid, 'pohf_app', 'member')) then transaction_timestamp() - interval '1 minute' end))
  from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
$$;
revoke execute on function pohf_events_whole_until() from public;
grant execute on function pohf_events_whole_until() to pohf_app;
