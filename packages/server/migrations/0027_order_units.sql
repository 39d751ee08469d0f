-- What a workflow shows to a person, what it asks for, and items whose right answer is known.
alter table workflows
  add column input_form jsonb not null default '[]' check (jsonb_typeof(input_form) = 'array'),
  add column answer_form jsonb not null
    default '[{"name": "answer", "label": "Your answer", "type": "paragraph", "required": true}]'
    check (jsonb_typeof(answer_form) = 'array'),
  add column gold jsonb not null default '[]' check (jsonb_typeof(gold) = 'array' and jsonb_array_length(gold) <= 100);

alter table orders
  -- What people do and are paid for it: of the workflow as it was, or what an operator named. Null while nobody has.
  add column terms jsonb check (jsonb_typeof(terms) = 'object'),
  -- buyer: somebody pays for it. stock: the operator does, to sell it. gold: the operator does, to know people's care.
  add column purpose text not null default 'buyer' check (purpose in ('buyer', 'stock', 'gold')),
  add column decline_reason text check (length(decline_reason) <= 500);
create index orders_waiting on orders (created_at) where offer and accepted_at is null and status in ('created', 'funded');
create index orders_unfunded on orders (expires_at) where status = 'created';
create index orders_by_id on orders (order_id);

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
  return new;
end $$;

-- One answer that a buyer pays for. It says nothing of the person besides a code that only this buyer has.
create table order_units (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  order_id text not null,
  n int not null check (n between 1 and 10000),
  status text not null default 'open' check (status in
    ('open', 'claimed', 'delivered', 'accepted', 'rejected', 'appealed', 'refused', 'cancelled')),
  -- What people find it by: a workflow, or the order itself. Null while it waits for an operator.
  task_id text,
  price_usd_cents bigint not null check (price_usd_cents >= 0),
  -- Which of the buyer's items it shows. Null where the buyer sent none.
  item int check (item >= 0),
  created_at timestamptz not null default pohf_now(),
  -- Nobody took it by then: it ends.
  open_until timestamptz not null,
  worker_ref text,
  session_id text,
  credential_id text,
  answer jsonb,
  quality double precision check (quality between 0 and 1),
  delivered_at timestamptz,
  review_until timestamptz,
  rejected_at timestamptz,
  reject_reason text check (reject_reason in
    ('wrong_answer', 'instructions_not_followed', 'incomplete', 'low_effort', 'other')),
  reject_note text check (length(reject_note) <= 1000),
  appeal_until timestamptz,
  appealed_at timestamptz,
  appeal_text text check (length(appeal_text) <= 2000),
  decision text check (decision in ('accepted', 'refused')),
  decision_reason text check (length(decision_reason) <= 1000),
  ended_at timestamptz,
  -- The buyer's money was taken back: what is still paid for this unit, the operator pays.
  house_pays boolean not null default false,
  -- An accepted unit that may be sold: on the shelf, taken for a purchase under way, sold.
  stock text check (stock in ('shelf', 'taken', 'sold')),
  primary key (agent_id, mode, order_id, n),
  check ((status in ('accepted', 'refused', 'cancelled')) = (ended_at is not null)),
  check (status not in ('delivered', 'accepted', 'rejected', 'appealed', 'refused') or
    num_nulls(session_id, credential_id, delivered_at, review_until) = 0),
  check (status not in ('rejected', 'appealed', 'refused') or num_nulls(rejected_at, reject_reason, appeal_until) = 0),
  check (status <> 'appealed' or appealed_at is not null),
  check (stock is null or status = 'accepted')
);
call pohf_isolate('order_units');
create index order_units_open on order_units (task_id, mode, created_at, order_id, n) where status = 'open';
create index order_units_ending on order_units (open_until) where status = 'open';
create index order_units_review on order_units (review_until) where status = 'delivered';
create index order_units_appeal on order_units (appeal_until) where status = 'rejected';
create index order_units_appealed on order_units (appealed_at) where appealed_at is not null and decision is null;
-- What the escrow is compared by.
create index on order_units (created_at);
create index on order_units (ended_at) where ended_at is not null;
create index order_units_held on order_units (agent_id, mode, order_id, status);
create index order_units_of_worker on order_units (agent_id, mode, worker_ref) where worker_ref is not null;
create index order_units_shelf on order_units (task_id, mode, ended_at) where stock = 'shelf';

create function order_units_transition() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.status <> 'open' then
      raise exception 'a unit begins as open' using errcode = 'check_violation';
    end if;
    return new;
  end if;
  if old.status <> new.status and (old.status, new.status) not in (
    ('open', 'claimed'), ('open', 'cancelled'),
    ('claimed', 'open'), ('claimed', 'delivered'), ('claimed', 'cancelled'),
    ('delivered', 'accepted'), ('delivered', 'rejected'),
    ('rejected', 'appealed'), ('rejected', 'refused'),
    ('appealed', 'accepted'), ('appealed', 'refused')) then
    raise exception 'a unit cannot go from % to %', old.status, new.status using errcode = 'check_violation';
  end if;
  if new.status = 'claimed' and new.task_id is null then
    raise exception 'work on an offer waits for an operator' using errcode = 'check_violation';
  end if;
  if (old.agent_id, old.mode, old.order_id, old.n, old.price_usd_cents, old.item, old.created_at)
    is distinct from (new.agent_id, new.mode, new.order_id, new.n, new.price_usd_cents, new.item, new.created_at)
    or (old.task_id is not null and old.task_id is distinct from new.task_id)
    or (old.house_pays and not new.house_pays) then
    raise exception 'the terms of a unit never change' using errcode = 'check_violation';
  end if;
  -- What was delivered stands. Only what leads to the person may be emptied.
  if old.delivered_at is not null and (
    (old.session_id, old.credential_id, old.answer, old.quality, old.delivered_at, old.review_until)
      is distinct from (new.session_id, new.credential_id, new.answer, new.quality, new.delivered_at, new.review_until)
    or (new.worker_ref is not null and old.worker_ref is distinct from new.worker_ref)) then
    raise exception 'what was delivered never changes' using errcode = 'check_violation';
  end if;
  if old.stock is distinct from new.stock and (coalesce(old.stock, 'none'), new.stock) not in
    (('none', 'shelf'), ('shelf', 'taken'), ('taken', 'shelf'), ('taken', 'sold')) then
    raise exception 'stock cannot go from % to %', old.stock, new.stock using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger transition before insert or update on order_units for each row execute function order_units_transition();
