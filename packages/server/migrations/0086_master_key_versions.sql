-- The master key has versions. The columns say since when values are sealed under a version, when all were moved to it, and
-- since when it opens nothing. A program that knows no versions finds and writes version 1, which seals from the start.
alter table platform_master_key
  add column version int not null default 1 check (version > 0),
  add column seals_since timestamptz default pohf_now(),
  add column rewrapped_at timestamptz,
  add column retired_at timestamptz;
alter table platform_master_key drop constraint platform_master_key_pkey, add primary key (version);
alter table platform_master_key drop column single;
update platform_master_key set seals_since = noted_at;
-- Not the fingerprint. What is set stays as it is: a rotation does not go back.
grant update (seals_since, rewrapped_at, retired_at) on platform_master_key to pohf_app;
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
create trigger forward before update on platform_master_key
  for each row execute function platform_master_key_forward();

-- The fingerprint of the key of each purpose that keeps its key. They go with the version that sealed when they were noted,
-- so that the owner of the database accepts another master key by deleting the rows of platform_master_key.
create table platform_kept_keys (
  purpose text primary key,
  fingerprint text not null check (fingerprint ~ '^[A-Za-z0-9_-]{43}$'),
  version int not null
);
create index platform_kept_keys_version on platform_kept_keys (version);
revoke update, delete on platform_kept_keys from pohf_app;
create function platform_kept_keys_follow() returns trigger language plpgsql as $$
begin
  delete from platform_kept_keys where version = old.version;
  return old;
end $$;
create trigger kept_keys after delete on platform_master_key
  for each row execute function platform_kept_keys_follow();

-- The processes that use the master key: what each of them holds, and under which version it seals.
create table platform_master_key_holders (
  holder text primary key,
  role text not null check (role in ('api', 'worker')),
  host text not null check (length(host) <= 255),
  versions int[] not null check (cardinality(versions) between 1 and 100),
  sealing int not null,
  seen_at timestamptz not null default pohf_now()
);
