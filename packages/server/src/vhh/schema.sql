-- The tables, types and functions of `vhh` after all migrations, to be read and not run. Written by npm run generate from the
-- catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table forward_orders (
  order_id text not null,
  received_at timestamptz not null default pohf_now(),
  status text not null default 'received' check (status in ('received', 'quoted', 'countersigned', 'invoiced', 'closed')),
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
  total_usd_cents bigint check (total_usd_cents >= 0),
  quoted_usd_cents bigint check (quoted_usd_cents > 0),
  invoice_ref text check (length(invoice_ref) between 1 and 200),
  note text check (length(note) <= 1000),
  changed_at timestamptz not null default pohf_now(),
  transferable boolean not null default false check (not transferable),
  resellable boolean not null default false check (not resellable),
  cash_settled boolean not null default false check (not cash_settled),
  primary key (order_id),
  constraint forward_orders_invoiced check (status <> 'invoiced' or invoice_ref is not null),
  constraint forward_orders_quoted check ((status in ('received', 'closed')) or quoted_usd_cents is not null)
);
create index forward_orders_in_state on forward_orders (status, order_id);
create index forward_orders_of_address on forward_orders (email, received_at);
create index forward_orders_promised on forward_orders (month) where status in ('countersigned', 'invoiced');
create trigger transition before insert or update on forward_orders for each row execute function forward_orders_transition();
-- pohf_app may select, insert, update, delete

create table vhh_epochs (
  code text not null check (code ~ '^VHH(_[A-Za-z0-9_]{1,64})?$'),
  epoch text not null check (epoch ~ '^\d{4}-(0[1-9]|1[0-2])$'),
  revision integer not null default 1 check (revision > 0),
  value_usd_cents bigint check (value_usd_cents >= 0),
  status text not null check (status in ('final', 'insufficient_data')),
  method text not null,
  input_hours double precision not null check (input_hours >= 0),
  input_clusters integer not null check (input_clusters >= 0),
  input_workers integer not null check (input_workers >= 0),
  published_at timestamptz not null,
  jws text not null,
  details jsonb check (jsonb_typeof(details) = 'object'),
  primary key (code, epoch, revision),
  check (status <> 'final' or value_usd_cents is not null)
);
create trigger append_only before delete or update or truncate on vhh_epochs for each statement execute function
  pohf_append_only();
-- pohf_app may select, insert

create table vhh_inputs (
  code text not null,
  epoch text not null,
  revision integer not null check (revision > 0),
  document jsonb not null check (jsonb_typeof(document) = 'object'),
  primary key (code, epoch, revision)
);
create trigger append_only before delete or update or truncate on vhh_inputs for each statement execute function
  pohf_append_only();
-- pohf_app may select, insert

create table vhh_running (
  code text not null check (code ~ '^VHH(_[A-Za-z0-9_]{1,64})?$'),
  month text not null check (month ~ '^\d{4}-(0[1-9]|1[0-2])$'),
  value_usd_cents bigint check (value_usd_cents >= 0),
  status text not null check (status in ('running', 'insufficient_data')),
  input_hours double precision not null check (input_hours >= 0),
  input_clusters integer not null check (input_clusters >= 0),
  input_workers integer not null check (input_workers >= 0),
  as_of timestamptz not null,
  primary key (code),
  check ((status = 'running') = (value_usd_cents is not null))
);
-- pohf_app may select, insert, update, delete

create function forward_orders_transition() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.status <> 'received' then
      raise exception 'a forward order begins as received' using errcode = 'check_violation';
    end if;
    return new;
  end if;
  if old.status <> new.status and (old.status, new.status) not in (
    ('received', 'quoted'), ('quoted', 'countersigned'), ('countersigned', 'invoiced'), ('invoiced', 'closed'),
    ('received', 'closed'), ('quoted', 'closed'), ('countersigned', 'closed')) then
    raise exception 'a forward order cannot go from % to %', old.status, new.status using errcode = 'check_violation';
  end if;
  if (old.order_id, old.received_at, old.hours, old.month, old.category, old.premium_pct, old.epoch, old.total_usd_cents)
    is distinct from
    (new.order_id, new.received_at, new.hours, new.month, new.category, new.premium_pct, new.epoch, new.total_usd_cents)
    or (old.quoted_usd_cents is not null and old.quoted_usd_cents is distinct from new.quoted_usd_cents) then
    raise exception 'the terms of a forward order never change' using errcode = 'check_violation';
  end if;
  if old.status <> new.status then new.changed_at := pohf_now(); end if;
  return new;
end $$;
