-- A recording of an approval is a session of its own kind, and its credential too. Every stored row satisfies the wider checks.
alter table sessions drop constraint sessions_kind_check,
  add constraint sessions_kind_check check (kind in ('view', 'work', 'task', 'presence', 'approval')) not valid;
alter table session_recorders drop constraint session_recorders_kind_check,
  add constraint session_recorders_kind_check check (kind in ('view', 'work', 'task', 'approval')) not valid;
alter table credentials drop constraint credentials_kind_check,
  add constraint credentials_kind_check
    check (kind in ('work', 'view', 'presence', 'personhood', 'binding', 'purchase', 'approval')) not valid;
alter table credential_claims drop constraint credential_claims_act_check,
  add constraint credential_claims_act_check
    check (act in ('session', 'personhood', 'binding', 'purchase', 'approval')) not valid;

-- A member whom an owner invited to approve. No key gets a link for it: with one, an agent could enrol as its own approver.
alter table members add column invited_by_owner boolean not null default false;

-- How an action is checked and shown, by version. A version is never changed: envelopes name it.
create table approval_types (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  type text not null check (length(type) between 1 and 160),
  version int not null check (version > 0),
  title text not null check (length(title) between 1 and 100),
  schema jsonb not null,
  labels jsonb not null,
  critical text[] not null check (cardinality(critical) between 1 and 20),
  policy jsonb not null,
  created_by text not null,
  created_at timestamptz not null default pohf_now(),
  -- The newest version of a type says whether it is in use.
  retired_at timestamptz,
  retired_by text check ((retired_by is null) = (retired_at is null)),
  primary key (agent_id, mode, type, version)
);
call pohf_isolate('approval_types');
revoke delete, truncate on approval_types from pohf_app;

-- People who may approve. An account owner invites them; a key cannot. The person is that of the member.
create table approvers (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  approver_id text not null,
  member_id text not null,
  -- Null once the person is erased.
  name text check (length(name) between 1 and 80),
  email text check (length(email) between 3 and 254),
  created_by text not null,
  created_at timestamptz not null default pohf_now(),
  removed_at timestamptz,
  removed_by text check ((removed_by is null) = (removed_at is null)),
  primary key (agent_id, mode, approver_id),
  unique (agent_id, mode, member_id)
);
-- One approver for an address, also one who was removed: invited again, it is the same person.
create unique index approvers_by_email on approvers (agent_id, mode, email);
call pohf_isolate('approvers');
revoke delete, truncate on approvers from pohf_app;

create table approver_groups (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  name text not null check (length(name) between 1 and 64),
  approvers text[] not null check (cardinality(approvers) between 1 and 10),
  changed_by text not null,
  changed_at timestamptz not null default pohf_now(),
  primary key (agent_id, mode, name)
);
call pohf_isolate('approver_groups');

create table approvals (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  approval_id text not null,
  request_id text not null check (length(request_id) between 1 and 128),
  audience text not null,
  type text not null,
  type_version int not null check (type_version >= 0),
  -- The canonical JSON whose hash was signed. Null once it is erased; the hash stays.
  envelope text check (octet_length(envelope) <= 65536),
  envelope_hash bytea not null check (octet_length(envelope_hash) = 32),
  -- Of what the request said, to tell a repeat from another request with the same reference.
  request_hash bytea not null check (octet_length(request_hash) = 32),
  approvers text[] not null check (cardinality(approvers) between 1 and 10),
  quorum int not null check (quorum between 1 and 10),
  approved int not null default 0 check (approved between 0 and 10),
  status text not null default 'pending' check (status in ('pending', 'approved', 'denied', 'expired', 'consumed')),
  -- Whole milliseconds, because a cursor has no more.
  created_at timestamptz not null default date_trunc('milliseconds', pohf_now()),
  decide_by timestamptz not null,
  consume_by timestamptz not null check (consume_by >= decide_by),
  decided_at timestamptz,
  consumable_at timestamptz,
  consumed_at timestamptz,
  ended_at timestamptz,
  -- Why an administrator says that it should be denied; null for a real request. The requester never sees such rows.
  known_bad text check (length(known_bad) between 1 and 500),
  primary key (agent_id, mode, approval_id),
  unique (agent_id, mode, request_id),
  check ((status = 'consumed') = (consumed_at is not null)),
  check (status not in ('approved', 'consumed') or (consumable_at is not null and approved >= quorum)),
  check (known_bad is null or status <> 'consumed')
);
create index approvals_newest on approvals (agent_id, mode, created_at desc, approval_id desc);
-- The requests that should be denied, newest first.
create index approvals_known_bad on approvals (agent_id, mode, created_at desc, approval_id desc)
  where known_bad is not null;
