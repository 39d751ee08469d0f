-- The tables, types and functions of `sessions` after all migrations, to be read and not run. Written by npm run generate from
-- the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table attention_segments (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  day date not null,
  segment smallint not null check (segment >= '-1' and segment <= 32 and segment <> 0),
  site text not null,
  workflow text not null,
  primary key (agent_id, mode, day, segment),
  unique (agent_id, mode, day, site, workflow)
);
-- row-level security by agent_id
-- pohf_app may select

create table browser_sessions (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  key_hash bytea not null check (octet_length(key_hash) = 32),
  at timestamptz not null,
  session_id text not null,
  returned boolean not null,
  primary key (agent_id, mode, key_hash, at, session_id)
);
create index browser_sessions_old on browser_sessions (at);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table session_chunks (
  agent_id text not null,
  session_id text not null,
  seq integer not null check (seq between 1 and 2000),
  at timestamptz not null,
  leaf bytea not null check (octet_length(leaf) = 32),
  ciphertext bytea not null,
  primary key (agent_id, session_id, seq, at)
) partition by range (at);
-- partitions by day
-- row-level security by agent_id
-- pohf_app may select, insert

create table session_claims (
  agent_id text not null,
  mode text not null,
  session_id text not null,
  at timestamptz not null,
  primary key (agent_id, mode, session_id)
);
-- row-level security by agent_id, open to pohf_mint
-- pohf_app may select, insert, update, delete
-- pohf_mint may select

create table session_hours (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  hour timestamptz not null,
  slot smallint not null check (slot between 0 and 3),
  started integer not null,
  ended integer not null,
  verified integer not null,
  refused integer not null,
  quality integer[] not null check (cardinality(quality) = 10),
  primary key (agent_id, mode, hour, slot)
) with (fillfactor=50);
create index session_hours_to_merge on session_hours (hour) where slot <> 0;
-- row-level security by agent_id
-- pohf_app may select

create table session_keys (
  agent_id text not null,
  session_id text not null,
  sealed text not null,
  primary key (agent_id, session_id)
);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table session_reason_hours (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  hour timestamptz not null,
  reason text not null,
  slot smallint not null check (slot between 0 and 3),
  refused integer not null,
  primary key (agent_id, mode, hour, reason, slot)
) with (fillfactor=50);
create index session_reason_hours_to_merge on session_reason_hours (hour) where slot <> 0;
-- row-level security by agent_id
-- pohf_app may select

