-- The role that the program works as. Row-level security binds it: it owns nothing and is no superuser.
do $$
declare may_set boolean;
begin
  if not exists (select from pg_roles where rolname = 'pohf_app') then
    begin
      create role pohf_app nologin;
    exception when duplicate_object or unique_violation then null;
    end;
  end if;
  -- From 16 on, whoever makes a role is a member that may not yet take it on.
  if current_setting('server_version_num')::int >= 160000 then
    execute 'select pg_has_role(current_user, ''pohf_app'', ''set'')' into may_set;
  else
    may_set := pg_has_role(current_user, 'pohf_app', 'member');
  end if;
  if not may_set then execute format('grant pohf_app to %I', current_user); end if;
end $$;
grant usage on schema public to pohf_app;
alter default privileges in schema public grant select, insert, update, delete on tables to pohf_app;
grant select on platform_migrations to pohf_app;

-- The one source of the time that rules decide by. Tests replace it; nothing else may.
create function pohf_now() returns timestamptz language sql stable parallel safe
as $$ select transaction_timestamp() $$;

-- Who the open transaction acts for: an agent id, or 'system'. Unset means nobody: no row is visible.
create function pohf_tenant() returns text language sql stable parallel safe
as $$ select coalesce(current_setting('pohf.tenant', true), '') $$;

-- Puts a table under row-level security by its agent_id.
create procedure pohf_isolate(target regclass) language plpgsql as $$
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format(
    'create policy tenant on %s using (agent_id = pohf_tenant() or pohf_tenant() = ''system'')', target);
end $$;

-- Refuses change of rows that are history.
create function pohf_append_only() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'integrity_constraint_violation';
end $$;

-- Monthly range partitions from the month of `from_at` on. Safe to call again and from several processes.
create procedure pohf_make_partitions(target regclass, from_at timestamptz, months int) language plpgsql as $$
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

-- Every partitioned table and how long it is kept; the maintenance job reads it.
create table platform_partitioned (
  table_name text primary key,
  keep_months int check (keep_months > 0)
);
-- A function of the owner drops tables by this list.
revoke insert, update, delete on platform_partitioned from pohf_app;

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
create index on events (agent_id, at, event_id);
insert into platform_partitioned values ('events', 3);
call pohf_isolate('events');

-- Work that must happen after a commit: events to fan out, mails to send. A row is deleted when it is done.
create table outbox (
  agent_id text not null,
  outbox_id text not null,
  topic text not null,
  payload jsonb not null,
  created_at timestamptz not null default pohf_now(),
  due_at timestamptz not null default pohf_now(),
  attempts int not null default 0,
  last_error text,
  primary key (agent_id, outbox_id)
);
create index outbox_due on outbox (topic, due_at);
call pohf_isolate('outbox');

create table idempotency_keys (
  agent_id text not null,
  method text not null,
  path text not null,
  key text not null,
  fingerprint bytea not null,
  created_at timestamptz not null default pohf_now(),
  lease_until timestamptz,
  status int,
  sealed boolean not null default false,
  body text,
  primary key (agent_id, method, path, key)
);
create index on idempotency_keys (agent_id, created_at);
call pohf_isolate('idempotency_keys');

do $$ declare name text; begin
  for name in select table_name from platform_partitioned loop
    call pohf_make_partitions(name::regclass, now(), 3);
  end loop;
end $$;
