alter table sessions
  -- RFC 7638 thumbprint of the page's key.
  add column jkt text,
  -- What an auditor needs beside the chunks: nonce and public key.
  add column opening jsonb,
  -- Hashes of the encrypted records, 32 bytes each: kept when the records are gone.
  add column leaves bytea check (octet_length(leaves) % 32 = 0),
  -- Rules that the holder of the key broke in signed chunks.
  add column faults text[] not null default '{}';
-- What waits for its score.
create index sessions_closed on sessions (at, session_id) where status = 'closed';

-- One row per session that is being recorded: where its chain stands. Small, rewritten with each chunk, gone a day
-- after the session's time is over.
create table session_recorders (
  agent_id text not null,
  session_id text not null,
  mode text not null check (mode in ('live', 'test')),
  kind text not null check (kind in ('view', 'work', 'task')),
  at timestamptz not null,
  expires_at timestamptz not null,
  status text not null default 'open' check (status in ('open', 'closed', 'expired')),
  -- x and y of the page's P-256 key.
  public_key bytea not null check (octet_length(public_key) = 64),
  -- Chain, receipt and probes: sessions/chain.ts says what is in it.
  state jsonb not null,
  primary key (agent_id, session_id)
) with (fillfactor = 50);
-- A page names a session without its agent. Ids begin with their time, so the index grows at its end.
create index session_recorders_by_id on session_recorders (session_id);
create index session_recorders_due on session_recorders (expires_at);
call pohf_isolate('session_recorders');

-- The key that the records of one subject are encrypted under, itself encrypted. Deleting the row is erasure.
create table session_keys (
  agent_id text not null,
  session_id text not null,
  sealed text not null,
  primary key (agent_id, session_id)
);
call pohf_isolate('session_keys');

-- What was recorded, encrypted, in the order it came.
create table session_chunks (
  agent_id text not null,
  session_id text not null,
  seq int not null check (seq between 1 and 2000),
  at timestamptz not null,
  leaf bytea not null check (octet_length(leaf) = 32),
  ciphertext bytea not null,
  primary key (agent_id, session_id, seq, at)
) partition by range (at);
-- Encrypted bytes do not compress.
alter table session_chunks alter column ciphertext set storage external;
insert into platform_partitioned (table_name, by_day) values ('session_chunks', true);
call pohf_isolate('session_chunks');
revoke update, delete, truncate on session_chunks from pohf_app;
call pohf_make_days('session_chunks', now(), 8);