create table session_recorders (
  agent_id text not null,
  session_id text not null,
  mode text not null check (mode in ('live', 'test')),
  kind text not null check (kind in ('view', 'work', 'task', 'approval')) not valid,
  at timestamptz not null,
  expires_at timestamptz not null,
  status text not null default 'open' check (status in ('open', 'closed', 'expired')),
  public_key bytea not null check (octet_length(public_key) = 64),
  state jsonb not null,
  primary key (agent_id, session_id)
) with (fillfactor=50);
create index session_recorders_by_id on session_recorders (session_id);
create index session_recorders_due on session_recorders (expires_at) where status = 'open';
create index session_recorders_ended on session_recorders (expires_at) where status <> 'open';
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table sessions (
  agent_id text not null,
  session_id text not null,
  at timestamptz not null default pohf_now(),
  mode text not null check (mode in ('live', 'test')),
  kind text not null check (kind in ('view', 'work', 'task', 'presence', 'approval')) not valid,
  status text not null check (status in ('open', 'closed', 'scored', 'sealed', 'expired')),
  simulated boolean not null default false,
  member_ref text,
  workflow_id text,
  challenge text,
  source text,
  ended_at timestamptz,
  quality double precision check (quality between 0 and 1),
  verified boolean,
  assurance text check (assurance in ('low', 'substantial', 'high')),
  scoring text,
  components jsonb,
  flags text[] not null default '{}',
  reasons text[] not null default '{}',
  telemetry jsonb,
  evidence jsonb not null default '[]',
  salt bytea,
  credential_id text,
  jkt text,
  opening jsonb,
  leaves bytea check ((octet_length(leaves) % 32) = 0),
  faults text[] not null default '{}',
  counted jsonb,
  hostname text check (length(hostname) between 1 and 255),
  redeemed_at timestamptz,
  redeemed_key uuid,
  primary key (agent_id, session_id, at),
  check ((status not in ('scored', 'sealed')) or quality is not null and verified is not null),
  check ((status = 'sealed') = (credential_id is not null)),
  check (redeemed_key is null or redeemed_at is not null)
) partition by range (at);
create index sessions_agent_id_mode_kind_at_session_id_idx on sessions (agent_id, mode, kind, at, session_id);
create index sessions_closed on sessions (at, session_id) where status = 'closed';
create index sessions_of_member on sessions (agent_id, mode, member_ref) where member_ref is not null;
create index sessions_of_visitors on sessions (at, session_id) where status <> 'sealed' and member_ref is null;
create trigger all_kinds_changed after update of agent_id, mode, at, ended_at, verified, quality, reasons on sessions for each
  row when (old.agent_id is distinct from new.agent_id or old.mode is distinct from new.mode or old.at is distinct from new.at
  or (old.ended_at is null) is distinct from (new.ended_at is null) or old.verified is distinct from new.verified or old.quality
  is distinct from new.quality or old.reasons is distinct from new.reasons) execute function sessions_recount_hours();
create trigger all_kinds_deleted after delete on sessions referencing old table as changed for each statement execute function
  sessions_count_hours();
create trigger all_kinds_stored after insert on sessions referencing new table as changed for each statement execute function
  sessions_count_hours();
create trigger count_changed after update of agent_id, mode, kind, at, hostname, workflow_id, status, verified, quality, flags,
  jkt, ended_at on sessions for each row when ((old.kind = 'view' or new.kind = 'view') and (old.agent_id is distinct from
  new.agent_id or old.mode is distinct from new.mode or old.kind is distinct from new.kind or old.at is distinct from new.at or
  old.hostname is distinct from new.hostname or old.workflow_id is distinct from new.workflow_id or (old.status = 'expired') is
  distinct from (new.status = 'expired') or old.verified is distinct from new.verified or old.quality is distinct from
  new.quality or old.flags is distinct from new.flags or old.jkt is distinct from new.jkt or old.ended_at is distinct from
  new.ended_at)) execute function sessions_recount_view();
create trigger count_deleted after delete on sessions referencing old table as changed for each statement execute function
  sessions_count_views();
create trigger count_stored after insert on sessions referencing new table as changed for each statement execute function
  sessions_count_views();
create trigger transition before update on sessions for each row when (old.status is distinct from 'scored' or new.status is
  distinct from 'sealed' or old.quality is distinct from new.quality or old.verified is distinct from new.verified)
  execute function sessions_transition();
-- partitions by month, never dropped
-- row-level security by agent_id, open to pohf_mint
-- pohf_app may select, insert, update, delete
-- pohf_mint may select (agent_id, session_id, at, mode, status, quality, verified, credential_id), update (status,
-- credential_id)

create table view_flag_hours (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  hour timestamptz not null,
  flag text not null,
  slot smallint not null check (slot between 0 and 3),
  views integer not null,
  segment smallint not null default 0,
  primary key (agent_id, mode, hour, segment, flag, slot)
) with (fillfactor=50);
create index view_flag_hours_to_merge on view_flag_hours (hour) where slot <> 0;
-- row-level security by agent_id
-- pohf_app may select

