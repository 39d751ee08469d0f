-- The tables, types and functions of `approvals` after all migrations, to be read and not run. Written by npm run generate from
-- the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table approval_challenges (
  agent_id text not null,
  mode text not null,
  approval_id text not null,
  approver_id text not null,
  nonce_hash bytea not null check (octet_length(nonce_hash) = 32),
  challenge text not null,
  decision text not null check (decision in ('approve', 'deny')),
  view_hash bytea not null check (octet_length(view_hash) = 32),
  session_id text,
  expires_at timestamptz not null,
  primary key (agent_id, mode, approval_id, approver_id)
);
create index approval_challenges_expired on approval_challenges (expires_at);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table approval_settings (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  per_person boolean not null default false,
  decisions_per_hour integer not null default 60 check (decisions_per_hour between 1 and 1000),
  changed_by text not null,
  changed_at timestamptz not null default pohf_now(),
  primary key (agent_id, mode)
);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table approval_turns (
  agent_id text not null,
  mode text not null,
  approval_id text not null,
  approver_id text not null,
  challenge text not null,
  decision text check (decision in ('approve', 'deny')),
  decided_at timestamptz,
  words text check (length(words) <= 1000),
  session_id text,
  session_at timestamptz,
  view_hash bytea check (octet_length(view_hash) = 32),
  credential_id text,
  in_view_seconds integer check (in_view_seconds >= 0),
  reading_seconds integer check (reading_seconds >= 0),
  quality double precision check (quality between 0 and 1),
  primary key (agent_id, mode, approval_id, approver_id),
  foreign key (agent_id, mode, approval_id) references approvals(agent_id, mode, approval_id),
  check ((decided_at is null) = (decision is null))
);
create index approval_turns_by_challenge on approval_turns (challenge);
create index approval_turns_by_time on approval_turns (agent_id, mode, decided_at) where decision is not null;
create index approval_turns_decided on approval_turns (agent_id, mode, approver_id, decided_at desc) where decision is not null;
-- row-level security by agent_id
-- pohf_app may select, insert, update

create table approval_types (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  type text not null check (length(type) between 1 and 160),
  version integer not null check (version > 0),
  title text not null check (length(title) between 1 and 100),
  schema jsonb not null,
  labels jsonb not null,
  critical text[] not null check (cardinality(critical) between 1 and 20),
  policy jsonb not null,
  created_by text not null,
  created_at timestamptz not null default pohf_now(),
  retired_at timestamptz,
  retired_by text,
  primary key (agent_id, mode, type, version),
  check ((retired_by is null) = (retired_at is null))
);
-- row-level security by agent_id
-- pohf_app may select, insert, update

create table approvals (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  approval_id text not null,
  request_id text not null check (length(request_id) between 1 and 128),
  audience text not null,
  type text not null,
  type_version integer not null check (type_version >= 0),
  envelope text check (octet_length(envelope) <= 65536),
  envelope_hash bytea not null check (octet_length(envelope_hash) = 32),
  request_hash bytea not null check (octet_length(request_hash) = 32),
  approvers text[] not null check (cardinality(approvers) between 1 and 10),
  quorum integer not null check (quorum between 1 and 10),
  approved integer not null default 0 check (approved between 0 and 10),
  status text not null default 'pending' check (status in ('pending', 'approved', 'denied', 'expired', 'consumed')),
  created_at timestamptz not null default date_trunc('milliseconds', pohf_now()),
  decide_by timestamptz not null,
  consume_by timestamptz not null,
  decided_at timestamptz,
  consumable_at timestamptz,
  consumed_at timestamptz,
  ended_at timestamptz,
  known_bad text check (length(known_bad) between 1 and 500),
  primary key (agent_id, mode, approval_id),
  unique (agent_id, mode, request_id),
  check (consume_by >= decide_by),
  check ((status = 'consumed') = (consumed_at is not null)),
  check ((status not in ('approved', 'consumed')) or consumable_at is not null and approved >= quorum),
  check (known_bad is null or status <> 'consumed')
);
create index approvals_kept on approvals (consume_by) where envelope is not null;
create index approvals_known_bad on approvals (agent_id, mode, created_at desc, approval_id desc) where known_bad is not null;
create index approvals_newest on approvals (agent_id, mode, created_at desc, approval_id desc);
create index approvals_of_audience on approvals (audience, approval_id);
create index approvals_pending on approvals (agent_id, mode) where status = 'pending' and known_bad is null;
create index approvals_unconsumed on approvals (consume_by) where status = 'approved';
create index approvals_undecided on approvals (decide_by) where status = 'pending';
create index approvals_waiting on approvals (agent_id, mode, created_at desc) where status = 'pending';
create trigger transition before update on approvals for each row execute function approvals_transition();
-- row-level security by agent_id
-- pohf_app may select, insert, update

create table approver_groups (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  name text not null check (length(name) between 1 and 64),
  approvers text[] not null check (cardinality(approvers) between 1 and 10),
  changed_by text not null,
  changed_at timestamptz not null default pohf_now(),
  primary key (agent_id, mode, name)
);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table approver_values (
  agent_id text not null,
  mode text not null,
  approver_id text not null,
  value_hash bytea not null check (octet_length(value_hash) = 32),
  last_at timestamptz not null default pohf_now(),
  primary key (agent_id, mode, approver_id, value_hash)
);
create index approver_values_old on approver_values (last_at);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table approvers (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  approver_id text not null,
  member_id text not null,
  name text check (length(name) between 1 and 80),
  email text check (length(email) between 3 and 254),
  created_by text not null,
  created_at timestamptz not null default pohf_now(),
  removed_at timestamptz,
  removed_by text,
  enrolled_way text not null default 'mail_link' check (enrolled_way in ('in_console', 'mail_link', 'organization')),
  invited_at timestamptz not null default pohf_now(),
  primary key (agent_id, mode, approver_id),
  unique (agent_id, mode, member_id),
  check ((removed_by is null) = (removed_at is null))
);
create unique index approvers_by_email on approvers (agent_id, mode, email);
-- row-level security by agent_id
-- pohf_app may select, insert, update

create function approvals_transition() returns trigger language plpgsql as $$
begin
  if old.status is distinct from new.status and (old.status, new.status) not in
    (('pending', 'approved'), ('pending', 'denied'), ('pending', 'expired'),
     ('approved', 'denied'), ('approved', 'expired'), ('approved', 'consumed')) then
    raise exception 'an approval cannot go from % to %', old.status, new.status using errcode = 'check_violation';
  end if;
  if (old.envelope_hash, old.request_hash, old.request_id, old.type, old.type_version, old.audience, old.approvers,
      old.quorum, old.decide_by, old.consume_by, old.known_bad)
    is distinct from
    (new.envelope_hash, new.request_hash, new.request_id, new.type, new.type_version, new.audience, new.approvers,
      new.quorum, new.decide_by, new.consume_by, new.known_bad)
    -- Erasure takes the envelope away. Nothing puts another in its place.
    or (new.envelope is not null and new.envelope is distinct from old.envelope) then
    raise exception 'an approval does not change' using errcode = 'check_violation';
  end if;
  return new;
end $$;
