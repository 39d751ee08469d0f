-- What a device showed for one act. A verdict raises a credential only where it is bound to the session of the act.

-- The session whose key is part of what the device signs; null where the challenge is bound to none. `message` then has
-- the text that is signed, and `member_ref` the subject.
alter table nonces add column session_id text;

-- The AAGUID of a model that keeps its keys in hardware, or the id of the app; null for any other key.
alter table device_keys
  add column model text check (length(model) between 1 and 256),
  add column used_at timestamptz not null default pohf_now();
-- Keys of the step-up page belong to no member; the job deletes those that were not used for 90 days.
create index device_keys_of_step_up on device_keys (used_at) where subject_ref = 'step-up';

-- The session to which the newest good attestation is bound, the model or app that it shows, and its key. Without a
-- `root_name` it raises nothing.
alter table device_attestations
  add column session_id text,
  add column root_name text check (length(root_name) between 1 and 256),
  add column root_key text check (length(root_key) between 1 and 1400);
-- To find the members of an agent for whom one key answered.
create index device_attestations_of_key on device_attestations (agent_id, root_key) where root_key is not null;

-- Apps and relying parties of agents that an operator has admitted. What an agent names for itself raises nothing.
create table admitted_apps (
  agent_id text not null,
  kind text not null check (kind in ('app', 'rp_id')),
  name text not null check (length(name) between 1 and 256),
  admitted_at timestamptz not null default pohf_now(),
  primary key (agent_id, kind, name)
);
call pohf_isolate('admitted_apps');
