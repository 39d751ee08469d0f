-- Card payments. A message of the provider states a fact that only ever grows: a session was paid, so much of a
-- payment was refunded in all, a dispute was opened or closed. What is posted follows from the facts, so their
-- order and number do not matter.

alter table checkouts
  -- The provider's page for this checkout; null until the provider has answered, and where there is none.
  add column provider_session_id text check (length(provider_session_id) between 1 and 255),
  add column provider_url text check (length(provider_url) between 1 and 4096),
  -- Part of the key that makes asking the provider again safe. A new one only after it answered with a fault of its own.
  add column provider_attempt int not null default 1 check (provider_attempt between 1 and 1000),
  -- When the provider was last asked how it stands.
  add column provider_asked_at timestamptz,
  -- The provider's name of the payment; refunds and disputes name it.
  add column payment_id text check (length(payment_id) between 1 and 255),
  add column paid_at timestamptz,
  -- How much of the payment refunds and disputes have taken back, as it is posted, and how often that has changed.
  add column taken_usd_cents bigint not null default 0 check (taken_usd_cents between 0 and amount_usd_cents),
  add column taken_revision int not null default 0,
  drop constraint checkouts_live_unpaid,
  drop constraint checkouts_state_check,
  add constraint checkouts_state_check
    check (state in ('created', 'processing', 'completed', 'expired', 'failed')),
  -- Live, only the provider's word completes a checkout.
  add constraint checkouts_live_paid_by_provider check (state <> 'completed' or mode = 'test'
    or (provider_session_id is not null and payment_id is not null and paid_at is not null)),
  add constraint checkouts_taken_from_paid check (taken_usd_cents = 0 or state = 'completed');

-- An order that a slow payment is under way for must not be paid a second time; a pack may be.
drop index checkouts_open;
create unique index checkouts_open on checkouts (agent_id, mode, purpose, reference)
  where state = 'created' or (state = 'processing' and purpose = 'order');
create unique index checkouts_by_session on checkouts (agent_id, provider_session_id);
create unique index checkouts_one_payment on checkouts (agent_id, payment_id);
create index checkouts_by_payment on checkouts (payment_id) where payment_id is not null;
create index checkouts_to_ask on checkouts (provider_asked_at)
  where provider_session_id is not null and state in ('created', 'processing');

create or replace function payments_checkout_change() returns trigger language plpgsql as $$
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

-- Deployment-wide: a refund or a dispute may come before the payment's checkout is known, so nobody owns it yet.
-- The row of a payment is also the one lock under which its facts are written and read.
create table card_payments (
  payment_id text primary key check (length(payment_id) between 1 and 255),
  refunded_usd_cents bigint not null default 0 check (refunded_usd_cents >= 0)
);
create table card_disputes (
  dispute_id text primary key check (length(dispute_id) between 1 and 255),
  payment_id text not null check (length(payment_id) between 1 and 255),
  amount_usd_cents bigint not null check (amount_usd_cents >= 0),
  -- inquiry: a question of the bank, no money moved.
  state text not null check (state in ('inquiry', 'open', 'won', 'lost'))
);
create index on card_disputes (payment_id);

-- Deployment-wide: every message that was heard, once, with what came of it.
create table card_events (
  event_id text primary key check (length(event_id) between 1 and 255),
  type text not null check (length(type) between 1 and 100),
  -- The session or payment that it speaks of.
  subject text check (length(subject) between 1 and 255),
  outcome text not null check (outcome in ('applied', 'known', 'waiting', 'unmatched', 'ignored')),
  -- The provider's own time of it.
  said_at timestamptz not null,
  received_at timestamptz not null default pohf_now()
);
create index on card_events (received_at);
create index on card_events (said_at);
revoke delete, truncate on card_payments, card_disputes from pohf_app;

-- For checking postings of one kind against what they stand for.
create index ledger_claims_by_kind on ledger_claims (mode, kind, reference);