create table view_hours (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  hour timestamptz not null,
  slot smallint not null check (slot between 0 and 3),
  views integer not null,
  verified integer not null,
  rejected integer not null,
  scored integer not null,
  quality numeric not null,
  segment smallint not null default 0,
  qualities integer[] check (cardinality(qualities) = 20),
  probes integer not null default 0,
  passed integer not null default 0,
  opened integer not null default 0,
  finished integer not null default 0,
  abandoned integer not null default 0,
  durations integer[] check (cardinality(durations) = 32),
  primary key (agent_id, mode, hour, segment, slot)
) with (fillfactor=50);
create index view_hours_to_merge on view_hours (hour) where slot <> 0;
-- row-level security by agent_id
-- pohf_app may select

create type view_change as (agent_id text, mode text, hour timestamptz, segment smallint, change integer, verified boolean,
  quality double precision, flags text[], probes integer, passed integer, opened boolean, finished boolean, abandoned boolean,
  duration_bin integer);

-- pohf_app may execute it
create function attention_segment(of_agent text, of_mode text, viewed timestamptz, of_site text, of_workflow text)
  returns smallint language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
declare
  on_day date := pohf_day(viewed);
  found_segment smallint;
begin
  if of_site is null and of_workflow is null then return 0; end if;
  loop
    select known.segment into found_segment from attention_segments known
    where known.agent_id = of_agent and known.mode = of_mode and known.day = on_day
      and known.site = coalesce(of_site, '') and known.workflow = coalesce(of_workflow, '');
    if found then return found_segment; end if;
    select coalesce(max(known.segment), 0) + 1 into found_segment from attention_segments known
    where known.agent_id = of_agent and known.mode = of_mode and known.day = on_day and known.segment > 0;
    if found_segment > 32 then
      insert into attention_segments (agent_id, mode, day, segment, site, workflow)
      select of_agent, of_mode, on_day, -1, '', ''
      where not exists (select from attention_segments known where known.agent_id = of_agent and known.mode = of_mode
        and known.day = on_day and known.segment = -1)
      on conflict do nothing;
      return -1;
    end if;
    insert into attention_segments (agent_id, mode, day, segment, site, workflow)
    values (of_agent, of_mode, on_day, found_segment, coalesce(of_site, ''), coalesce(of_workflow, ''))
    on conflict do nothing;
    if found then return found_segment; end if;
  end loop;
end $$;

create function check_duration_bin(started timestamptz, ended timestamptz) returns integer language sql immutable parallel safe
  return width_bucket((extract(epoch from (ended - started)))::double precision, array[1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8,
  10, 12.5, 16, 20, 25, 32, 40, 50, 63, 80, 100, 125, 160, 200, 250, 320, 400, 500, 630, 800, 1000]);

create function quality_bin(quality double precision) returns integer language sql immutable parallel safe
  return case when (quality >= 1) then 19 else (floor((quality * 20)))::integer end;

-- pohf_app may execute it
create function session_forget_records(agent text, session text, from_at timestamptz) returns void language sql security definer
  set search_path to 'public', 'pg_temp' as $$
  delete from session_chunks
  where agent_id = agent and session_id = session and at >= from_at and at < from_at + interval '2 hours'
$$;

create function session_quality_counts(quality double precision, count integer) returns integer[] language sql
  immutable parallel safe as $$
  select array_agg(case when n = least(floor(quality * 10), 9) then count else 0 end order by n) from generate_series(0, 9) n
$$;

create function sessions_count_hours() returns trigger language plpgsql security definer
  set search_path to 'public', 'pg_temp' as $$
declare
  change int := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into session_hours as known (agent_id, mode, hour, slot, started, ended, verified, refused, quality)
  select agent_id, mode, date_trunc('hour', at, 'UTC') as hour, pohf_hour_slot(), change * count(*),
    change * count(ended_at), change * count(*) filter (where verified), change * count(*) filter (where not verified),
    pohf_sum_counts(session_quality_counts(quality, change))
  from changed group by agent_id, mode, hour order by agent_id, mode, hour
  on conflict (agent_id, mode, hour, slot) do update set started = known.started + excluded.started,
    ended = known.ended + excluded.ended, verified = known.verified + excluded.verified,
    refused = known.refused + excluded.refused, quality = pohf_add_counts(known.quality, excluded.quality);
  insert into session_reason_hours as known (agent_id, mode, hour, reason, slot, refused)
  select agent_id, mode, date_trunc('hour', at, 'UTC') as hour, reason, pohf_hour_slot(), change * count(*)
  from changed, unnest(reasons) reason where not verified
  group by agent_id, mode, hour, reason order by agent_id, mode, hour, reason
  on conflict (agent_id, mode, hour, reason, slot) do update set refused = known.refused + excluded.refused;
  return null;
