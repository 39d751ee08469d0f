-- Whose devices may vouch for the agent's people; the shape is checked by the program that reads it.
alter table agents add column attestation jsonb not null default '{}';

-- Keys that a device proved, to be known again by. A key belongs to one subject of one agent.
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
  primary key (agent_id, mode, method, key_id)
);
call pohf_isolate('device_keys');

-- The newest good attestation of a subject by each method.
create table device_attestations (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  subject_ref text not null,
  method text not null check (method in ('webauthn', 'play_integrity', 'app_attest')),
  assurance text not null check (assurance in ('software', 'hardware', 'hardware_strong')),
  attested_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (agent_id, mode, subject_ref, method)
);
call pohf_isolate('device_attestations');
create index on device_attestations (expires_at);
