-- Deployment-wide: what the operator offers, the same to every agent.
create table workflows (
  workflow_id text primary key check (workflow_id ~ '^wf_[a-z0-9_]{1,64}$'),
  title text not null check (length(title) between 1 and 200),
  description text not null check (length(description) between 1 and 2000),
  steps text[] not null check (cardinality(steps) between 1 and 50),
  est_minutes int not null check (est_minutes between 1 and 10000),
  reward_stars int not null check (reward_stars between 0 and 1000000),
  webcam_bonus int not null default 0 check (webcam_bonus between 0 and 1000000),
  dataset_optin boolean not null default false,
  category text not null check (category ~ '^[a-z][a-z0-9_]{0,39}$'),
  -- At most 10,000 USD a unit, so that 10,000 units stay below the largest price of the interface.
  price_usd_cents bigint not null check (price_usd_cents between 1 and 1000000),
  active boolean not null default true,
  created_at timestamptz not null default pohf_now()
);
create index on workflows (category, price_usd_cents, workflow_id) where active;

create table orders (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  order_id text not null,
  status text not null default 'created' check (status in
    ('created', 'funded', 'in_progress', 'delivered', 'completed', 'cancelled', 'refunded', 'expired')),
  task_type text not null check (length(task_type) between 1 and 200),
  -- Null where the task type is text of the buyer's own: a custom order.
  workflow_id text,
  -- The price is the buyer's and no operator has agreed to it yet.
  offer boolean not null,
  accepted_at timestamptz,
  quantity int not null check (quantity between 1 and 10000),
  total_usd_cents bigint not null check (total_usd_cents > 0),
  max_price_usd_cents bigint check (max_price_usd_cents >= total_usd_cents),
  items jsonb check (jsonb_typeof(items) = 'array' and jsonb_array_length(items) <= 1000),
  instructions text check (length(instructions) <= 4000),
  callback_ref text check (length(callback_ref) <= 256),
  created_at timestamptz not null default pohf_now(),
  expires_at timestamptz not null,
  funded_at timestamptz,
  checkout_id text,
  checkout_url text,
  checkout_expires_at timestamptz,
  primary key (agent_id, mode, order_id),
  check (workflow_id is not null or offer),
  check (offer or accepted_at is null),
  check (status not in ('funded', 'in_progress', 'delivered', 'completed', 'refunded') or funded_at is not null),
  check (num_nonnulls(checkout_id, checkout_url, checkout_expires_at) in (0, 3))
);
create index on orders (agent_id, mode, created_at, order_id);
call pohf_isolate('orders');

create function orders_transition() returns trigger language plpgsql as $$
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
  if (old.agent_id, old.mode, old.order_id, old.task_type, old.workflow_id, old.offer, old.quantity, old.total_usd_cents)
    is distinct from
    (new.agent_id, new.mode, new.order_id, new.task_type, new.workflow_id, new.offer, new.quantity, new.total_usd_cents) then
    raise exception 'the terms of an order never change' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger transition before insert or update on orders for each row execute function orders_transition();
revoke delete, truncate on orders from pohf_app;

create table task_completions (
  agent_id text not null,
  completion_id text not null,
  at timestamptz not null default pohf_now(),
  mode text not null check (mode in ('live', 'test')),
  task_id text not null,
  member_ref text check (length(member_ref) <= 256),
  answer jsonb,
  -- Null where the task has no known answer.
  correct boolean,
  attended boolean not null,
  session_id text not null,
  verified boolean not null,
  reward_stars int not null check (reward_stars >= 0 and (verified or reward_stars = 0)),
  primary key (agent_id, completion_id, at)
) partition by range (at);
insert into platform_partitioned values ('task_completions', null);
call pohf_isolate('task_completions');

-- A token works once. Its row is needed only until the token has expired.
create table task_token_claims (
  agent_id text not null,
  mode text not null,
  nonce text not null,
  expires_at timestamptz not null,
  primary key (agent_id, mode, nonce)
);
create index on task_token_claims (expires_at);
call pohf_isolate('task_token_claims');
call pohf_make_partitions('task_completions', now(), 3);
