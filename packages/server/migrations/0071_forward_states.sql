-- What becomes of a forward order: an operator moves it, step by step.
alter table forward_orders drop constraint forward_orders_status_check;
alter table forward_orders
  add constraint forward_orders_status_check
    check (status in ('received', 'quoted', 'countersigned', 'invoiced', 'closed')),
  -- What the operator offered, and the number of the invoice in the operator's own books.
  add column quoted_usd_cents bigint check (quoted_usd_cents > 0),
  add column invoice_ref text check (length(invoice_ref) between 1 and 200),
  add column note text check (length(note) <= 1000),
  add column changed_at timestamptz not null default pohf_now(),
  -- The terms of every order. No other terms can be stored.
  add column transferable boolean not null default false check (not transferable),
  add column resellable boolean not null default false check (not resellable),
  add column cash_settled boolean not null default false check (not cash_settled),
  add constraint forward_orders_quoted check (status in ('received', 'closed') or quoted_usd_cents is not null),
  add constraint forward_orders_invoiced check (status <> 'invoiced' or invoice_ref is not null);

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
create trigger transition before insert or update on forward_orders
  for each row execute function forward_orders_transition();

create index forward_orders_in_state on forward_orders (status, order_id);
create index forward_orders_of_address on forward_orders (email, received_at);
-- The hours that are promised for a month.
create index forward_orders_promised on forward_orders (month) where status in ('countersigned', 'invoiced');
