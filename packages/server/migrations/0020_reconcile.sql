-- How far each account was checked: its lines up to here add up to this balance.
create table ledger_checkpoints (
  agent_id text not null,
  mode text not null,
  account text not null,
  unit text not null,
  line_number bigint not null,
  balance bigint not null,
  -- The latest time of a checked line: later lines are looked for from a day before it.
  at timestamptz not null,
  primary key (agent_id, mode, account, unit)
);
call pohf_isolate('ledger_checkpoints');

-- What does not add up. While a row is open, nothing is minted for its agent and mode.
create table ledger_drift (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  finding text not null check (finding ~ '^[a-z_]{1,40}$'),
  subject text not null check (length(subject) <= 512),
  detail text not null check (length(detail) <= 1000),
  found_at timestamptz not null default pohf_now(),
  cleared_at timestamptz,
  primary key (agent_id, mode, finding, subject)
);
call pohf_isolate('ledger_drift');
revoke delete, truncate on ledger_drift from pohf_app;

-- Deployment-wide: up to which time each comparison of two books has been made.
create table ledger_compared (
  comparison text primary key,
  until timestamptz not null
);

-- Both grow in the order of time, so a few bytes for each range of pages find a minute of them.
create index ledger_entries_by_time on ledger_entries using brin (at) with (pages_per_range = 32);
create index credentials_by_time on credentials using brin (at) with (pages_per_range = 32);
