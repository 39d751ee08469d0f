create table operators (
  operator_id text primary key,
  name text not null,
  key_hash bytea not null unique,
  created_at timestamptz not null default pohf_now(),
  revoked_at timestamptz
);

-- Append-only and hash-chained: each row's hash covers the one before, so a cut or a change shows.
create table operator_audit (
  seq bigint primary key,
  at timestamptz not null,
  operator_id text not null,
  action text not null,
  target text not null,
  details jsonb not null,
  prev_hash bytea not null,
  hash bytea not null
);
create trigger append_only before update or delete or truncate on operator_audit
  for each statement execute function pohf_append_only();
revoke update, delete, truncate on operator_audit from pohf_app;
