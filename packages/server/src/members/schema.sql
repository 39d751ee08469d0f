-- The tables, types and functions of `members` after all migrations, to be read and not run. Written by npm run generate from
-- the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table consents (
  consent_ref text not null,
  seq integer not null,
  act text not null check (act in ('given', 'withdrawn')),
  version text not null,
  language text not null,
  at timestamptz not null default pohf_now(),
  primary key (consent_ref, seq)
);
create trigger append_only before delete or update on consents for each statement execute function pohf_append_only();
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table enrolment_links (
  token_hash bytea not null,
  agent_id text not null,
  mode text not null,
  member_id text not null,
  expires_at timestamptz not null,
  primary key (token_hash)
);
create index enrolment_links_agent_id_mode_member_id_idx on enrolment_links (agent_id, mode, member_id);
create index enrolment_links_expires_at_idx on enrolment_links (expires_at);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table member_attention (
  agent_id text not null,
  mode text not null,
  session_id text not null,
  member_id text not null,
  at timestamptz not null default pohf_now(),
  primary key (agent_id, mode, session_id)
);
create index member_attention_agent_id_mode_member_id_idx on member_attention (agent_id, mode, member_id);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table members (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  member_id text not null,
  external_ref text,
  status text not null default 'invited' check (status in ('invited', 'consented', 'enrolled', 'withdrawn')),
  person_id text,
  consent_ref text,
  uniqueness text not null default 'none' check (uniqueness in ('none', 'account', 'device', 'attested', 'external')),
  methods text[] not null default '{}',
  passkey_assurance text check (passkey_assurance in ('software', 'hardware', 'hardware_strong')),
  attention_session text,
  attention_quality double precision check (attention_quality between 0 and 1),
  attention_scoring text,
  attention_at timestamptz,
  good_checks integer not null default 0,
  bad_checks integer not null default 0,
  created_at timestamptz not null default pohf_now(),
  consented_at timestamptz,
  invited_by_owner boolean not null default false,
  primary key (agent_id, mode, member_id),
  check (status <> 'enrolled' or person_id is not null and attention_at is not null)
);
create unique index members_by_reference on members (agent_id, mode, external_ref);
create index members_of_person on members (person_id);
create unique index members_one_per_person on members (agent_id, mode, person_id);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table nullifiers (
  nullifier bytea not null,
  at timestamptz not null default pohf_now(),
  primary key (nullifier)
);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table passkey_challenges (
  challenge text not null,
  purpose text not null check (purpose in ('create', 'sign_in', 'confirm')),
  bound_to text not null,
  expires_at timestamptz not null,
  primary key (challenge)
);
create index passkey_challenges_bound on passkey_challenges (bound_to);
create index passkey_challenges_expires_at_idx on passkey_challenges (expires_at);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table people (
  person_id text not null,
  created_at timestamptz not null default pohf_now(),
  primary key (person_id)
);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table person_logins (
  token_hash bytea not null,
  person_id text not null,
  expires_at timestamptz not null,
  primary key (token_hash)
);
create index person_logins_expires_at_idx on person_logins (expires_at);
create index person_logins_person_id_idx on person_logins (person_id);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table person_passkeys (
  credential_id text not null check (length(credential_id) between 1 and 1400),
  person_id text not null,
  public_key bytea not null check (length(public_key) <= 2048),
  counter bigint not null check (counter between 0 and 4294967295),
  assurance text not null check (assurance in ('software', 'hardware', 'hardware_strong')),
  synced boolean not null,
  created_at timestamptz not null default pohf_now(),
  used_at timestamptz not null default pohf_now(),
  primary key (credential_id)
);
create index person_passkeys_person_id_idx on person_passkeys (person_id);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table person_proofs (
  issuer text not null,
  code_hash bytea not null,
  person_id text not null,
  at timestamptz not null default pohf_now(),
  primary key (issuer, code_hash)
);
create index person_proofs_person_id_idx on person_proofs (person_id);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table person_recovery_codes (
  code_hash bytea not null,
  person_id text not null,
  primary key (code_hash)
);
create index person_recovery_codes_person_id_idx on person_recovery_codes (person_id);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete
