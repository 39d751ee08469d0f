-- One row per claim: the caller's key, or the hash of (userRef, points) for calls without one. It holds the answer.
create table partner_conversions (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  claim text not null check (length(claim) between 1 and 300),
  claimed_at timestamptz not null default pohf_now(),
  user_ref text not null check (length(user_ref) between 1 and 256),
  points double precision not null check (points >= 0),
  stars bigint not null check (stars >= 0),
  -- The user's balance after the conversion: what every repeat is told.
  balance bigint not null default 0 check (balance >= 0),
  primary key (agent_id, mode, claim)
);
call pohf_isolate('partner_conversions');

create table payout_requests (
  agent_id text not null,
  request_id text not null,
  mode text not null check (mode in ('live', 'test')),
  user_ref text not null check (length(user_ref) between 1 and 256),
  stars bigint not null check (stars > 0),
  -- A sandbox request without a balance: nothing is held and nothing will be paid.
  simulated boolean not null default false check (not simulated or mode = 'test'),
  state text not null default 'queued' check (state in ('queued', 'in_review', 'approved', 'paid', 'rejected')),
  created_at timestamptz not null default pohf_now(),
  changed_at timestamptz not null default pohf_now(),
  reviewed_by text,
  approved_by text,
  paid_by text,
  payment_ref text,
  rejected_by text,
  reject_reason text,
  primary key (agent_id, request_id),
  constraint payout_two_operators check (approved_by is null or (reviewed_by is not null and approved_by <> reviewed_by)),
  constraint payout_reviewed check (state not in ('in_review', 'approved', 'paid') or reviewed_by is not null),
  constraint payout_approved check (state not in ('approved', 'paid') or approved_by is not null),
  constraint payout_paid check ((state = 'paid') = (paid_by is not null) and (state = 'paid') = (payment_ref is not null)),
  constraint payout_rejected check ((state = 'rejected') = (rejected_by is not null))
);
create index payout_requests_queue on payout_requests (state, request_id);
create index payout_requests_by_id on payout_requests (request_id);
call pohf_isolate('payout_requests');

create function partners_payout_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.state <> 'queued' then
      raise exception 'a payout begins as queued' using errcode = 'integrity_constraint_violation';
    end if;
    return new;
  end if;
  if (old.state, new.state) not in (
    ('queued', 'in_review'), ('in_review', 'approved'), ('approved', 'paid'),
    ('queued', 'rejected'), ('in_review', 'rejected'), ('approved', 'rejected'))
  then
    raise exception 'a payout cannot go from % to %', old.state, new.state using errcode = 'integrity_constraint_violation';
  end if;
  if (old.agent_id, old.request_id, old.mode, old.user_ref, old.stars, old.simulated)
    is distinct from (new.agent_id, new.request_id, new.mode, new.user_ref, new.stars, new.simulated)
    or (old.reviewed_by is not null and old.reviewed_by is distinct from new.reviewed_by)
    or (old.approved_by is not null and old.approved_by is distinct from new.approved_by)
  then
    raise exception 'what a payout says stands' using errcode = 'integrity_constraint_violation';
  end if;
  new.changed_at := pohf_now();
  return new;
end $$;
create trigger state_change before insert or update on payout_requests
  for each row execute function partners_payout_change();
revoke delete, truncate on payout_requests from pohf_app;
