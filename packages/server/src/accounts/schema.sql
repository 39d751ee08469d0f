-- The tables, types and functions of `accounts` after all migrations, to be read and not run. Written by npm run generate from
-- the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table account_agents (
  agent_id text not null,
  account_id text not null,
  mode text not null check (mode in ('live', 'test')),
  used_since timestamptz not null default pohf_now(),
  primary key (agent_id)
);
create index account_agents_account_id_mode_used_since_idx on account_agents (account_id, mode, used_since desc);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table account_challenges (
  challenge text not null check (length(challenge) between 43 and 64),
  person_id text,
  expires_at timestamptz not null,
  primary key (challenge)
);
create index account_challenges_expires_at_idx on account_challenges (expires_at);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table account_invitations (
  invitation_id text not null,
  account_id text not null,
  email text not null check (length(email) between 3 and 320),
  role text not null check (role in ('owner', 'developer', 'viewer')),
  invited_by text not null,
  created_at timestamptz not null default pohf_now(),
  expires_at timestamptz not null,
  primary key (invitation_id),
  unique (account_id, email)
);
create index account_invitations_email_idx on account_invitations (email);
create index account_invitations_expires_at_idx on account_invitations (expires_at);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table account_links (
  token_hash bytea not null check (length(token_hash) = 32),
  browser_hash bytea not null check (length(browser_hash) = 32),
  email text not null check (length(email) between 3 and 320),
  account_name text check (length(account_name) between 1 and 80),
  invited_to text,
  expires_at timestamptz not null,
  primary key (token_hash)
);
create index account_links_expires_at_idx on account_links (expires_at);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table account_passkeys (
  passkey_id text not null,
  credential_id text not null check (length(credential_id) between 1 and 1400),
  person_id text not null,
  name text not null check (length(name) between 1 and 60),
  public_key bytea not null check (length(public_key) <= 2048),
  counter bigint not null check (counter between 0 and 4294967295),
  created_at timestamptz not null default pohf_now(),
  used_at timestamptz,
  primary key (passkey_id),
  unique (credential_id)
);
create index account_passkeys_person_id_created_at_idx on account_passkeys (person_id, created_at);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table account_people (
  person_id text not null,
  email text not null check (length(email) between 3 and 320),
  created_at timestamptz not null default pohf_now(),
  primary key (person_id),
  unique (email)
);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table account_roles (
  account_id text not null,
  person_id text not null,
  role text not null check (role in ('owner', 'developer', 'viewer')),
  joined_at timestamptz not null default pohf_now(),
  last_seen_at timestamptz,
  primary key (account_id, person_id)
);
create index account_roles_person_id_idx on account_roles (person_id);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table account_sessions (
  session_id text not null,
  token_hash bytea not null check (length(token_hash) = 32),
  account_id text not null,
  person_id text not null,
  signed_in_by text not null check (signed_in_by in ('link', 'passkey')),
  browser text not null check (length(browser) between 1 and 80),
  created_at timestamptz not null default pohf_now(),
  last_seen_at timestamptz not null default pohf_now(),
  expires_at timestamptz not null,
  primary key (session_id),
  unique (token_hash)
);
create index account_sessions_expires_at_idx on account_sessions (expires_at);
create index account_sessions_person_id_created_at_idx on account_sessions (person_id, created_at);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table accounts (
  account_id text not null,
  name text not null check (length(name) between 1 and 80),
  created_at timestamptz not null default pohf_now(),
  primary key (account_id)
);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete
