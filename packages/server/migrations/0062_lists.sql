-- Lists of an agent, newest first. Sessions have such an index already, by kind.
create index credentials_of_agent on credentials (agent_id, mode, at, credential_id);

-- The requests of agents, kept for a week: what was called and how it was answered, never what was in it. No column holds a
-- body, a query, a path or an address.
create sequence request_log_seq;
grant usage on sequence request_log_seq to pohf_app;
create table request_log (
  agent_id text not null,
  at timestamptz not null,
  -- Requests of one millisecond have an order.
  seq bigint not null default nextval('request_log_seq'),
  request_id text not null check (length(request_id) <= 128),
  key_id text not null,
  method text not null,
  endpoint text not null,
  status smallint not null,
  code text,
  duration_ms int not null check (duration_ms >= 0),
  primary key (agent_id, at, seq)
) partition by range (at);
create index request_log_by_id on request_log (agent_id, request_id, at);
-- Few requests fail, and those are looked for.
create index request_log_failed on request_log (agent_id, at, seq) where status >= 400 or code is not null;
insert into platform_partitioned (table_name, by_day) values ('request_log', true);
call pohf_isolate('request_log');
revoke update, delete, truncate on request_log from pohf_app;
call pohf_make_days('request_log', now(), 8);
