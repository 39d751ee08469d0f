-- The tables, types and functions of `work` after all migrations, to be read and not run. Written by npm run generate from the
-- catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table assignments (
  assignment_id text not null,
  person_id text,
  mode text not null check (mode in ('live', 'test')),
  agent_id text not null,
  order_id text not null,
  n integer not null,
  item integer,
  task_id text not null,
  status text not null default 'claimed' check (status in ('claimed', 'delivered', 'accepted', 'rejected', 'appealed', 'refused',
    'not_verified', 'returned', 'ran_out')),
  reward_stars integer not null check (reward_stars >= 0),
  worker text not null,
  challenge text not null,
  claimed_at timestamptz not null default pohf_now(),
  due_at timestamptz not null,
  session_id text,
  quality double precision,
  reasons text[] not null default '{}',
  flags text[] not null default '{}',
  gold_right boolean,
  known_item jsonb check (jsonb_typeof(known_item) = 'object'),
  covered_agent_id text,
  covered_order_id text,
  covered_n integer,
  released_at timestamptz,
  recorded_seconds integer check (recorded_seconds > 0),
  reported_at timestamptz,
  report_reason text check (report_reason in ('leads_elsewhere', 'asks_personal_data', 'harmful', 'other')),
  report_counts boolean,
  report_upheld boolean,
  primary key (assignment_id),
  check (num_nulls(covered_agent_id, covered_order_id, covered_n) in (0, 3)),
  check (covered_n is null or known_item is not null),
  check (released_at is null or (status in ('returned', 'ran_out'))),
  constraint assignments_report check (num_nulls(reported_at, report_reason, report_counts) in (0, 3)),
  constraint assignments_report_decided check (report_upheld is null or reported_at is not null)
);
create index assignments_accepted_for_buyer on assignments (agent_id, mode, assignment_id) where status = 'accepted';
create index assignments_due on assignments (due_at) where status = 'claimed';
create index assignments_known on assignments (person_id, mode, task_id) where known_item is not null;
create index assignments_measured on assignments (task_id, mode, assignment_id) where status = 'accepted' and recorded_seconds
  is not null;
create index assignments_of_challenge on assignments (challenge) where status = 'claimed';
create index assignments_of_person on assignments (person_id, assignment_id);
create index assignments_of_person_item on assignments (person_id, order_id);
create unique index assignments_of_person_now on assignments (person_id) where status = 'claimed';
create unique index assignments_of_session on assignments (agent_id, mode, session_id);
create unique index assignments_of_unit on assignments (agent_id, mode, order_id, n) where status not in ('not_verified',
  'returned', 'ran_out');
create index assignments_of_worker on assignments (worker, mode, assignment_id);
create index assignments_released on assignments (person_id, released_at) where released_at is not null;
create index assignments_reported on assignments (agent_id, mode, order_id, reported_at) where reported_at is not null;
create index assignments_reported_by on assignments (person_id, reported_at) where reported_at is not null;
create trigger transition before insert or update on assignments for each row execute function assignments_transition();
-- row-level security hidden from agents
-- pohf_app may select, insert, update

create table order_units (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  order_id text not null,
  n integer not null check (n between 1 and 10000),
  status text not null default 'open' check (status in ('open', 'claimed', 'delivered', 'accepted', 'rejected', 'appealed',
    'refused', 'cancelled')),
  task_id text,
  price_usd_cents bigint not null check (price_usd_cents >= 0),
  item integer check (item >= 0),
  created_at timestamptz not null default pohf_now(),
  open_until timestamptz not null,
  worker_ref text,
  session_id text,
  credential_id text,
  answer jsonb,
  quality double precision check (quality between 0 and 1),
  delivered_at timestamptz,
  review_until timestamptz,
  rejected_at timestamptz,
  reject_reason text check (reject_reason in ('wrong_answer', 'instructions_not_followed', 'incomplete', 'low_effort', 'other')),
  reject_note text check (length(reject_note) <= 1000),
  appeal_until timestamptz,
  appealed_at timestamptz,
  appeal_text text check (length(appeal_text) <= 2000),
  decision text check (decision in ('accepted', 'refused')),
  decision_reason text check (length(decision_reason) <= 1000),
  ended_at timestamptz,
  house_pays boolean not null default false,
  stock text check (stock in ('shelf', 'taken', 'sold')),
  open_from timestamptz,
  primary key (agent_id, mode, order_id, n),
  check ((status in ('accepted', 'refused', 'cancelled')) = (ended_at is not null)),
  check ((status not in ('delivered', 'accepted', 'rejected', 'appealed', 'refused')) or num_nulls(session_id, credential_id,
    delivered_at, review_until) = 0),
  check ((status not in ('rejected', 'appealed', 'refused')) or num_nulls(rejected_at, reject_reason, appeal_until) = 0),
  check (status <> 'appealed' or appealed_at is not null),
  check (stock is null or status = 'accepted')
);
create index order_units_answered on order_units (task_id, mode, delivered_at) where delivered_at is not null and worker_ref is
  distinct from 'wrk_simulated';
