-- Refuses a change of state that is not among the trigger's arguments, each written 'from>to'.
create function webhook_keep_states() returns trigger language plpgsql as $$
begin
  if new.state <> old.state and not (old.state || '>' || new.state) = any (tg_argv) then
    raise exception '% cannot go from % to %', tg_table_name, old.state, new.state
      using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create table webhook_endpoints (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  endpoint_id text not null,
  url text not null,
  events text[] not null check (cardinality(events) between 1 and 100),
  -- Sealed under a key that the database does not hold: a dump forges no delivery.
  secret_sealed text not null,
  state text not null default 'enabled' check (state in ('enabled', 'disabled')),
  created_at timestamptz not null default pohf_now(),
  -- The first failure since the last success.
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_reason text check (disabled_reason in ('gone', 'failing')),
  primary key (agent_id, endpoint_id),
  -- A delivery refers to it with its mode, so that no event crosses from test to live.
  unique (agent_id, mode, endpoint_id),
  foreign key (agent_id, mode) references agents (agent_id, mode),
  check ((state = 'disabled') = (disabled_at is not null and disabled_reason is not null))
);
create trigger states before update of state on webhook_endpoints
  for each row execute function webhook_keep_states('enabled>disabled');
call pohf_isolate('webhook_endpoints');

-- The working queue: one row per endpoint and event. `attempts` is the fencing number of platform/leases.
-- Unpartitioned, because its natural key must hold across months; settled rows are dropped after 30 days.
create table webhook_deliveries (
  agent_id text not null,
  mode text not null,
  delivery_id text not null,
  endpoint_id text not null,
  event_id text not null,
  -- The exact bytes that are signed, the same at every attempt.
  body text not null check (octet_length(body) <= 20480),
  state text not null default 'pending' check (state in ('pending', 'delivered', 'dead')),
  created_at timestamptz not null default pohf_now(),
  due_at timestamptz not null default pohf_now(),
  attempts int not null default 0,
  settled_at timestamptz,
  primary key (agent_id, delivery_id),
  unique (agent_id, mode, endpoint_id, event_id),
  foreign key (agent_id, mode, endpoint_id) references webhook_endpoints (agent_id, mode, endpoint_id),
  check ((state = 'pending') = (settled_at is null))
);
create index webhook_deliveries_due on webhook_deliveries (due_at) where state = 'pending';
create index webhook_deliveries_settled on webhook_deliveries (settled_at) where state <> 'pending';
create trigger states before update of state on webhook_deliveries
  for each row execute function webhook_keep_states('pending>delivered', 'pending>dead');
call pohf_isolate('webhook_deliveries');

-- What was sent and what came back, one row per attempt. No address, no body, no signature.
create table webhook_attempts (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  delivery_id text not null,
  endpoint_id text not null,
  event_id text not null,
  attempt int not null,
  at timestamptz not null default pohf_now(),
  outcome text not null check (outcome in ('delivered', 'failed', 'gone')),
  -- The answer's status, or why there was none.
  status int,
  fault text,
  duration_ms int not null,
  primary key (agent_id, delivery_id, attempt, at),
  check ((status is null) <> (fault is null))
) partition by range (at);
create trigger append_only before update on webhook_attempts
  for each statement execute function pohf_append_only();
insert into platform_partitioned values ('webhook_attempts', 3);
call pohf_isolate('webhook_attempts');
call pohf_make_partitions('webhook_attempts', now(), 3);
