-- A fragment is never sent, so it does not make another URL.
update webhook_endpoints set url = split_part(url, '#', 1) where url like '%#%';

-- The first 2xx of a delivery to the present URL. Until then the limits of webhook_hosts apply.
alter table webhook_endpoints add column proven_at timestamptz;
update webhook_endpoints endpoint set proven_at = pohf_now()
where state <> 'deleted' and exists (
  select from webhook_deliveries delivery
  where delivery.agent_id = endpoint.agent_id and delivery.mode = endpoint.mode
    and delivery.endpoint_id = endpoint.endpoint_id and delivery.state = 'delivered');

-- The delivery whose request also carries this one: same agent, event and URL, another endpoint. Its due_at lies four days
-- behind the due_at of that delivery, longer than the retry schedule, so that it is not claimed by itself.
alter table webhook_deliveries add column sent_with text;
create index webhook_deliveries_sent_with on webhook_deliveries (agent_id, sent_with) where sent_with is not null;

-- Deployment-wide: a receiver that has not answered 2xx yet is limited by its host for all agents together, and by its
-- address for each agent. Rows are deleted after their window.
create table webhook_hosts (
  host text primary key check (length(host) between 1 and 400),
  -- The attempt that is being sent, and until when it may take.
  holder text,
  busy_until timestamptz,
  -- Failed attempts within the window.
  failures int not null default 0,
  window_ends_at timestamptz not null,
  check ((holder is null) = (busy_until is null))
);
create index webhook_hosts_window on webhook_hosts (window_ends_at);
