-- A keyed hash of the /24 or /48 that registered. Null for agents that registered before this column existed.
alter table agents add column wide_network_tag text;

alter table free_plan_places drop constraint free_plan_places_kind_check;
alter table free_plan_places add constraint free_plan_places_kind_check
  check (kind in ('mail', 'network', 'wide_network'));
-- The places of one agent are deleted when it reaches a cap.
create index on free_plan_places (agent_id);

-- Deployment-wide: how many agents got the free plan in each calendar month (UTC).
create table free_plan_months (
  month text primary key check (month ~ '^\d{4}-\d{2}$'),
  granted int not null check (granted > 0)
);