end $$;

create function sessions_count_views() returns trigger language plpgsql security definer
  set search_path to 'public', 'pg_temp' as $$
declare
  by_change int := case tg_op when 'INSERT' then 1 else -1 end;
  changes view_change[];
begin
  select array_agg(view_change_of(agent_id, mode, at, hostname, workflow_id, status, verified, quality, flags, counted, jkt,
    ended_at, by_change)) into changes
  from (select * from changed where kind = 'view' order by agent_id, mode, at) ordered;
  if changes is not null then perform view_hours_add(changes); end if;
  return null;
end $$;

create function sessions_recount_hours() returns trigger language plpgsql security definer
  set search_path to 'public', 'pg_temp' as $$
begin
  insert into session_hours as known (agent_id, mode, hour, slot, started, ended, verified, refused, quality)
  select agent_id, mode, date_trunc('hour', at, 'UTC') as hour, pohf_hour_slot(), sum(change),
    coalesce(sum(change) filter (where ended_at is not null), 0), coalesce(sum(change) filter (where verified), 0),
    coalesce(sum(change) filter (where not verified), 0), pohf_sum_counts(session_quality_counts(quality, change))
  from (values (old.agent_id, old.mode, old.at, old.ended_at, old.verified, old.quality, -1),
    (new.agent_id, new.mode, new.at, new.ended_at, new.verified, new.quality, 1))
    row (agent_id, mode, at, ended_at, verified, quality, change)
  group by agent_id, mode, hour order by agent_id, mode, hour
  on conflict (agent_id, mode, hour, slot) do update set started = known.started + excluded.started,
    ended = known.ended + excluded.ended, verified = known.verified + excluded.verified,
    refused = known.refused + excluded.refused, quality = pohf_add_counts(known.quality, excluded.quality);
  insert into session_reason_hours as known (agent_id, mode, hour, reason, slot, refused)
  select agent_id, mode, date_trunc('hour', at, 'UTC') as hour, reason, pohf_hour_slot(), sum(change)
  from (values (old.agent_id, old.mode, old.at, old.verified, old.reasons, -1),
    (new.agent_id, new.mode, new.at, new.verified, new.reasons, 1)) row (agent_id, mode, at, verified, reasons, change),
    unnest(reasons) reason
  where not verified
  group by agent_id, mode, hour, reason having sum(change) <> 0 order by agent_id, mode, hour, reason
  on conflict (agent_id, mode, hour, reason, slot) do update set refused = known.refused + excluded.refused;
  return null;
end $$;

create function sessions_recount_view() returns trigger language plpgsql security definer
  set search_path to 'public', 'pg_temp' as $$
declare changes view_change[] := '{}';
begin
  if old.kind = 'view' then
    changes := changes || view_change_of(old.agent_id, old.mode, old.at, old.hostname, old.workflow_id, old.status,
      old.verified, old.quality, old.flags, old.counted, old.jkt, old.ended_at, -1);
  end if;
  if new.kind = 'view' then
    changes := changes || view_change_of(new.agent_id, new.mode, new.at, new.hostname, new.workflow_id, new.status,
      new.verified, new.quality, new.flags, new.counted, new.jkt, new.ended_at, 1);
  end if;
  perform view_hours_add(changes);
  return null;
end $$;