create index order_units_appeal on order_units (appeal_until) where status = 'rejected';
create index order_units_appealed on order_units (appealed_at) where appealed_at is not null and decision is null;
create index order_units_created_at_idx on order_units (created_at);
create index order_units_delivered on order_units (agent_id, mode, delivered_at) where delivered_at is not null;
create index order_units_ended_at_idx on order_units (ended_at) where ended_at is not null;
create index order_units_ending on order_units (open_until) where status = 'open';
create index order_units_held on order_units (agent_id, mode, order_id, status);
create index order_units_of_worker on order_units (agent_id, mode, worker_ref) where worker_ref is not null;
create index order_units_open on order_units (task_id, mode, created_at, order_id, n) where status = 'open';
create index order_units_review on order_units (review_until) where status = 'delivered';
create index order_units_settled on order_units (ended_at, agent_id, order_id, n) where status = 'accepted' and mode = 'live';
create index order_units_shelf on order_units (task_id, mode, ended_at) where stock = 'shelf';
create trigger transition before insert or update on order_units for each row execute function order_units_transition();
-- row-level security by agent_id
-- pohf_app may select, insert, update

create table orders (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  order_id text not null,
  status text not null default 'created' check (status in ('created', 'funded', 'in_progress', 'delivered', 'completed',
    'cancelled', 'refunded', 'expired')),
  task_type text not null check (length(task_type) between 1 and 200),
  workflow_id text,
  offer boolean not null,
  accepted_at timestamptz,
  quantity integer not null check (quantity between 1 and 10000),
  total_usd_cents bigint not null check (total_usd_cents > 0),
  max_price_usd_cents bigint,
  items jsonb check (jsonb_typeof(items) = 'array' and jsonb_array_length(items) <= 1000),
  instructions text check (length(instructions) <= 4000),
  callback_ref text check (length(callback_ref) <= 256),
  created_at timestamptz not null default pohf_now(),
  expires_at timestamptz not null,
  funded_at timestamptz,
  checkout_id text,
  checkout_url text,
  checkout_expires_at timestamptz,
  terms jsonb check (jsonb_typeof(terms) = 'object'),
  purpose text not null default 'buyer' check (purpose in ('buyer', 'stock', 'gold')),
  decline_reason text check (length(decline_reason) <= 500),
  purchase_id text check (purchase_id ~ '^pur_[a-z0-9]{38}$'),
  review_cause text check (review_cause in ('new_buyer', 'reports')),
  review_since timestamptz,
  held boolean not null default false,
  review_decision text check (review_decision in ('approved', 'refused')),
  review_reason text check (length(review_reason) <= 500),
  reviewed_at timestamptz,
  primary key (agent_id, mode, order_id),
  check (max_price_usd_cents >= total_usd_cents),
  check (workflow_id is not null or offer),
  check (offer or accepted_at is null),
  check ((status not in ('funded', 'in_progress', 'delivered', 'completed', 'refunded')) or funded_at is not null),
  check (num_nonnulls(checkout_id, checkout_url, checkout_expires_at) in (0, 3)),
  constraint orders_held check (not held or review_since is not null),
  constraint orders_paid_by_purchase check (purchase_id is null or funded_at is not null),
  constraint orders_reviewed check (num_nulls(review_decision, reviewed_at) in (0, 2))
);
create index orders_by_id on orders (order_id);
create index orders_in_review on orders (review_since) where review_since is not null;
create index orders_in_review_of_agent on orders (agent_id, mode) where review_since is not null;
create index orders_reviewed_of_agent on orders (agent_id, mode, reviewed_at) where reviewed_at is not null;
create index orders_unfunded on orders (expires_at) where status = 'created';
create index orders_waiting on orders (order_id) where offer and accepted_at is null and (status in ('created', 'funded'));
create trigger transition before insert or update on orders for each row execute function orders_transition();
-- row-level security by agent_id
-- pohf_app may select, insert, update

