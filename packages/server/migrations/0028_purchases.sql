-- Payments over HTTP 402, the gas that settles them, and what they bought.

-- Deployment-wide: an authorization counts once for the whole deployment, whoever shows it. Rows are kept for ever.
create table x402_payments (
  chain_id bigint not null check (chain_id > 0),
  asset text not null check (asset ~ '^0x[0-9a-f]{40}$'),
  payer text not null check (payer ~ '^0x[0-9a-f]{40}$'),
  nonce text not null check (nonce ~ '^0x[0-9a-f]{64}$'),
  -- What is paid for, in the words of the module that asked. One thing is paid for by one authorization.
  reference text not null unique check (length(reference) between 1 and 128),
  pay_to text not null check (pay_to ~ '^0x[0-9a-f]{40}$'),
  value_micro bigint not null check (value_micro > 0),
  valid_after bigint not null,
  valid_before bigint not null,
  signature text not null check (signature ~ '^0x[0-9a-f]+$' and length(signature) <= 6002),
  -- key: the payer's own signature; contract: the token asks the payer's contract.
  form text not null check (form in ('key', 'contract')),
  state text not null default 'claimed' check (state in ('claimed', 'settled', 'void')),
  -- The token cannot have used the authorization for us before this block.
  from_block bigint not null check (from_block >= 0),
  -- The proof: where the token says that it moved the money.
  transaction_hash text check (transaction_hash ~ '^0x[0-9a-f]{64}$'),
  block_number bigint,
  finalized_at timestamptz,
  looked_at timestamptz,
  created_at timestamptz not null default pohf_now(),
  changed_at timestamptz not null default pohf_now(),
  primary key (chain_id, asset, payer, nonce),
  check (state <> 'settled' or num_nonnulls(transaction_hash, block_number) = 2)
);
-- Settled and not yet beyond every reorganisation of the chain.
create index x402_payments_watched on x402_payments (looked_at) where state = 'settled' and finalized_at is null;

create function x402_payment_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.state <> 'claimed' then
      raise exception 'a payment begins as claimed' using errcode = 'check_violation';
    end if;
    return new;
  end if;
  -- settled to void: the chain took the block back, and the authorization ended before it could be used again.
  if old.state <> new.state and (old.state, new.state) not in
    (('claimed', 'settled'), ('claimed', 'void'), ('settled', 'void')) then
    raise exception 'a payment cannot go from % to %', old.state, new.state using errcode = 'check_violation';
  end if;
  if old.state = 'settled' and new.state = 'void' and old.finalized_at is not null then
    raise exception 'a final payment stays' using errcode = 'check_violation';
  end if;
  if (old.chain_id, old.asset, old.payer, old.nonce, old.reference, old.pay_to, old.value_micro, old.valid_after,
      old.valid_before, old.signature, old.form) is distinct from
    (new.chain_id, new.asset, new.payer, new.nonce, new.reference, new.pay_to, new.value_micro, new.valid_after,
      new.valid_before, new.signature, new.form) then
    raise exception 'what was signed never changes' using errcode = 'check_violation';
  end if;
  if old.state <> new.state then new.changed_at := pohf_now(); end if;
  return new;
end $$;
create trigger change before insert or update on x402_payments for each row execute function x402_payment_change();
revoke delete, truncate on x402_payments from pohf_app;

-- Deployment-wide: an account that pays gas belongs to the operator. The row's lock is its lease: whoever holds it is
-- the one writer, and gives out the next number.
create table gas_keys (
  chain_id bigint not null,
  address text not null check (address ~ '^0x[0-9a-f]{40}$'),
  next_nonce bigint not null check (next_nonce >= 0),
  -- So many of its transactions are in blocks.
  mined_nonce bigint not null check (mined_nonce >= 0),
  balance_wei numeric(40, 0),
  -- Too little to be chosen. An operator fills it up.
  low boolean not null default false,
  last_used_at timestamptz,
  primary key (chain_id, address)
);

-- Deployment-wide: every transaction that was signed, before it was sent. Several of one number differ in their fee.
create table gas_transactions (
  chain_id bigint not null,
  address text not null,
  nonce bigint not null check (nonce >= 0),
  attempt int not null check (attempt between 1 and 100),
  reference text not null check (length(reference) between 1 and 128),
  hash text not null unique check (hash ~ '^0x[0-9a-f]{64}$'),
  raw text not null check (raw ~ '^0x[0-9a-f]+$' and length(raw) <= 20000),
  max_fee_wei numeric(40, 0) not null,
  created_at timestamptz not null default pohf_now(),
  primary key (chain_id, address, nonce, attempt)
);
create index gas_transactions_of on gas_transactions (reference);
revoke delete, truncate on gas_keys, gas_transactions from pohf_app;

create table purchases (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  -- The part of the id that may be known. The whole id is a secret, and only its hash is here.
  purchase_id text not null check (purchase_id ~ '^pur_[a-z0-9]{38}$'),
  secret_hash bytea not null,
  workflow_id text not null,
  state text not null default 'reserved' check (state in
    ('reserved', 'broadcast', 'uncertain', 'settled', 'delivered', 'void', 'refund_due', 'refunded')),
  network text not null,
  payer text not null,
  amount_usdc_micro bigint not null check (amount_usdc_micro > 0),
  -- The payment was in a block before it was shown to us, so everybody knows its signature: the wallet must speak.
  needs_wallet boolean not null default false,
  -- What was taken from stock, as it was then; emptied with the delivery.
  unit_ref text,
  frozen jsonb,
  transaction_hash text,
  credential_id text,
  -- The body that was delivered, to the byte.
  response text,
  reason text check (length(reason) <= 500),
  refund_transaction_hash text,
  created_at timestamptz not null default pohf_now(),
  changed_at timestamptz not null default pohf_now(),
  -- When to look at it again, and how often that was done; null where nothing is left to do.
  due_at timestamptz,
  attempts int not null default 0,
  primary key (agent_id, mode, purchase_id),
  unique (agent_id, refund_transaction_hash),
  check (state not in ('settled', 'delivered', 'refund_due', 'refunded') or transaction_hash is not null),
  check (state <> 'delivered' or num_nonnulls(credential_id, response) = 2),
  check (state <> 'refunded' or refund_transaction_hash is not null)
);
create index purchases_by_id on purchases (purchase_id);
create index purchases_due on purchases (due_at) where due_at is not null;
create index purchases_listed on purchases (agent_id, mode, created_at desc, purchase_id desc);
call pohf_isolate('purchases');

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
    ('delivered', 'void'), ('refund_due', 'refunded')) then
    raise exception 'a purchase cannot go from % to %', old.state, new.state using errcode = 'check_violation';
  end if;
  if (old.agent_id, old.mode, old.purchase_id, old.secret_hash, old.workflow_id, old.network, old.payer, old.amount_usdc_micro)
    is distinct from
    (new.agent_id, new.mode, new.purchase_id, new.secret_hash, new.workflow_id, new.network, new.payer, new.amount_usdc_micro)
  then
    raise exception 'the terms of a purchase never change' using errcode = 'check_violation';
  end if;
  if old.response is not null and old.response is distinct from new.response then
    raise exception 'what was delivered stays as it was' using errcode = 'check_violation';
  end if;
  if old.state <> new.state then new.changed_at := pohf_now(); end if;
  return new;
end $$;
create trigger transition before insert or update on purchases for each row execute function purchases_transition();
revoke delete, truncate on purchases from pohf_app;
