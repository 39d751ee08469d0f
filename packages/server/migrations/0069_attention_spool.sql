-- Beacons and conversions on their way to ClickHouse. With CLICKHOUSE_URL the api stores rows here, in the transaction of
-- the view's lock, in place of track_events and conversions. The worker sends them in sealed batches and deletes them when
-- ClickHouse has acknowledged. An entry holds what one call stored for one view: `lines` has one line of JSON for each row.
create sequence attention_spool_seq;
create table attention_spool (
  agent_id text not null,
  spool_no bigint not null default nextval('attention_spool_seq'),
  mode text not null check (mode in ('live', 'test')),
  session_id text not null,
  viewed_at timestamptz not null,
  -- The numbers of attention_segments and attention_pages. The worker looks up what they stand for.
  segment smallint not null,
  page smallint not null,
  kind text not null check (kind in ('beacons', 'conversions')),
  -- Whether the view itself is sent, too: with its first beacon and its first conversion.
  with_view boolean not null,
  rows int not null check (rows > 0),
  recorded_at timestamptz not null default pohf_now(),
  lines text not null,
  primary key (agent_id, spool_no)
);
create index attention_spool_order on attention_spool (spool_no);
call pohf_isolate('attention_spool');
revoke update, truncate on attention_spool from pohf_app;
grant usage on sequence attention_spool_seq to pohf_app;

-- Deployment-wide: a batch holds rows of several agents. At most one is open. What it holds never changes, and its number
-- is the token by which ClickHouse counts it once.
create table attention_batches (
  number bigint primary key check (number > 0),
  spool_nos bigint[] not null,
  beacons int not null,
  conversions int not null,
  sealed_at timestamptz not null default pohf_now(),
  delivered_at timestamptz
);
create unique index attention_batches_open on attention_batches ((true)) where delivered_at is null;
create index attention_batches_old on attention_batches (delivered_at);

-- Deployment-wide, one row: how far the delivery is, and who works on it. `attempt` is the fencing token of the lease.
create table attention_delivery (
  name text primary key check (name = 'clickhouse'),
  sealed bigint not null default 0,
  attempt bigint not null default 0,
  lease_until timestamptz not null default '-infinity',
  -- Up to which time of storage the backfill has copied the rows of a table.
  beacons_copied timestamptz not null default '-infinity',
  conversions_copied timestamptz not null default '-infinity',
  -- Up to which batch rows were copied back.
  returned bigint not null default 0
);
insert into attention_delivery (name) values ('clickhouse');
insert into platform_due_times values ('attention_delivery', 'lease_until', 'true');
revoke insert, delete, truncate on attention_delivery from pohf_app;

-- Deletions that ClickHouse must make: after the batches that were sealed when they were asked for.
create table attention_erasures (
  agent_id text not null,
  erasure_id uuid not null default gen_random_uuid(),
  -- Null: everything of the agent.
  session_id text,
  after_batch bigint not null,
  requested_at timestamptz not null default pohf_now(),
  done_at timestamptz,
  primary key (agent_id, erasure_id)
);
create index attention_erasures_open on attention_erasures (requested_at) where done_at is null;
call pohf_isolate('attention_erasures');

-- What waits, for any tenant: the oldest time, and at most how many entries. Numbers that were rolled back count, too.
create function attention_spool_state(out oldest_at timestamptz, out entries bigint)
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  tenant text := pohf_tenant();
begin
  perform set_config('pohf.tenant', 'system', true);
  select min(first.recorded_at) into oldest_at
  from (select recorded_at from attention_spool order by spool_no limit 1000) first;
  select sequence.last_value - first.spool_no + 1 into entries
  from attention_spool_seq sequence, (select spool_no from attention_spool order by spool_no limit 1) first;
  entries := coalesce(entries, 0);
  perform set_config('pohf.tenant', tenant, true);
end $$;
revoke execute on function attention_spool_state() from public;
grant execute on function attention_spool_state() to pohf_app;

-- The backfill reads rows in the order in which they were stored. They are stored in that order, so a range index is enough.
create index track_events_stored on track_events using brin (at);
create index conversions_stored on conversions using brin (at);
