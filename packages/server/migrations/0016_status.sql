-- Deployment-wide: the published lists of credential states. A credential keeps its list and its place for life.
create table status_lists (
  list_id text primary key check (list_id ~ '^[a-z0-9]{2}-(live|test)-[1-9][0-9]{0,8}$'),
  mode text not null check (mode in ('live', 'test')),
  number int not null check (number > 0),
  entries int not null check (entries between 4 and 1048576 and entries % 4 = 0),
  block_size int not null check (block_size > 0 and entries % block_size = 0),
  opened_at timestamptz not null default pohf_now(),
  -- Counts the changes. The list is dirty while what is published shows an earlier count.
  version bigint not null default 0,
  built_version bigint check (built_version <= version),
  built_at timestamptz,
  lease_until timestamptz,
  kid text,
  etag text,
  jwt text,
  unique (mode, number),
  check (num_nulls(built_version, built_at, kid, etag, jwt) in (0, 5))
);

create function status_lists_forward() returns trigger language plpgsql as $$
begin
  if (old.list_id, old.mode, old.number, old.entries, old.block_size)
    is distinct from (new.list_id, new.mode, new.number, new.entries, new.block_size) then
    raise exception 'the layout of a status list is fixed' using errcode = 'check_violation';
  end if;
  if new.version < old.version or coalesce(new.built_version, -1) < coalesce(old.built_version, -1) then
    raise exception 'a status list cannot go back' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger forward before update on status_lists for each row execute function status_lists_forward();
revoke delete on status_lists from pohf_app;

-- The places of a list, in blocks. A block belongs to the process that took it; what it does not use is never used.
create table status_blocks (
  list_id text not null,
  block int not null check (block >= 0),
  taken_at timestamptz,
  primary key (list_id, block)
);
create index status_blocks_free on status_blocks (list_id) where taken_at is null;

create function status_blocks_taken_once() returns trigger language plpgsql as $$
begin
  if old.taken_at is not null then
    raise exception 'a block of a status list is taken once' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger taken_once before update on status_blocks for each row execute function status_blocks_taken_once();
revoke delete on status_blocks from pohf_app;

-- Only what is not valid: 1 revoked, 2 suspended. Every other place of a list reads 0.
create table status_entries (
  list_id text not null,
  idx int not null check (idx between 0 and 1048575),
  value smallint not null check (value in (1, 2)),
  primary key (list_id, idx)
);

create function status_entries_final() returns trigger language plpgsql as $$
begin
  if old.value = 1 then
    raise exception 'a revoked credential stays revoked' using errcode = 'check_violation';
  end if;
  return case tg_op when 'DELETE' then old else new end;
end $$;
create trigger final before update or delete on status_entries for each row execute function status_entries_final();

-- Credentials that were minted before there were lists have no place in one; from now on each has.
alter table credentials add column status_list text, add column status_idx int;
alter table credentials add constraint credentials_have_a_status
  check (status_list is not null and status_idx is not null) not valid;
-- An operator names a credential without its agent. Ids begin with their time, so the index grows at its end.
create index credentials_by_id on credentials (credential_id);
