-- Whom the request of a stored response named: a member, a device's subject, a session or the agent's own reference.
alter table idempotency_keys add column subject text;
create index idempotency_keys_subject on idempotency_keys (agent_id, subject) where subject is not null;

-- Attention checks of members belonged to the inviting agent, which could read their recordings. Without their keys nobody
-- can. New checks belong to the platform agent.
select set_config('pohf.tenant', 'system', true);
delete from session_keys key using member_attention taken
  where key.agent_id = taken.agent_id and key.session_id = taken.session_id;