create function sessions_transition() returns trigger language plpgsql as $$
begin
  if old.status is distinct from new.status and (old.status, new.status) not in
    (('open', 'closed'), ('open', 'expired'), ('closed', 'scored'), ('closed', 'expired'), ('scored', 'sealed'),
     ('scored', 'expired')) then
    raise exception 'a session cannot go from % to %', old.status, new.status using errcode = 'check_violation';
  end if;
  if old.status in ('scored', 'sealed') and (old.quality, old.verified) is distinct from (new.quality, new.verified) then
    raise exception 'a session is scored once' using errcode = 'check_violation';
  end if;
  return new;
end $$;

-- only its owner may execute it
create function view_change_of(agent_id text, mode text, at timestamptz, hostname text, workflow_id text, status text,
  verified boolean, quality double precision, flags text[], counted jsonb, jkt text, ended_at timestamptz, change integer)
  returns view_change language sql as $$
  select row(agent_id, mode, date_trunc('hour', at, 'UTC'), attention_segment(agent_id, mode, at, hostname, workflow_id),
    change, verified, quality, flags, coalesce((counted ->> 'probes')::int, 0), coalesce((counted ->> 'hits')::int, 0),
    jkt is not null, jkt is not null and ended_at is not null,
    jkt is not null and ended_at is null and status = 'expired',
    case when jkt is not null and ended_at is not null then check_duration_bin(at, ended_at) end)::view_change
$$;

-- only its owner may execute it
create function view_hours_add(changes view_change[]) returns void language plpgsql security definer
  set search_path to 'public', 'pg_temp' as $$
begin
  insert into view_hours as known (agent_id, mode, hour, segment, slot, views, verified, rejected, scored, quality,
    qualities, probes, passed, opened, finished, abandoned, durations)
  select agent_id, mode, hour, segment, pohf_hour_slot(), sum(change),
    coalesce(sum(change) filter (where verified), 0), coalesce(sum(change) filter (where not verified), 0),
    coalesce(sum(change) filter (where v.quality is not null), 0), coalesce(sum(change * v.quality::numeric), 0),
    nullif(pohf_sum_counts(pohf_bin_counts(quality_bin(v.quality), 20, change)) filter (where v.quality is not null), '{}'),
    sum(change * probes), sum(change * passed), coalesce(sum(change) filter (where opened), 0),
    coalesce(sum(change) filter (where finished), 0), coalesce(sum(change) filter (where abandoned), 0),
    nullif(pohf_sum_counts(pohf_bin_counts(duration_bin, 32, change)) filter (where duration_bin is not null), '{}')
  from unnest(changes) v group by agent_id, mode, hour, segment order by agent_id, mode, hour, segment
  on conflict (agent_id, mode, hour, segment, slot) do update set views = known.views + excluded.views,
    verified = known.verified + excluded.verified, rejected = known.rejected + excluded.rejected,
    scored = known.scored + excluded.scored, quality = known.quality + excluded.quality,
    qualities = case when excluded.qualities is null then known.qualities
      else pohf_add_counts(coalesce(known.qualities, '{}'), excluded.qualities) end,
    probes = known.probes + excluded.probes, passed = known.passed + excluded.passed,
    opened = known.opened + excluded.opened, finished = known.finished + excluded.finished,
    abandoned = known.abandoned + excluded.abandoned,
    durations = case when excluded.durations is null then known.durations
      else pohf_add_counts(coalesce(known.durations, '{}'), excluded.durations) end;
  insert into view_flag_hours as known (agent_id, mode, hour, segment, flag, slot, views)
  select agent_id, mode, hour, segment, flag, pohf_hour_slot(), sum(change)
  from unnest(changes) v, unnest(v.flags) flag
  group by agent_id, mode, hour, segment, flag having sum(change) <> 0
  order by agent_id, mode, hour, segment, flag
  on conflict (agent_id, mode, hour, segment, flag, slot) do update set views = known.views + excluded.views;
end $$;
