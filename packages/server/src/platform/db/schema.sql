-- The tables, types and functions of `platform` after all migrations, to be read and not run. Written by npm run generate from
-- the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table events (
  agent_id text not null,
  event_id text not null,
  at timestamptz not null default pohf_now(),
  mode text not null check (mode in ('live', 'test')),
  type text not null,
  subject text not null,
  data jsonb not null,
  primary key (agent_id, event_id, at)
) partition by range (at);
create index events_agent_id_at_event_id_idx on events (agent_id, at, event_id);
create index events_of_subject on events (agent_id, subject) where type <> 'credential.issued';
-- partitions by month, dropped after 3 months
-- row-level security by agent_id, open to pohf_mint for insert
-- pohf_app may select, insert, update, delete
-- pohf_mint may insert

create table idempotency_keys (
  agent_id text not null,
  method text not null,
  path text not null,
  key text not null,
  fingerprint bytea not null,
  created_at timestamptz not null default pohf_now(),
  lease_until timestamptz,
  status integer,
  sealed boolean not null default false,
  body text,
  subject text,
  primary key (agent_id, method, path, key)
);
create index idempotency_keys_created_at_idx on idempotency_keys (created_at);
create index idempotency_keys_subject on idempotency_keys (agent_id, subject) where subject is not null;
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table mail_counts (
  recipient_tag text not null check (length(recipient_tag) between 1 and 64),
  kind text not null,
  day date not null,
  sent integer not null check (sent > 0),
  primary key (recipient_tag, kind, day)
);
create index mail_counts_day_idx on mail_counts (day);
-- pohf_app may select, insert, update, delete

create table outbox (
  agent_id text not null,
  outbox_id text not null,
  topic text not null,
  payload jsonb not null,
  created_at timestamptz not null default pohf_now(),
  due_at timestamptz not null default pohf_now(),
  attempts integer not null default 0,
  last_error text,
  trace text default nullif(current_setting('pohf.trace', true), '') constraint outbox_trace check (trace ~
    '^00-[0-9a-f]{32}-[0-9a-f]{16}-01$') not valid,
  primary key (agent_id, outbox_id)
);
create index outbox_due on outbox (topic, due_at);
-- row-level security by agent_id, open to pohf_mint for insert
-- pohf_app may select, insert, update, delete
-- pohf_mint may insert

create table platform_clock (
  single boolean not null default true check (single),
  seen_at timestamptz not null default pohf_now(),
  set_back_at timestamptz,
  primary key (single)
);
-- pohf_app may select

create table platform_due_times (
  table_name text not null,
  column_name text not null,
  condition text not null default 'true',
  primary key (table_name, column_name)
);
-- pohf_app may select

create table platform_kept_keys (
  purpose text not null,
  fingerprint text not null check (fingerprint ~ '^[A-Za-z0-9_-]{43}$'),
  version integer not null,
  primary key (purpose)
);
create index platform_kept_keys_version on platform_kept_keys (version);
-- pohf_app may select, insert

create table platform_master_key (
  fingerprint text not null check (fingerprint ~ '^[A-Za-z0-9_-]{43}$'),
  noted_at timestamptz not null default pohf_now(),
  version integer not null default 1 check (version > 0),
  seals_since timestamptz default pohf_now(),
  rewrapped_at timestamptz,
  retired_at timestamptz,
  primary key (version)
);
create trigger forward before update on platform_master_key for each row execute function platform_master_key_forward();
create trigger kept_keys after delete on platform_master_key for each row execute function platform_kept_keys_follow();
-- pohf_app may select, insert, update (seals_since, rewrapped_at, retired_at)

create table platform_master_key_holders (
  holder text not null,
  role text not null check (role in ('api', 'worker')),
  host text not null check (length(host) <= 255),
  versions integer[] not null check (cardinality(versions) between 1 and 100),
  sealing integer not null,
  seen_at timestamptz not null default pohf_now(),
  primary key (holder)
);
-- pohf_app may select, insert, update, delete

