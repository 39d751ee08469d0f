-- What the index is computed from. Fields of an epoch since method vhh-1: its revision, the root of its inputs, the value
-- that is carried forward, what was excluded. Null where the epoch is older.
alter table vhh_epochs add column details jsonb check (jsonb_typeof(details) = 'object');

-- Deployment-wide: the published inputs of a final epoch, without names: pseudonyms of this series and month only.
create table vhh_inputs (
  code text not null,
  epoch text not null,
  revision int not null check (revision > 0),
  document jsonb not null check (jsonb_typeof(document) = 'object'),
  primary key (code, epoch, revision)
);
create trigger append_only before update or delete or truncate on vhh_inputs
  for each statement execute function pohf_append_only();
revoke update, delete, truncate on vhh_inputs from pohf_app;

-- Deployment-wide: the figures of the running month, computed once an hour for all readers.
create table vhh_running (
  code text primary key check (code ~ '^VHH(_[A-Za-z0-9_]{1,64})?$'),
  month text not null check (month ~ '^\d{4}-(0[1-9]|1[0-2])$'),
  value_usd_cents bigint check (value_usd_cents >= 0),
  status text not null check (status in ('running', 'insufficient_data')),
  input_hours double precision not null check (input_hours >= 0),
  input_clusters int not null check (input_clusters >= 0),
  input_workers int not null check (input_workers >= 0),
  as_of timestamptz not null,
  check ((status = 'running') = (value_usd_cents is not null))
);

-- The settled live units of a month, page by page.
create index order_units_settled on order_units (ended_at, agent_id, order_id, n)
  where status = 'accepted' and mode = 'live';
-- The delivered live purchases of a month, page by page.
create index purchases_settled on purchases (changed_at, purchase_id) where state = 'delivered' and mode = 'live';
