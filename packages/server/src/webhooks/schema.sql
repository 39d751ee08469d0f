-- The tables, types and functions of `webhooks` after all migrations, to be read and not run. Written by npm run generate from
-- the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table webhook_attempts (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  delivery_id text not null,
  endpoint_id text not null,
  event_id text not null,
  attempt integer not null,
  at timestamptz not null default pohf_now(),
  outcome text not null check (outcome in ('delivered', 'failed', 'gone')),
  status integer,
  fault text,
  duration_ms integer not null,
  primary key (agent_id, delivery_id, attempt, at),
  check ((status is null) <> (fault is null))
) partition by range (at);
create trigger append_only before update on webhook_attempts for each statement execute function pohf_append_only();
-- partitions by month, dropped after 3 months
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table webhook_deliveries (
  agent_id text not null,
  mode text not null,
  delivery_id text not null,
  endpoint_id text not null,
  event_id text not null,
  body text not null check (octet_length(body) <= 20480),
  state text not null default 'pending' check (state in ('pending', 'delivered', 'dead')),
  created_at timestamptz not null default pohf_now(),
  due_at timestamptz not null default pohf_now(),
  attempts integer not null default 0,
  settled_at timestamptz,
  kind text not null default 'event' check (kind in ('event', 'test', 'probe')),
  replays integer not null default 0,
  attempts_before integer not null default 0,
  sent_with text,
  trace text constraint webhook_deliveries_trace check (trace ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-01$') not valid,
  published_at timestamptz,
  lease_until timestamptz,
  scheduled boolean not null default false,
  primary key (agent_id, delivery_id),
  unique (agent_id, mode, endpoint_id, event_id),
  foreign key (agent_id, mode, endpoint_id) references webhook_endpoints(agent_id, mode, endpoint_id),
  check ((state = 'pending') = (settled_at is null))
) with (fillfactor=50);
create index webhook_deliveries_dead on webhook_deliveries (agent_id, endpoint_id, settled_at) where state = 'dead';
create index webhook_deliveries_pending on webhook_deliveries (agent_id, endpoint_id) where state = 'pending';
create index webhook_deliveries_ready on webhook_deliveries (agent_id, endpoint_id, due_at, event_id) where state = 'pending' and
  not scheduled;
create index webhook_deliveries_scheduled on webhook_deliveries (due_at) where state = 'pending' and scheduled;
create index webhook_deliveries_sent_with on webhook_deliveries (agent_id, sent_with) where sent_with is not null;
create index webhook_deliveries_settled on webhook_deliveries (settled_at) where state <> 'pending';
create trigger states before update of state on webhook_deliveries for each row when (old.state <> 'pending' and new.state <>
  old.state) execute function webhook_keep_deliveries();
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table webhook_endpoints (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  endpoint_id text not null,
  url text not null,
  events text[] not null check (cardinality(events) between 1 and 100),
  secret_sealed text not null,
  state text not null default 'enabled' check (state in ('enabled', 'disabled', 'deleted')),
  created_at timestamptz not null default pohf_now(),
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_reason text check (disabled_reason in ('gone', 'failing', 'owner')),
  previous_sealed text,
  previous_until timestamptz,
  failures integer not null default 0,
  last_failure_at timestamptz,
  open_until timestamptz,
  notices integer not null default 0,
  watch_at timestamptz,
  recover_since timestamptz,
  recover_at timestamptz,
  recover_event_id text,
  proven_at timestamptz,
  primary key (agent_id, endpoint_id),
  unique (agent_id, mode, endpoint_id),
  foreign key (agent_id, mode) references agents(agent_id, mode),
  check ((previous_sealed is null) = (previous_until is null)),
  check ((recover_since is null) = (recover_at is null)),
  constraint webhook_endpoints_off_check check (state = 'deleted' or (state = 'disabled') = (disabled_at is not null and
    disabled_reason is not null))
);
create index webhook_endpoints_deleted on webhook_endpoints (agent_id, endpoint_id) where state = 'deleted';
create index webhook_endpoints_open on webhook_endpoints (open_until) where open_until is not null;
create index webhook_endpoints_recover on webhook_endpoints (recover_since) where recover_since is not null;
create index webhook_endpoints_watch on webhook_endpoints (watch_at) where watch_at is not null;
create trigger states before update of state on webhook_endpoints for each row execute function webhook_keep_states('enabled>disabled',
  'disabled>enabled', 'enabled>deleted', 'disabled>deleted');
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table webhook_health (
  agent_id text not null,
  endpoint_id text not null,
  hour timestamptz not null,
  delivered integer not null default 0,
  failed integer not null default 0,
  duration_ms bigint not null default 0,
  primary key (agent_id, endpoint_id, hour)
);
create index webhook_health_hour on webhook_health (hour);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table webhook_hosts (
  host text not null check (length(host) between 1 and 400),
  holder text,
  busy_until timestamptz,
  failures integer not null default 0,
  window_ends_at timestamptz not null,
  primary key (host),
  check ((holder is null) = (busy_until is null))
);
create index webhook_hosts_window on webhook_hosts (window_ends_at);
-- pohf_app may select, insert, update, delete

create function webhook_keep_deliveries() returns trigger language plpgsql as $$
begin
  if new.state <> old.state and not (
    old.state = 'pending' or (new.state = 'pending' and new.replays = old.replays + 1)) then
    raise exception 'webhook_deliveries cannot go from % to %', old.state, new.state
      using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create function webhook_keep_states() returns trigger language plpgsql as $$
begin
  if new.state <> old.state and not (old.state || '>' || new.state) = any (tg_argv) then
    raise exception '% cannot go from % to %', tg_table_name, old.state, new.state
      using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
