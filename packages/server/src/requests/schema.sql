-- The tables, types and functions of `requests` after all migrations, to be read and not run. Written by npm run generate from
-- the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create sequence request_log_seq;

create table request_log (
  agent_id text not null,
  at timestamptz not null,
  seq bigint not null default nextval('request_log_seq'),
  request_id text not null check (length(request_id) <= 128),
  key_id text not null,
  method text not null,
  endpoint text not null,
  status smallint not null,
  code text,
  duration_ms integer not null check (duration_ms >= 0),
  primary key (agent_id, at, seq)
) partition by range (at);
create index request_log_by_id on request_log (agent_id, request_id, at);
create index request_log_failed on request_log (agent_id, at, seq) where status >= 400 or code is not null;
-- partitions by day
-- row-level security by agent_id
-- pohf_app may select, insert