revoke delete, truncate on order_units from pohf_app;

-- Who works on a unit, and did. No agent's transaction reads it: it names people.
create table assignments (
  assignment_id text primary key,
  -- Null once the person is erased.
  person_id text,
  mode text not null check (mode in ('live', 'test')),
  agent_id text not null,
  order_id text not null,
  n int not null,
  item int,
  task_id text not null,
  status text not null default 'claimed' check (status in ('claimed', 'delivered', 'accepted', 'rejected', 'appealed',
    'refused', 'not_verified', 'returned', 'ran_out')),
  reward_stars int not null check (reward_stars >= 0),
  -- Whose account it is paid into: a code that leads to nobody by itself.
  worker text not null,
  challenge text not null,
  claimed_at timestamptz not null default pohf_now(),
  due_at timestamptz not null,
  session_id text,
  quality double precision,
  reasons text[] not null default '{}',
  -- What makes an operator look: buyer and person may be one.
  flags text[] not null default '{}',
  -- Whether the known answer was given; null where none is known.
  gold_right boolean
);
call pohf_hide_from_agents('assignments');
-- A unit is in one pair of hands, and was answered by one person.
create unique index assignments_of_unit on assignments (agent_id, mode, order_id, n)
  where status not in ('not_verified', 'returned', 'ran_out');
-- A person works on one unit at a time.
create unique index assignments_of_person_now on assignments (person_id) where status = 'claimed';
-- A recording counts once.
create unique index assignments_of_session on assignments (agent_id, mode, session_id);
create index assignments_of_person on assignments (person_id, assignment_id);
create index assignments_of_person_item on assignments (person_id, order_id);
create index assignments_due on assignments (due_at) where status = 'claimed';

create function assignments_transition() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.status <> 'claimed' then
      raise exception 'an assignment begins as claimed' using errcode = 'check_violation';
    end if;
    return new;
  end if;
  if old.status <> new.status and (old.status, new.status) not in (
    ('claimed', 'delivered'), ('claimed', 'not_verified'), ('claimed', 'returned'), ('claimed', 'ran_out'),
    ('delivered', 'accepted'), ('delivered', 'rejected'),
    ('rejected', 'appealed'), ('rejected', 'refused'), ('appealed', 'accepted'), ('appealed', 'refused')) then
    raise exception 'an assignment cannot go from % to %', old.status, new.status using errcode = 'check_violation';
  end if;
  if (old.assignment_id, old.mode, old.agent_id, old.order_id, old.n, old.item, old.task_id, old.reward_stars,
      old.worker)
    is distinct from (new.assignment_id, new.mode, new.agent_id, new.order_id, new.n, new.item, new.task_id,
      new.reward_stars, new.worker)
    or (new.person_id is not null and old.person_id is distinct from new.person_id) then
    raise exception 'the terms of an assignment never change' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger transition before insert or update on assignments for each row execute function assignments_transition();
revoke delete, truncate on assignments from pohf_app;

-- What a person earned by a unit: once, whatever happens. `worker` is a code that leads to nobody by itself.
create table worker_earnings (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  order_id text not null,
  n int not null,
  worker text not null,
  stars bigint not null check (stars >= 0),
  status text not null default 'vesting' check (status in ('vesting', 'vested', 'taken_back')),
  vests_at timestamptz not null,
  -- The buyer's payment was taken back after the Stars were the person's: an operator looks.
  flagged boolean not null default false,
  primary key (agent_id, mode, order_id, n)
);
call pohf_hide_from_agents('worker_earnings');
create index worker_earnings_due on worker_earnings (vests_at) where status = 'vesting';
create index worker_earnings_of on worker_earnings (worker, mode, vests_at) where status = 'vesting';

create function worker_earnings_change() returns trigger language plpgsql as $$
begin
  if old.status <> new.status and old.status <> 'vesting' then
    raise exception 'Stars that are % stay so', old.status using errcode = 'check_violation';
  end if;
  if (old.agent_id, old.mode, old.order_id, old.n, old.worker, old.stars, old.vests_at)
    is distinct from (new.agent_id, new.mode, new.order_id, new.n, new.worker, new.stars, new.vests_at) then
    raise exception 'what was earned never changes' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger change before update on worker_earnings for each row execute function worker_earnings_change();
revoke delete, truncate on worker_earnings from pohf_app;

-- How often a person gave the known answer, for each kind of work.
create table worker_standing (
  person_id text not null,
  mode text not null check (mode in ('live', 'test')),
  task_id text not null,
  golds int not null default 0 check (golds >= 0),
  golds_right int not null default 0 check (golds_right between 0 and golds),
  paused_until timestamptz,
  primary key (person_id, mode, task_id)
);
call pohf_hide_from_agents('worker_standing');

-- Payouts of people who work are found by whose they are.
create index payout_requests_of_user on payout_requests (agent_id, mode, user_ref);
