-- The tables, types and functions of `evidence` after all migrations, to be read and not run. Written by npm run generate from
-- the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table admitted_apps (
  agent_id text not null,
  kind text not null check (kind in ('app', 'rp_id')),
  name text not null check (length(name) between 1 and 256),
  admitted_at timestamptz not null default pohf_now(),
  primary key (agent_id, kind, name)
);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table attention_claims (
  agent_id text not null,
  mode text not null,
  session_id text not null,
  used_by text not null,
  primary key (agent_id, mode, session_id)
);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table device_attestations (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  subject_ref text not null,
  method text not null check (method in ('webauthn', 'play_integrity', 'app_attest')),
  assurance text not null check (assurance in ('software', 'hardware', 'hardware_strong')),
  attested_at timestamptz not null,
  expires_at timestamptz not null,
  session_id text,
  root_name text check (length(root_name) between 1 and 256),
  root_key text check (length(root_key) between 1 and 1400),
  primary key (agent_id, mode, subject_ref, method)
);
create index device_attestations_expires_at_idx on device_attestations (expires_at);
create index device_attestations_of_key on device_attestations (agent_id, root_key) where root_key is not null;
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table device_keys (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  method text not null check (method in ('webauthn', 'app_attest')),
  key_id text not null check (length(key_id) between 1 and 1400),
  subject_ref text not null,
  public_key bytea not null check (length(public_key) <= 2048),
  counter bigint not null check (counter between 0 and 4294967295),
  assurance text not null check (assurance in ('software', 'hardware', 'hardware_strong')),
  created_at timestamptz not null default pohf_now(),
  model text check (length(model) between 1 and 256),
  used_at timestamptz not null default pohf_now(),
  primary key (agent_id, mode, method, key_id)
);
create index device_keys_of_step_up on device_keys (used_at) where subject_ref = 'step-up';
create index device_keys_of_subject on device_keys (agent_id, mode, subject_ref);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table nonces (
  agent_id text not null,
  purpose text not null check (purpose in ('wallet', 'attest')),
  nonce text not null,
  message text,
  wallet text,
  member_ref text,
  chain_id bigint,
  expires_at timestamptz not null,
  used_at timestamptz,
  session_id text,
  primary key (agent_id, purpose, nonce)
);
create index nonces_expires_at_idx on nonces (expires_at);
create index nonces_of_member on nonces (agent_id, member_ref) where member_ref is not null;
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table photo_hashes (
  scope text not null,
  photo_hash bytea not null,
  agent_id text not null,
  session_id text not null,
  at timestamptz not null default pohf_now(),
  primary key (scope, photo_hash)
);
create index photo_hashes_by_session on photo_hashes (agent_id, session_id);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table presences (
  agent_id text not null,
  mode text not null,
  member_ref text not null,
  lat double precision not null,
  lng double precision not null,
  at timestamptz not null,
  primary key (agent_id, mode, member_ref)
);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table stroke_sketches (
  agent_id text not null,
  session_id text not null,
  number smallint not null,
  at timestamptz not null default pohf_now(),
  scope text not null,
  cell bigint not null,
  sketch bytea not null check (octet_length(sketch) <= 64),
  primary key (agent_id, session_id, number, at)
) partition by range (at);
create index stroke_sketches_scope_cell_idx on stroke_sketches (scope, cell);
-- partitions by day
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete
