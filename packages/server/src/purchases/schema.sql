-- The tables, types and functions of `purchases` after all migrations, to be read and not run. Written by npm run generate from
-- the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table purchases (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  purchase_id text not null check (purchase_id ~ '^pur_[a-z0-9]{38}$'),
  secret_hash bytea not null,
  workflow_id text not null,
  state text not null default 'reserved' check (state in ('reserved', 'broadcast', 'uncertain', 'settled', 'delivered', 'void',
    'refund_due', 'refunded')),
  network text not null,
  payer text not null,
  amount_usdc_micro bigint not null check (amount_usdc_micro > 0),
  needs_wallet boolean not null default false,
  unit_ref text,
  frozen jsonb,
  transaction_hash text,
  credential_id text,
  response text,
  reason text check (length(reason) <= 500),
  refund_transaction_hash text,
  created_at timestamptz not null default pohf_now(),
  changed_at timestamptz not null default pohf_now(),
  due_at timestamptz,
  attempts integer not null default 0,
  order_id text check (order_id ~ '^ord_'),
  primary key (agent_id, mode, purchase_id),
  unique (agent_id, refund_transaction_hash),
  check ((state not in ('settled', 'delivered', 'refund_due', 'refunded')) or transaction_hash is not null),
  check (state <> 'refunded' or refund_transaction_hash is not null),
  constraint purchases_delivered check (state <> 'delivered' or order_id is not null or num_nonnulls(credential_id, response) =
    2),
  constraint purchases_of_one_good check (order_id is null or num_nonnulls(unit_ref, frozen, credential_id, response) = 0)
);
create index purchases_by_id on purchases (purchase_id);
create index purchases_by_refund on purchases (refund_transaction_hash) where refund_transaction_hash is not null;
create index purchases_due on purchases (due_at) where due_at is not null;
create index purchases_in_state on purchases (state, changed_at);
create index purchases_listed on purchases (agent_id, mode, created_at desc, purchase_id desc);
create unique index purchases_of_order on purchases (agent_id, mode, order_id) where order_id is not null and (state not in ('void',
  'refund_due', 'refunded'));
create index purchases_paid on purchases (changed_at) where transaction_hash is not null;
create index purchases_settled on purchases (changed_at, purchase_id) where state = 'delivered' and mode = 'live' and order_id
  is null;
create trigger transition before insert or update on purchases for each row execute function purchases_transition();
-- row-level security by agent_id
-- pohf_app may select, insert, update

create function purchases_transition() returns trigger language plpgsql as $$
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
