-- What the scorer counted: seconds of motion, probes, hits; and what it noticed and held against nobody.
alter table sessions add column counted jsonb;

-- A recorded session of kind task stands behind one completion.
create table attention_claims (
  agent_id text not null,
  mode text not null,
  session_id text not null,
  used_by text not null,
  primary key (agent_id, mode, session_id)
);
call pohf_isolate('attention_claims');

-- Shapes of strokes, by which a recording that is played again is known. Derived from a person's motion, so they go
-- when the recording goes, and with the session. `scope` is 'live', or the agent in test: live strokes are looked for
-- across agents, for a thief takes them from one site to another.
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
create index on stroke_sketches (scope, cell);
insert into platform_partitioned (table_name, by_day) values ('stroke_sketches', true);
call pohf_isolate('stroke_sketches');
call pohf_make_days('stroke_sketches', now(), 8);
