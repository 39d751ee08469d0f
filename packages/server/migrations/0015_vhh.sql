-- Deployment-wide: the published index. A row is signed, so it is never changed; a restatement is the next revision.
create table vhh_epochs (
  code text not null check (code ~ '^VHH(_[A-Za-z0-9_]{1,64})?$'),
  epoch text not null check (epoch ~ '^\d{4}-(0[1-9]|1[0-2])$'),
  revision int not null default 1 check (revision > 0),
  value_usd_cents bigint check (value_usd_cents >= 0),
  status text not null check (status in ('final', 'insufficient_data')),
  method text not null,
  input_hours double precision not null check (input_hours >= 0),
  input_clusters int not null check (input_clusters >= 0),
  input_workers int not null check (input_workers >= 0),
  published_at timestamptz not null,
  jws text not null,
  primary key (code, epoch, revision),
  check (status <> 'final' or value_usd_cents is not null)
);
create trigger append_only before update or delete or truncate on vhh_epochs
  for each statement execute function pohf_append_only();
revoke update, delete, truncate on vhh_epochs from pohf_app;

-- Deployment-wide: whoever asks for capacity needs no agent. Holds a name and a mail address; deleting the row is erasure.
create table forward_orders (
  order_id text primary key,
  received_at timestamptz not null default pohf_now(),
  status text not null default 'received' check (status in ('received')),
  name text not null,
  company text not null,
  email text not null,
  hours double precision not null check (hours > 0),
  month text not null check (month ~ '^\d{4}-(0[1-9]|1[0-2])$'),
  category text,
  notes text,
  hours_available double precision not null check (hours_available >= 0),
  assessment text not null check (assessment in ('within', 'stretch', 'beyond')),
  premium_pct double precision not null check (premium_pct >= 0),
  epoch text not null,
  total_usd_cents bigint check (total_usd_cents >= 0)
);
create index on forward_orders (received_at);
