-- The tables, types and functions of `payments` after all migrations, to be read and not run. Written by npm run generate from
-- the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table card_disputes (
  dispute_id text not null check (length(dispute_id) between 1 and 255),
  payment_id text not null check (length(payment_id) between 1 and 255),
  amount_usd_cents bigint not null check (amount_usd_cents >= 0),
  state text not null check (state in ('inquiry', 'open', 'won', 'lost')),
  primary key (dispute_id)
);
create index card_disputes_payment_id_idx on card_disputes (payment_id);
-- pohf_app may select, insert, update

create table card_events (
  event_id text not null check (length(event_id) between 1 and 255),
  type text not null check (length(type) between 1 and 100),
  subject text check (length(subject) between 1 and 255),
  outcome text not null check (outcome in ('applied', 'known', 'waiting', 'unmatched', 'ignored')),
  said_at timestamptz not null,
  received_at timestamptz not null default pohf_now(),
  primary key (event_id)
);
create index card_events_received_at_idx on card_events (received_at);
create index card_events_said_at_idx on card_events (said_at);
create index card_events_unmatched on card_events (received_at) where outcome = 'unmatched';
-- pohf_app may select, insert, update, delete

create table card_payments (
  payment_id text not null check (length(payment_id) between 1 and 255),
  refunded_usd_cents bigint not null default 0 check (refunded_usd_cents >= 0),
  primary key (payment_id)
);
-- pohf_app may select, insert, update

create table card_refund_facts (
  provider_refund_id text not null check (length(provider_refund_id) between 1 and 255),
  payment_id text not null check (length(payment_id) between 1 and 255),
  amount_usd_cents bigint not null check (amount_usd_cents >= 0),
  state text not null check (state in ('pending', 'succeeded', 'failed')),
  primary key (provider_refund_id)
);
create index card_refund_facts_payment_id_idx on card_refund_facts (payment_id);
-- pohf_app may select, insert, update

create table card_refunds (
  agent_id text not null,
  refund_id text not null,
  mode text not null check (mode in ('live', 'test')),
  checkout_id text not null,
  reference text not null check (length(reference) between 1 and 256),
  amount_usd_cents bigint not null check (amount_usd_cents > 0),
  reason text not null check (length(reason) between 1 and 500),
  state text not null default 'wanted' check (state in ('wanted', 'sent', 'done', 'failed')),
  provider_refund_id text check (length(provider_refund_id) between 1 and 255),
  provider_key integer not null default 1 check (provider_key between 1 and 1000),
  attempts integer not null default 0 check (attempts between 0 and 1000),
  next_at timestamptz not null default pohf_now(),
  fault text check (length(fault) between 1 and 100),
  created_at timestamptz not null default pohf_now(),
  changed_at timestamptz not null default pohf_now(),
  primary key (agent_id, refund_id),
  foreign key (agent_id, checkout_id) references checkouts(agent_id, checkout_id),
  constraint card_refunds_failed_says_why check (state <> 'failed' or fault is not null),
  constraint card_refunds_sent_has_a_name check (mode = 'test' or (state not in ('sent', 'done')) or provider_refund_id is not
    null)
);
create index card_refunds_by_id on card_refunds (refund_id);
create unique index card_refunds_by_provider on card_refunds (agent_id, provider_refund_id);
create index card_refunds_by_provider_name on card_refunds (provider_refund_id) where provider_refund_id is not null;
create index card_refunds_due on card_refunds (next_at) where state in ('wanted', 'sent');
create index card_refunds_in_state on card_refunds (state, refund_id);
create index card_refunds_of_checkout on card_refunds (agent_id, checkout_id);
create unique index card_refunds_once on card_refunds (agent_id, mode, reference);
create trigger state_change before insert or update on card_refunds for each row execute function payments_refund_change();
-- row-level security by agent_id
-- pohf_app may select, insert, update