create index approvals_of_audience on approvals (audience, approval_id);
-- What ends by itself, oldest first.
create index approvals_undecided on approvals (decide_by) where status = 'pending';
create index approvals_unconsumed on approvals (consume_by) where status = 'approved';
-- How many requests of an agent wait, and which envelopes are old enough to be erased.
create index approvals_pending on approvals (agent_id, mode) where status = 'pending' and known_bad is null;
create index approvals_kept on approvals (consume_by) where envelope is not null;
-- What waits at an agent, for the pages of its approvers.
create index approvals_waiting on approvals (agent_id, mode, created_at desc) where status = 'pending';
call pohf_isolate('approvals');
revoke delete, truncate on approvals from pohf_app;

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
create trigger transition before update on approvals for each row execute function approvals_transition();

-- What waits for whom; a row for each approver of an approval. The page of a person reads it from here.
create table approval_turns (
  agent_id text not null,
  mode text not null,
  approval_id text not null,
  approver_id text not null,
  -- What ties a recording to this approval and this person: HMAC, as for assignments.
  challenge text not null,
  decision text check (decision in ('approve', 'deny')),
  decided_at timestamptz check ((decided_at is null) = (decision is null)),
  words text check (length(words) <= 1000),
  session_id text,
  session_at timestamptz,
  view_hash bytea check (octet_length(view_hash) = 32),
  credential_id text,
  -- Measured, for the report: seconds in view, the reading time of what was shown, the quality of the recording.
  in_view_seconds int check (in_view_seconds >= 0),
  reading_seconds int check (reading_seconds >= 0),
  quality double precision check (quality between 0 and 1),
  primary key (agent_id, mode, approval_id, approver_id),
  foreign key (agent_id, mode, approval_id) references approvals
);
create index approval_turns_decided on approval_turns (agent_id, mode, approver_id, decided_at desc) where decision is not null;
-- The decisions of a period, for the report.
create index approval_turns_by_time on approval_turns (agent_id, mode, decided_at) where decision is not null;
create index approval_turns_by_challenge on approval_turns (challenge);
call pohf_isolate('approval_turns');
revoke delete, truncate on approval_turns from pohf_app;

-- Challenges of decisions that were begun: one for each approver and approval, replaced by the next, used once.
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
call pohf_hide_from_agents('approval_challenges');

-- Values of critical fields that a person has approved, as keyed hashes: only to tell this person that a value is new.
create table approver_values (
  agent_id text not null,
  mode text not null,
  approver_id text not null,
  value_hash bytea not null check (octet_length(value_hash) = 32),
  last_at timestamptz not null default pohf_now(),
  primary key (agent_id, mode, approver_id, value_hash)
);
create index approver_values_old on approver_values (last_at);
call pohf_hide_from_agents('approver_values');

create table approval_settings (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  per_person boolean not null default false,
  decisions_per_hour int not null default 60 check (decisions_per_hour between 1 and 1000),
  changed_by text not null,
  changed_at timestamptz not null default pohf_now(),
  primary key (agent_id, mode)
);
call pohf_isolate('approval_settings');
