create table checkouts (
  agent_id text not null,
  checkout_id text not null,
  mode text not null check (mode in ('live', 'test')),
  purpose text not null check (purpose in ('credits', 'order')),
  -- What is paid for, in the words of the module that asked: a pack, an order.
  reference text not null check (length(reference) between 1 and 256),
  amount_usd_cents bigint not null check (amount_usd_cents > 0),
  description text not null check (length(description) between 1 and 500),
  state text not null default 'created' check (state in ('created', 'completed', 'expired', 'failed')),
  created_at timestamptz not null default pohf_now(),
  expires_at timestamptz not null,
  changed_at timestamptz not null default pohf_now(),
  primary key (agent_id, checkout_id),
  -- No card provider can be set up yet, so nothing can have been paid in live.
  constraint checkouts_live_unpaid check (state <> 'completed' or mode = 'test')
);
-- One open checkout for one thing: nobody pays for it twice, and asking again makes no further row.
create unique index checkouts_open on checkouts (agent_id, mode, purpose, reference) where state = 'created';
create index checkouts_by_id on checkouts (checkout_id);
create index checkouts_due on checkouts (expires_at) where state = 'created';
call pohf_isolate('checkouts');

create function payments_checkout_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.state <> 'created' then
      raise exception 'a checkout begins as created' using errcode = 'integrity_constraint_violation';
    end if;
    return new;
  end if;
  if (old.state, new.state) not in (('created', 'completed'), ('created', 'expired'), ('created', 'failed')) then
    raise exception 'a checkout cannot go from % to %', old.state, new.state using errcode = 'integrity_constraint_violation';
  end if;
  if (old.agent_id, old.checkout_id, old.mode, old.purpose, old.reference, old.amount_usd_cents, old.description)
    is distinct from
    (new.agent_id, new.checkout_id, new.mode, new.purpose, new.reference, new.amount_usd_cents, new.description)
  then
    raise exception 'a checkout changes its state only' using errcode = 'integrity_constraint_violation';
  end if;
  new.changed_at := pohf_now();
  return new;
end $$;
create trigger state_change before insert or update on checkouts
  for each row execute function payments_checkout_change();
revoke delete, truncate on checkouts from pohf_app;
