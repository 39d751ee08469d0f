-- Questions that are paid over HTTP 402: a purchase whose good is an order.

alter table orders
  -- The purchase that paid the order; null where a card, the sandbox or the operator did.
  add column purchase_id text check (purchase_id ~ '^pur_[a-z0-9]{38}$'),
  add constraint orders_paid_by_purchase check (purchase_id is null or funded_at is not null);

create or replace function orders_transition() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.status <> 'created' then
      raise exception 'an order begins as created' using errcode = 'check_violation';
    end if;
    return new;
  end if;
  if old.status <> new.status and (old.status, new.status) not in (
    ('created', 'funded'), ('created', 'cancelled'), ('created', 'expired'),
    ('funded', 'in_progress'), ('funded', 'cancelled'), ('funded', 'expired'),
    ('in_progress', 'delivered'), ('in_progress', 'cancelled'), ('in_progress', 'expired'),
    ('delivered', 'completed'), ('cancelled', 'refunded'), ('expired', 'refunded')) then
    raise exception 'an order cannot go from % to %', old.status, new.status using errcode = 'check_violation';
  end if;
  if new.status = 'in_progress' and new.offer and new.accepted_at is null then
    raise exception 'work on an offer waits for an operator' using errcode = 'check_violation';
  end if;
  if (old.agent_id, old.mode, old.order_id, old.task_type, old.workflow_id, old.offer, old.quantity,
      old.total_usd_cents, old.items, old.instructions, old.purpose)
    is distinct from
    (new.agent_id, new.mode, new.order_id, new.task_type, new.workflow_id, new.offer, new.quantity,
      new.total_usd_cents, new.items, new.instructions, new.purpose)
    or (old.terms is not null and old.terms is distinct from new.terms and old.accepted_at is not distinct from new.accepted_at)
    or (old.accepted_at is not null and old.accepted_at is distinct from new.accepted_at) then
    raise exception 'the terms of an order never change' using errcode = 'check_violation';
  end if;
  -- Who paid is written in the change that funds the order, and never again.
  if old.purchase_id is distinct from new.purchase_id and old.status <> 'created' then
    raise exception 'the payment of an order never changes' using errcode = 'check_violation';
  end if;
  return new;
end $$;

alter table purchases
  -- The question that was paid for; null for a unit from stock.
  add column order_id text check (order_id ~ '^ord_'),
  add constraint purchases_of_one_good check (order_id is null or num_nonnulls(unit_ref, frozen, credential_id, response) = 0),
  drop constraint purchases_check1,
  add constraint purchases_delivered
    check (state <> 'delivered' or order_id is not null or num_nonnulls(credential_id, response) = 2);
-- At most one payment of a question is under way or has paid it.
create unique index purchases_of_order on purchases (agent_id, mode, order_id)
  where order_id is not null and state not in ('void', 'refund_due', 'refunded');
-- The delivered live units of stock of a month, page by page: a question counts as a unit of its order.
drop index purchases_settled;
create index purchases_settled on purchases (changed_at, purchase_id)
  where state = 'delivered' and mode = 'live' and order_id is null;

create or replace function purchases_transition() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.state <> 'reserved' then
      raise exception 'a purchase begins as reserved' using errcode = 'check_violation';
    end if;
    return new;
  end if;
  if old.state <> new.state and (old.state, new.state) not in (
    ('reserved', 'broadcast'), ('reserved', 'uncertain'), ('reserved', 'settled'), ('reserved', 'delivered'),
    ('reserved', 'void'), ('broadcast', 'uncertain'), ('broadcast', 'settled'), ('broadcast', 'delivered'),
    ('broadcast', 'void'), ('uncertain', 'broadcast'), ('uncertain', 'settled'), ('uncertain', 'delivered'),
    ('uncertain', 'void'), ('settled', 'delivered'), ('settled', 'refund_due'), ('settled', 'void'),
    ('delivered', 'void'), ('refund_due', 'refunded'))
    -- A question that ends without an accepted answer is refunded, unless the chain undoes its payment.
    and (new.order_id is null or (old.state, new.state) not in (('delivered', 'refund_due'), ('refund_due', 'void'))) then
    raise exception 'a purchase cannot go from % to %', old.state, new.state using errcode = 'check_violation';
  end if;
  if (old.agent_id, old.mode, old.purchase_id, old.secret_hash, old.workflow_id, old.network, old.payer,
      old.amount_usdc_micro, old.order_id)
    is distinct from
    (new.agent_id, new.mode, new.purchase_id, new.secret_hash, new.workflow_id, new.network, new.payer,
      new.amount_usdc_micro, new.order_id)
  then
    raise exception 'the terms of a purchase never change' using errcode = 'check_violation';
  end if;
  if old.response is not null and old.response is distinct from new.response then
    raise exception 'what was delivered stays as it was' using errcode = 'check_violation';
  end if;
  if old.state <> new.state then new.changed_at := pohf_now(); end if;
  return new;
end $$;