create table checkouts (
  agent_id text not null,
  checkout_id text not null,
  mode text not null check (mode in ('live', 'test')),
  purpose text not null check (purpose in ('credits', 'order')),
  reference text not null check (length(reference) between 1 and 256),
  amount_usd_cents bigint not null check (amount_usd_cents > 0),
  description text not null check (length(description) between 1 and 500),
  state text not null default 'created' check (state in ('created', 'processing', 'completed', 'expired', 'failed')),
  created_at timestamptz not null default pohf_now(),
  expires_at timestamptz not null,
  changed_at timestamptz not null default pohf_now(),
  provider_session_id text check (length(provider_session_id) between 1 and 255),
  provider_url text check (length(provider_url) between 1 and 4096),
  provider_attempt integer not null default 1 check (provider_attempt between 1 and 1000),
  provider_asked_at timestamptz,
  payment_id text check (length(payment_id) between 1 and 255),
  paid_at timestamptz,
  taken_usd_cents bigint not null default 0,
  taken_revision integer not null default 0,
  given_usd_cents bigint not null default 0,
  primary key (agent_id, checkout_id),
  check (taken_usd_cents >= 0 and taken_usd_cents <= amount_usd_cents),
  check (given_usd_cents >= 0 and given_usd_cents <= amount_usd_cents),
  constraint checkouts_live_paid_by_provider check (state <> 'completed' or mode = 'test' or provider_session_id is not null and
    payment_id is not null and paid_at is not null),
  constraint checkouts_taken_from_paid check (taken_usd_cents = 0 or state = 'completed')
);
create index checkouts_by_id on checkouts (checkout_id);
create index checkouts_by_payment on checkouts (payment_id) where payment_id is not null;
create unique index checkouts_by_session on checkouts (agent_id, provider_session_id);
create index checkouts_due on checkouts (expires_at) where state = 'created';
create unique index checkouts_one_payment on checkouts (agent_id, payment_id);
create unique index checkouts_open on checkouts (agent_id, mode, purpose, reference) where state = 'created' or state =
  'processing' and purpose = 'order';
create index checkouts_paid_at on checkouts (paid_at) where paid_at is not null;
create index checkouts_to_ask on checkouts (provider_asked_at) where provider_session_id is not null and (state in ('created',
  'processing'));
create trigger state_change before insert or update on checkouts for each row execute function payments_checkout_change();
-- row-level security by agent_id
-- pohf_app may select, insert, update

create table gas_keys (
  chain_id bigint not null,
  address text not null check (address ~ '^0x[0-9a-f]{40}$'),
  next_nonce bigint not null check (next_nonce >= 0),
  mined_nonce bigint not null check (mined_nonce >= 0),
  balance_wei numeric(40,0),
  low boolean not null default false,
  last_used_at timestamptz,
  primary key (chain_id, address)
);
-- pohf_app may select, insert, update

create table gas_transactions (
  chain_id bigint not null,
  address text not null,
  nonce bigint not null check (nonce >= 0),
  attempt integer not null check (attempt between 1 and 100),
  reference text not null check (length(reference) between 1 and 128),
  hash text not null check (hash ~ '^0x[0-9a-f]{64}$'),
  raw text not null check (raw ~ '^0x[0-9a-f]+$' and length(raw) <= 20000),
  max_fee_wei numeric(40,0) not null,
  created_at timestamptz not null default pohf_now(),
  primary key (chain_id, address, nonce, attempt),
  unique (hash)
);
create index gas_transactions_of on gas_transactions (reference);
-- pohf_app may select, insert, update

create table x402_payments (
  chain_id bigint not null check (chain_id > 0),
  asset text not null check (asset ~ '^0x[0-9a-f]{40}$'),
  payer text not null check (payer ~ '^0x[0-9a-f]{40}$'),
  nonce text not null check (nonce ~ '^0x[0-9a-f]{64}$'),
  reference text not null check (length(reference) between 1 and 128),
  pay_to text not null check (pay_to ~ '^0x[0-9a-f]{40}$'),
  value_micro bigint not null check (value_micro > 0),
  valid_after bigint not null,
  valid_before bigint not null,
  signature text not null check (signature ~ '^0x[0-9a-f]+$' and length(signature) <= 6002),
  form text not null check (form in ('key', 'contract')),
  state text not null default 'claimed' check (state in ('claimed', 'settled', 'void')),
  from_block bigint not null check (from_block >= 0),
  transaction_hash text check (transaction_hash ~ '^0x[0-9a-f]{64}$'),
  block_number bigint,
  finalized_at timestamptz,
  looked_at timestamptz,
  created_at timestamptz not null default pohf_now(),
  changed_at timestamptz not null default pohf_now(),
  gas_limit bigint check (gas_limit > 0),
  failed_at timestamptz,
  gas_lost bigint check (gas_lost >= 0),
  primary key (chain_id, asset, payer, nonce),
  unique (reference),
  check (state <> 'settled' or num_nonnulls(transaction_hash, block_number) = 2),
  check (failed_at is null or gas_limit is not null),
  check ((failed_at is null) = (gas_lost is null))
);
create index x402_payments_contract_day on x402_payments (chain_id, created_at) where gas_limit is not null and (state <>
  'settled' or failed_at is not null);