create table platform_migrations (
  number integer not null,
  name text not null,
  hash text not null,
  applied_at timestamptz not null default now(),
  primary key (number)
);
-- pohf_app may select

create table platform_partitioned (
  table_name text not null,
  keep_months integer check (keep_months > 0),
  by_day boolean not null default false,
  primary key (table_name),
  check (not by_day or keep_months is null)
);
-- pohf_app may select

create table platform_rewraps (
  version integer not null,
  column_name text not null,
  position text[],
  read_rows bigint not null default 0,
  moved bigint not null default 0,
  unreadable bigint not null default 0,
  finished_at timestamptz,
  primary key (version, column_name)
);
-- pohf_app may select, insert, update, delete

create function outbox_publish(agents text[], modes text[], types text[], subjects text[], data jsonb[], event_ids text[],
  api_version text) returns void language plpgsql set search_path to 'public', 'pg_temp' as $$
declare
  published_at timestamptz := pohf_now();
  stamp text := to_char(published_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
begin
  insert into events (agent_id, event_id, at, mode, type, subject, data)
    select event.agent_id, event.event_id, published_at, event.mode, event.type, event.subject, event.data
    from unnest(agents, modes, types, subjects, data, event_ids)
      event (agent_id, mode, type, subject, data, event_id);
  insert into outbox (agent_id, outbox_id, topic, payload)
    select event.agent_id, event.event_id, 'event', jsonb_build_object('subject', event.subject, 'envelope',
      jsonb_build_object('id', event.event_id, 'type', event.type, 'timestamp', stamp,
        'test', event.mode = 'test', 'apiVersion', api_version, 'agentId', event.agent_id, 'data', event.data))
    from unnest(agents, modes, types, subjects, data, event_ids)
      event (agent_id, mode, type, subject, data, event_id);
end $$;

create function platform_kept_keys_follow() returns trigger language plpgsql as $$
begin
  delete from platform_kept_keys where version = old.version;
  return old;
end $$;

create function platform_master_key_forward() returns trigger language plpgsql as $$
begin
  if (old.seals_since is not null and new.seals_since is distinct from old.seals_since)
    or (old.rewrapped_at is not null and new.rewrapped_at is distinct from old.rewrapped_at)
    or (old.retired_at is not null and new.retired_at is distinct from old.retired_at) then
    raise exception 'version % of the master key cannot go back', old.version
      using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create function pohf_add_counts(known integer[], added integer[]) returns integer[] language sql immutable parallel safe as $$
  select array_agg(coalesce(pair.known, 0) + coalesce(pair.added, 0) order by pair.n)
  from unnest(known, added) with ordinality pair (known, added, n)
$$;

create function pohf_append_only() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'integrity_constraint_violation';
end $$;

create function pohf_bin_counts(bin integer, bins integer, count integer) returns integer[] language sql
  immutable parallel safe as $$
  select case when bin is null then array_fill(0, array[bins])
    else array_fill(0, array[bin]) || count || array_fill(0, array[bins - 1 - bin]) end
$$;

create function pohf_day(at timestamptz) returns date language sql immutable parallel safe
  return ((at at time zone 'UTC'))::date;

-- pohf_app may execute it
create function pohf_drop_days(target text, keep_days integer) returns integer language plpgsql security definer
  set search_path to 'public', 'pg_temp' as $$
declare
  part record;
  dropped int := 0;
begin
  if keep_days < 1 or not exists (select from platform_partitioned where table_name = target and by_day) then
    raise exception 'days of % cannot be dropped', target using errcode = 'invalid_parameter_value';
  end if;
  if not pg_try_advisory_xact_lock(hashtextextended('pohf_maintain_partitions', 0)) then return 0; end if;
  for part in
    select child.relname as name from pg_inherits join pg_class child on child.oid = inhrelid
    where inhparent = target::regclass
      and child.relname < format('%s_%s', target, to_char((pohf_now() at time zone 'UTC')::date - keep_days, 'YYYY_MM_DD'))
  loop
    execute format('drop table %I', part.name);
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;

-- pohf_app may execute it
create function pohf_events_whole_until() returns timestamptz language sql stable security definer
  set search_path to 'pg_catalog', 'public', 'pg_temp' as $$
  select pohf_now() - (transaction_timestamp() - least(
    transaction_timestamp() - interval '2 seconds',
    min(xact_start),
    case when bool_or(query = '<insufficient privilege>' and pg_has_role(usesysid, 'pohf_app', 'member')) then transaction_timestamp() - interval '1 minute' end))
  from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
$$;

-- pohf_app may execute it
create function pohf_follow_clock() returns interval language plpgsql security definer
  set search_path to 'public', 'pg_temp' as $$
declare
  seen timestamptz;
  behind interval;
  entry record;
begin
  select seen_at into seen from platform_clock;
  if pohf_now() >= seen and pohf_now() < seen + interval '5 seconds' then return null; end if;
  -- Two workers may come at the same time; the second has nothing to do.
  select seen_at into seen from platform_clock for update skip locked;
  if not found then return null; end if;
  behind := seen - pohf_now();
  -- A transaction keeps the time of its start: one that began before the jump may still write due times of the old clock.
  if behind > interval '5 seconds' and exists (
    select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and application_name like 'pohf-%' and xact_start > clock_timestamp() + interval '1 second')
  then return null; end if;
  if abs(extract(epoch from behind)) > 60 then
    for entry in select table_name, by_day from platform_partitioned loop
      if entry.by_day then call pohf_make_days(entry.table_name::regclass, pohf_now(), 8);
      else call pohf_make_partitions(entry.table_name::regclass, pohf_now(), 3); end if;
    end loop;
  end if;
  if behind <= interval '5 seconds' then
    update platform_clock set seen_at = greatest(seen_at, pohf_now());
    return null;
  end if;
  for entry in select table_name, column_name, condition from platform_due_times loop
    execute format('update %1$I set %2$I = %2$I - $1 where %2$I > pohf_now() and %3$s',
      entry.table_name, entry.column_name, entry.condition) using behind;
  end loop;
  update platform_clock set seen_at = pohf_now(), set_back_at = pohf_now();
  return behind;
end $$;

create procedure pohf_hide_from_agents(in target regclass) language plpgsql as $$
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format('create policy people on %s using (pohf_tenant() = ''system'')', target);
end $$;

create function pohf_hour_slot() returns smallint language sql stable return ((pg_backend_pid() % 4))::smallint;

create procedure pohf_isolate(in target regclass) language plpgsql as $$
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format(
    'create policy tenant on %s using (agent_id = pohf_tenant() or pohf_tenant() = ''system'')', target);
end $$;

-- pohf_app may execute it
create function pohf_maintain_partitions() returns void language plpgsql security definer
  set search_path to 'public', 'pg_temp' as $$
declare
  entry record;
  part record;
begin
  -- Two nodes may come at the same time; the second has nothing to do.
  if not pg_try_advisory_xact_lock(hashtextextended('pohf_maintain_partitions', 0)) then return; end if;
  for entry in select table_name, keep_months, by_day from platform_partitioned loop
    if entry.by_day then
      call pohf_make_days(entry.table_name::regclass, pohf_now(), 8);
      continue;
    end if;
    call pohf_make_partitions(entry.table_name::regclass, pohf_now(), 3);
    for part in
      select child.relname as name from pg_inherits
      join pg_class child on child.oid = inhrelid
      where inhparent = entry.table_name::regclass and entry.keep_months is not null
        and child.relname < format('%s_%s', entry.table_name,
          to_char(date_trunc('month', pohf_now() at time zone 'UTC') - make_interval(months => entry.keep_months), 'YYYY_MM'))
    loop
      execute format('drop table %I', part.name);
    end loop;
  end loop;
end $$;

create procedure pohf_make_days(in target regclass, in from_at timestamptz, in days integer) language plpgsql as $$
declare
  first date := (from_at at time zone 'UTC')::date;
  part text;
begin
  for i in 0 .. days - 1 loop
    part := format('%s_%s', target::text, to_char(first + i, 'YYYY_MM_DD'));
    if to_regclass(part) is null then
      begin
        execute format('create table %I partition of %s for values from (%L) to (%L)', part, target,
          (first + i)::text || ' 00:00:00+00', (first + i + 1)::text || ' 00:00:00+00');
        execute format('revoke all on %I from pohf_app', part);
      exception when duplicate_table then null;
      end;
    end if;
  end loop;
end $$;

create procedure pohf_make_partitions(in target regclass, in from_at timestamptz, in months integer) language plpgsql as $$
declare
  first date := date_trunc('month', from_at at time zone 'UTC')::date;
  month date;
  part text;
begin
  for i in 0 .. months - 1 loop
    month := (first + make_interval(months => i))::date;
    part := format('%s_%s', target::text, to_char(month, 'YYYY_MM'));
    if to_regclass(part) is null then
      begin
        execute format('create table %I partition of %s for values from (%L) to (%L)', part, target,
          month::text || ' 00:00:00+00', (month + interval '1 month')::date::text || ' 00:00:00+00');
        -- Policies stand on the parent: nobody may go round it by naming the partition.
        execute format('revoke all on %I from pohf_app', part);
      exception when duplicate_table then null;
      end;
    end if;
  end loop;
end $$;

-- pohf_app may execute it
create function pohf_merge_slots(figures regclass, batch integer) returns integer language plpgsql security definer
  set search_path to 'public', 'pg_temp' set lock_timeout to '100ms' as $$
declare
  keys text;
  period text;
  columns text;
  sums text;
  additions text;
  merged int;
begin
  if figures <> all (array['view_hours', 'view_flag_hours', 'beacon_hours', 'conversion_hours', 'landing_hours', 'landing_days',
    'session_hours', 'session_reason_hours']::regclass[]) then raise exception '% has no slots', figures; end if;
  select string_agg(quote_ident(attname), ', ') filter (where is_key and attname <> 'slot'),
    string_agg(quote_ident(attname), '') filter (where attname in ('hour', 'day')),
    string_agg(quote_ident(attname), ', ') filter (where not is_key),
    string_agg(format(case when not is_list then 'sum(%1$I)' when attnotnull then 'pohf_sum_counts(%1$I)'
      else 'nullif(pohf_sum_counts(%1$I) filter (where %1$I is not null), ''{}'')' end, attname), ', ') filter (where not is_key),
    string_agg(format(case when is_list
      then '%1$I = case when excluded.%1$I is null then known.%1$I
        else pohf_add_counts(coalesce(known.%1$I, ''{}''), excluded.%1$I) end'
      else '%1$I = known.%1$I + excluded.%1$I' end, attname), ', ') filter (where not is_key)
  into strict keys, period, columns, sums, additions
  from (
    select attname, attnotnull, typcategory = 'A' as is_list, attnum = any(indkey) as is_key
    from pg_attribute join pg_type on pg_type.oid = atttypid join pg_index on indrelid = attrelid and indisprimary
    where attrelid = figures and attnum > 0 and not attisdropped order by attnum) described;
  execute format('
    with chosen as materialized (
      select ctid as place from %1$s where slot <> 0 and %2$s < $1 order by %2$s limit $2 for update skip locked),
    merged as (delete from %1$s where ctid = any(array(select place from chosen)) returning *),
    added as (
      insert into %1$s as known (%3$s, slot, %4$s)
      select %3$s, 0, %5$s from merged group by %3$s order by %3$s
      on conflict (%3$s, slot) do update set %6$s)
    select count(*) from merged', figures, period, keys, columns, sums, additions)
  into merged
  using case period when 'day' then pohf_now() - interval '2 days' else pohf_now() - interval '2 hours' end, batch;
  return merged;
exception when lock_not_available then return 0;
end $$;

create function pohf_now() returns timestamptz language sql stable parallel safe as $$ select transaction_timestamp() $$;

create aggregate pohf_sum_counts(integer[]) (sfunc = pohf_add_counts, stype = integer[], initcond = '{}');

create function pohf_tenant() returns text language sql stable parallel safe as $$ select coalesce(current_setting('pohf.tenant', true), '') $$;