create table worker_earnings (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  order_id text not null,
  n integer not null,
  worker text not null,
  stars bigint not null check (stars >= 0),
  status text not null default 'vesting' check (status in ('vesting', 'vested', 'taken_back')),
  vests_at timestamptz not null,
  flagged boolean not null default false,
  primary key (agent_id, mode, order_id, n)
);
create index worker_earnings_due on worker_earnings (vests_at) where status = 'vesting';
create index worker_earnings_of on worker_earnings (worker, mode, vests_at) where status = 'vesting';
create trigger change before update on worker_earnings for each row execute function worker_earnings_change();
-- row-level security hidden from agents
-- pohf_app may select, insert, update

create table worker_standing (
  person_id text not null,
  mode text not null check (mode in ('live', 'test')),
  task_id text not null,
  golds integer not null default 0 check (golds >= 0),
  golds_right integer not null default 0,
  paused_until timestamptz,
  primary key (person_id, mode, task_id),
  check (golds_right >= 0 and golds_right <= golds)
);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table workflows (
  workflow_id text not null check (workflow_id ~ '^wf_[a-z0-9_]{1,64}$'),
  title text not null check (length(title) between 1 and 200),
  description text not null check (length(description) between 1 and 2000),
  steps text[] not null check (cardinality(steps) between 1 and 50),
  est_minutes integer not null check (est_minutes between 1 and 10000),
  reward_stars integer not null check (reward_stars between 0 and 1000000),
  webcam_bonus integer not null default 0 check (webcam_bonus between 0 and 1000000),
  dataset_optin boolean not null default false,
  category text not null check (category ~ '^[a-z][a-z0-9_]{0,39}$'),
  price_usd_cents bigint not null check (price_usd_cents between 1 and 1000000),
  active boolean not null default true,
  created_at timestamptz not null default pohf_now(),
  input_form jsonb not null default '[]' check (jsonb_typeof(input_form) = 'array'),
  answer_form jsonb not null default '[{"name": "answer", "type": "paragraph", "label": "Your answer", "required": true}]' check
    (jsonb_typeof(answer_form) = 'array'),
  gold jsonb not null default '[]' check (jsonb_typeof(gold) = 'array' and jsonb_array_length(gold) <= 100),
  primary key (workflow_id)
);
create index workflows_category_price_usd_cents_workflow_id_idx on workflows (category, price_usd_cents, workflow_id) where
  active;
-- pohf_app may select, insert, update, delete

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
  if (old.assignment_id, old.mode, old.task_id, old.reward_stars, old.worker, old.known_item)
    is distinct from (new.assignment_id, new.mode, new.task_id, new.reward_stars, new.worker, new.known_item)
    or (new.person_id is not null and old.person_id is distinct from new.person_id) then
    raise exception 'the terms of an assignment never change' using errcode = 'check_violation';
  end if;
  if (old.agent_id, old.order_id, old.n, old.item) is distinct from (new.agent_id, new.order_id, new.n, new.item)
    and (old.known_item is null or (old.status, new.status) <> ('claimed', 'delivered')
      or (old.agent_id, old.order_id, old.n) is distinct from
        (new.covered_agent_id, new.covered_order_id, new.covered_n)) then
    raise exception 'the unit of an assignment never changes' using errcode = 'check_violation';
  end if;
  if old.covered_n is not null and (old.covered_agent_id, old.covered_order_id, old.covered_n)
    is distinct from (new.covered_agent_id, new.covered_order_id, new.covered_n) then
    raise exception 'what an assignment covered never changes' using errcode = 'check_violation';
  end if;
  return new;
end $$;

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
    raise exception 'work on this order waits for an operator' using errcode = 'check_violation';
  end if;
  if (old.agent_id, old.mode, old.order_id, old.n, old.price_usd_cents, old.item, old.created_at)
    is distinct from (new.agent_id, new.mode, new.order_id, new.n, new.price_usd_cents, new.item, new.created_at)
    or (old.task_id is not null and old.task_id is distinct from new.task_id
      and (new.task_id is not null or new.status <> 'open'))
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