create index x402_payments_contract_payer on x402_payments (chain_id, payer) where gas_limit is not null and (state <> 'settled' or
  failed_at is not null);
create index x402_payments_watched on x402_payments (looked_at) where state = 'settled' and finalized_at is null;
create trigger change before insert or update on x402_payments for each row execute function x402_payment_change();
-- pohf_app may select, insert, update

create function payments_checkout_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.state <> 'created' then
      raise exception 'a checkout begins as created' using errcode = 'integrity_constraint_violation';
    end if;
    return new;
  end if;
  -- Money that arrived counts, however late: expired and failed can still become completed, and nothing leaves completed.
  if old.state <> new.state and (old.state, new.state) not in (
    ('created', 'processing'), ('created', 'completed'), ('created', 'expired'), ('created', 'failed'),
    ('processing', 'completed'), ('processing', 'failed'), ('expired', 'completed'), ('failed', 'completed'))
  then
    raise exception 'a checkout cannot go from % to %', old.state, new.state using errcode = 'integrity_constraint_violation';
  end if;
  if (old.agent_id, old.checkout_id, old.mode, old.purpose, old.reference, old.amount_usd_cents, old.description)
    is distinct from
    (new.agent_id, new.checkout_id, new.mode, new.purpose, new.reference, new.amount_usd_cents, new.description)
  then
    raise exception 'a checkout changes its state only' using errcode = 'integrity_constraint_violation';
  end if;
  if (old.provider_session_id is not null and old.provider_session_id is distinct from new.provider_session_id)
    or (old.payment_id is not null and old.payment_id is distinct from new.payment_id)
  then
    raise exception 'a checkout keeps its session and its payment' using errcode = 'integrity_constraint_violation';
  end if;
  if old.state <> new.state then new.changed_at := pohf_now(); end if;
  return new;
end $$;

create function payments_refund_change() returns trigger language plpgsql as $$
declare
  paid bigint;
  asked bigint;
begin
  if tg_op = 'INSERT' then
    if new.state <> 'wanted' then
      raise exception 'a refund begins as wanted' using errcode = 'integrity_constraint_violation';
    end if;
    -- Two wishes for one checkout wait for each other, so that together they never pass what was paid.
    perform pg_advisory_xact_lock(hashtextextended('card_refunds ' || new.checkout_id, 0));
    select amount_usd_cents into paid from checkouts
      where agent_id = new.agent_id and checkout_id = new.checkout_id and mode = new.mode and state = 'completed';
    select coalesce(sum(amount_usd_cents), 0) into asked from card_refunds
      where agent_id = new.agent_id and checkout_id = new.checkout_id and state <> 'failed' and reference <> new.reference;
    if paid is null or asked + new.amount_usd_cents > paid then
      raise exception 'more would be given back than was paid' using errcode = 'integrity_constraint_violation';
    end if;
    return new;
  end if;
  -- The bank may send a refund back when it was done already. An operator may have a failed one tried again, and one
  -- that was given up may have been made after all.
  if old.state <> new.state and (old.state, new.state) not in (
    ('wanted', 'sent'), ('wanted', 'failed'), ('sent', 'done'), ('sent', 'failed'), ('done', 'failed'),
    ('failed', 'wanted'), ('failed', 'sent'))
    and not (new.mode = 'test' and (old.state, new.state) = ('wanted', 'done'))
  then
    raise exception 'a refund cannot go from % to %', old.state, new.state using errcode = 'integrity_constraint_violation';
  end if;
  if (old.agent_id, old.refund_id, old.mode, old.checkout_id, old.reference, old.amount_usd_cents, old.reason)
    is distinct from
    (new.agent_id, new.refund_id, new.mode, new.checkout_id, new.reference, new.amount_usd_cents, new.reason)
  then
    raise exception 'what a refund says stands' using errcode = 'integrity_constraint_violation';
  end if;
  if old.state <> new.state then new.changed_at := pohf_now(); end if;
  return new;
end $$;

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
