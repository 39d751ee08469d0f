alter table assignments
  -- A known-answer item that is shown in place of the unit: its input and its right answer.
  add column known_item jsonb check (jsonb_typeof(known_item) = 'object'),
  -- The unit that a delivered known-answer item was shown in place of.
  add column covered_agent_id text,
  add column covered_order_id text,
  add column covered_n int,
  -- When the person returned the unit or ran out of time. Null where the order was stopped.
  add column released_at timestamptz,
  add check (num_nulls(covered_agent_id, covered_order_id, covered_n) in (0, 3)),
  add check (covered_n is null or known_item is not null),
  add check (released_at is null or status in ('returned', 'ran_out'));
-- The known-answer items that a person has seen.
create index assignments_known on assignments (person_id, mode, task_id) where known_item is not null;
-- A page starts a recording with the challenge of its assignment.
create index assignments_of_challenge on assignments (challenge) where status = 'claimed';
create index assignments_released on assignments (person_id, released_at) where released_at is not null;
-- The latest work of a person, for the review of a payout.
create index assignments_of_worker on assignments (worker, mode, assignment_id);

-- A claimed unit is shown in place of nothing; a delivered known-answer item becomes a unit of the operator's own order.
create or replace function assignments_transition() returns trigger language plpgsql as $$
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

-- A unit that a known-answer item was shown for waits this long, so that nobody can tell the item by its return.
alter table order_units add column open_from timestamptz;
