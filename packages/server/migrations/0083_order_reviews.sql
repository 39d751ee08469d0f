-- The review of an order by an operator: that of a new buyer before anybody works on it, and that of an order that workers
-- have reported.
alter table orders
  -- Why it is reviewed. Null where it never was.
  add column review_cause text check (review_cause in ('new_buyer', 'reports')),
  -- Since when it waits for the decision of an operator.
  add column review_since timestamptz,
  -- Nobody can claim a unit of it.
  add column held boolean not null default false,
  add column review_decision text check (review_decision in ('approved', 'refused')),
  add column review_reason text check (length(review_reason) <= 500),
  add column reviewed_at timestamptz,
  add constraint orders_held check (not held or review_since is not null),
  add constraint orders_reviewed check (num_nulls(review_decision, reviewed_at) in (0, 2));
-- What waits for an operator, oldest first, and how much of one agent waits.
create index orders_in_review on orders (review_since) where review_since is not null;
create index orders_in_review_of_agent on orders (agent_id, mode) where review_since is not null;
-- The standing of a buyer.
create index orders_reviewed_of_agent on orders (agent_id, mode, reviewed_at) where reviewed_at is not null;

-- A report by the person who held the unit: the unit is open again, and not for this person.
alter table assignments
  add column reported_at timestamptz,
  add column report_reason text check (report_reason in ('leads_elsewhere', 'asks_personal_data', 'harmful', 'other')),
  -- False where too many earlier reports of the person were dismissed, or the service wrote what was reported.
  add column report_counts boolean,
  -- The decision of the operator.
  add column report_upheld boolean,
  add constraint assignments_report check (num_nulls(reported_at, report_reason, report_counts) in (0, 3)),
  add constraint assignments_report_decided check (report_upheld is null or reported_at is not null);
create index assignments_reported on assignments (agent_id, mode, order_id, reported_at) where reported_at is not null;
create index assignments_reported_by on assignments (person_id, reported_at) where reported_at is not null;

-- As before, but an open unit of a held order has no task, so that nobody finds it.
create or replace function order_units_transition() returns trigger language plpgsql as $$
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
