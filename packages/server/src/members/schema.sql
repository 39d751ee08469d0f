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
  uniqueness text not null default 'none' check (uniqueness in ('none', 'account', 'device', 'attested', 'external', 'number',
    'deposit', 'organization')) not valid,
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
  required_issuer text check (length(required_issuer) between 1 and 128),
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
  model text check (length(model) between 1 and 64),
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
  issuer_id text not null default '' check (length(issuer_id) <= 256),
  kind text not null default 'organization' check (kind in ('privacy_pass', 'sms', 'card', 'bond', 'pid', 'pid_number',
    'world_id', 'vendor', 'organization')),
  source_class text not null default 'employer' check (source_class in ('device:phone', 'number', 'bank', 'deposit', 'document',
    'biometric:world', 'employer')),
  level text not null default 'low' check (level in ('low', 'substantial', 'high')),
  counted boolean not null default false,
  named boolean not null default false,
  fresh boolean not null default false,
  model text check (length(model) <= 256),
  agents text[] check (cardinality(agents) <= 100),
  checked_at timestamptz not null default pohf_now(),
  expires_at timestamptz not null default pohf_now(),
  evidence_hash bytea check (length(evidence_hash) = 32),
  withdrawn_at timestamptz,
  primary key (issuer, code_hash),
  constraint person_proofs_level check (level <> 'high' or counted)
);
create index person_proofs_expires_at_idx on person_proofs (expires_at);
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

create table proof_tombstones (
  code_hash bytea not null check (length(code_hash) = 32),
  expires_at timestamptz not null,
  primary key (code_hash)
);
create index proof_tombstones_expires_at_idx on proof_tombstones (expires_at);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create function members_list_proofs(of_person text, of_agent text, at_time timestamptz)
  returns table(issuer text, code_hash bytea, issuer_id text, kind text, source_class text, level text, counted boolean, named boolean, fresh boolean, checked_at timestamptz)
  language plpgsql set search_path to 'public', 'pg_temp' as $$
#variable_conflict use_column
declare
  tenant text := pohf_tenant();
begin
  perform set_config('pohf.tenant', 'system', true);
  return query
    select proof.issuer, proof.code_hash, proof.issuer_id, proof.kind, proof.source_class, proof.level, proof.counted,
      proof.named, proof.fresh, proof.checked_at
    from person_proofs proof
    where proof.person_id = of_person and proof.expires_at > at_time and proof.withdrawn_at is null
      and (proof.agents is null or of_agent = any (proof.agents))
    order by proof.issuer, proof.code_hash limit 10;
  perform set_config('pohf.tenant', tenant, true);
end $$;
