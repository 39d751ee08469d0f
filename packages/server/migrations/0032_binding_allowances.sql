-- How many live bindings an agent made in a calendar month (UTC). One row for each agent and month: the limit is checked
-- and counted by one statement, whatever the agent bound before.
create table binding_allowances (
  agent_id text not null,
  month text not null check (month ~ '^\d{4}-\d{2}$'),
  used int not null check (used > 0),
  primary key (agent_id, month)
);
call pohf_isolate('binding_allowances');
