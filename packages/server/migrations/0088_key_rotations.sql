-- Successors of signing keys that subscribers are told about, once each. The tenant of none: a key signs for every agent.
create table key_rotations (
  kid text primary key check (length(kid) = 43),
  purpose text not null check (purpose in ('live', 'test', 'onchain', 'onchain-test')),
  mode text not null check (mode in ('live', 'test')),
  activate_at timestamptz not null,
  -- The last agent that was told. It moves in the transaction that stores the events of a page.
  told_until text not null default '',
  -- When the last agent was told.
  told_at timestamptz
);
create index key_rotations_open on key_rotations (activate_at) where told_at is null;
call pohf_hide_from_agents('key_rotations');
