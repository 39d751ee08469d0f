-- One row per verified view that sent a beacon: the lock under which its beacons are counted. Dropped when the
-- view token has run out.
create table track_views (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  session_id text not null,
  viewed_at timestamptz not null,
  beacons int not null default 0 check (beacons between 0 and 500),
  primary key (agent_id, mode, session_id)
);
create index on track_views (viewed_at);
call pohf_isolate('track_views');

-- A client's own event id counts once per view, across all months.
create table track_event_claims (
  agent_id text not null,
  mode text not null,
  session_id text not null,
  client_event_id text not null,
  viewed_at timestamptz not null,
  primary key (agent_id, mode, session_id, client_event_id)
);
create index on track_event_claims (viewed_at);
call pohf_isolate('track_event_claims');

-- What a page told us after a verified view. No address, no user agent, no cookie: there is no column for one.
create table track_events (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  session_id text not null,
  -- The number of the beacon within its view, given under the lock of track_views.
  seq int not null check (seq between 1 and 500),
  at timestamptz not null default pohf_now(),
  viewed_at timestamptz not null,
  type text not null,
  client_event_id text,
  client_at timestamptz,
  path text,
  props jsonb,
  primary key (agent_id, mode, session_id, seq, at)
) partition by range (at);
create index on track_events (agent_id, mode, viewed_at, session_id);
insert into platform_partitioned values ('track_events', 13);
call pohf_isolate('track_events');
revoke update, delete, truncate on track_events from pohf_app;

-- Dedupe of conversions by the caller's Idempotency-Key, for as long as the view token works.
create table conversion_claims (
  agent_id text not null,
  mode text not null,
  session_id text not null,
  name text not null,
  idempotency_key text not null,
  viewed_at timestamptz not null,
  primary key (agent_id, mode, session_id, name, idempotency_key)
);
create index on conversion_claims (viewed_at);
call pohf_isolate('conversion_claims');

create table conversions (
  agent_id text not null,
  -- The id of the event that announced it.
  event_id text not null,
  at timestamptz not null default pohf_now(),
  mode text not null check (mode in ('live', 'test')),
  session_id text not null,
  viewed_at timestamptz not null,
  name text not null,
  -- The customer's own figure in its own currency: reported back, never settled, so not money of the ledger.
  value double precision,
  currency text check (currency ~ '^[A-Z]{3}$'),
  primary key (agent_id, event_id, at)
) partition by range (at);
create index on conversions (agent_id, mode, viewed_at);
insert into platform_partitioned values ('conversions', null);
call pohf_isolate('conversions');
revoke update, delete, truncate on conversions from pohf_app;

call pohf_make_partitions('track_events', now(), 3);
call pohf_make_partitions('conversions', now(), 3);
