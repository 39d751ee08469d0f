-- Giving card money back. A row is the wish; the provider is asked outside any transaction, under the row's own key.
-- What is posted still follows from the provider's messages alone.
create table card_refunds (
  agent_id text not null,
  refund_id text not null,
  mode text not null check (mode in ('live', 'test')),
  checkout_id text not null,
  -- Names the wish for ever, in the words of the module that has it.
  reference text not null check (length(reference) between 1 and 256),
  amount_usd_cents bigint not null check (amount_usd_cents > 0),
  reason text not null check (length(reason) between 1 and 500),
  state text not null default 'wanted' check (state in ('wanted', 'sent', 'done', 'failed')),
  -- The provider's name of it, once it has one.
  provider_refund_id text check (length(provider_refund_id) between 1 and 255),
  -- Part of the key that makes asking again safe. A new one only after the provider answered with a fault of its own.
  provider_key int not null default 1 check (provider_key between 1 and 1000),
  attempts int not null default 0 check (attempts between 0 and 1000),
  next_at timestamptz not null default pohf_now(),
  -- Why it failed, or why the last try did.
  fault text check (length(fault) between 1 and 100),
  created_at timestamptz not null default pohf_now(),
  changed_at timestamptz not null default pohf_now(),
  primary key (agent_id, refund_id),
  foreign key (agent_id, checkout_id) references checkouts (agent_id, checkout_id),
  constraint card_refunds_sent_has_a_name
    check (mode = 'test' or state not in ('sent', 'done') or provider_refund_id is not null),
  constraint card_refunds_failed_says_why check (state <> 'failed' or fault is not null)
);
create unique index card_refunds_once on card_refunds (agent_id, mode, reference);
create unique index card_refunds_by_provider on card_refunds (agent_id, provider_refund_id);
create index card_refunds_of_checkout on card_refunds (agent_id, checkout_id);
create index card_refunds_by_id on card_refunds (refund_id);
create index card_refunds_by_provider_name on card_refunds (provider_refund_id) where provider_refund_id is not null;
create index card_refunds_due on card_refunds (next_at) where state in ('wanted', 'sent');
call pohf_isolate('card_refunds');

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
create trigger state_change before insert or update on card_refunds
  for each row execute function payments_refund_change();
revoke delete, truncate on card_refunds from pohf_app;

-- How much of what was taken back answers refunds of our own, as it is posted.
alter table checkouts
  add column given_usd_cents bigint not null default 0 check (given_usd_cents between 0 and amount_usd_cents);

-- Deployment-wide, like disputes: each refund that the provider has spoken of, whoever made it.
create table card_refund_facts (
  provider_refund_id text primary key check (length(provider_refund_id) between 1 and 255),
  payment_id text not null check (length(payment_id) between 1 and 255),
  amount_usd_cents bigint not null check (amount_usd_cents >= 0),
  state text not null check (state in ('pending', 'succeeded', 'failed'))
);
create index on card_refund_facts (payment_id);
revoke delete, truncate on card_refund_facts from pohf_app;
