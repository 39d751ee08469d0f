-- The tables, types and functions of `partners` after all migrations, to be read and not run. Written by npm run generate from
-- the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table partner_conversions (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  claim text not null check (length(claim) between 1 and 300),
  claimed_at timestamptz not null default pohf_now(),
  user_ref text not null check (length(user_ref) between 1 and 256),
  points double precision not null check (points >= 0),
  stars bigint not null check (stars >= 0),
  balance bigint not null default 0 check (balance >= 0),
  rate_stars bigint not null default 1,
  rate_points bigint not null default 1,
  dropped text not null default '0',
  primary key (agent_id, mode, claim)
);
create index partner_conversions_by_time on partner_conversions (agent_id, mode, claimed_at, claim);
create index partner_conversions_of_user on partner_conversions (agent_id, mode, user_ref, claimed_at);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table partner_rates (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  stars bigint not null check (stars between 1 and 1000000),
  points bigint not null check (points between 1 and 1000000),
  changed_at timestamptz not null default pohf_now(),
  changed_by text not null,
  primary key (agent_id, mode)
);
-- row-level security by agent_id
-- pohf_app may select, insert, update

create table payout_account_refusals (
  mode text not null check (mode in ('live', 'test')),
  account_no bigint not null,
  worker text not null check (length(worker) between 1 and 256),
  at timestamptz not null default pohf_now(),
  primary key (account_no, worker)
);
create index payout_account_refusals_at on payout_account_refusals (at);
create index payout_account_refusals_of_worker on payout_account_refusals (worker, mode, at);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table payout_accounts (
  mode text not null check (mode in ('live', 'test')),
  account_hash bytea not null check (length(account_hash) = 32),
  account_no bigint generated always as identity not null,
  worker text check (length(worker) between 1 and 256),
  account_end text check (length(account_end) = 4),
  named_at timestamptz not null default pohf_now(),
  used_at timestamptz not null default pohf_now(),
  paid_at timestamptz,
  erased_at timestamptz,
  primary key (mode, account_hash),
  check ((worker is null) = (erased_at is not null) and (account_end is null) = (erased_at is not null))
);
create unique index payout_accounts_by_no on payout_accounts (account_no);
create index payout_accounts_erased on payout_accounts (erased_at) where erased_at is not null;
create index payout_accounts_of_worker on payout_accounts (worker, mode, paid_at);
create unique index payout_accounts_unpaid on payout_accounts (mode, worker) where paid_at is null;
create index payout_accounts_used on payout_accounts (used_at) where erased_at is null;
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table payout_requests (
  agent_id text not null,
  request_id text not null,
  mode text not null check (mode in ('live', 'test')),
  user_ref text not null check (length(user_ref) between 1 and 256),
  stars bigint not null check (stars > 0),
  simulated boolean not null default false,
  state text not null default 'queued' check (state in ('queued', 'in_review', 'approved', 'paid', 'rejected')),
  created_at timestamptz not null default pohf_now(),
  changed_at timestamptz not null default pohf_now(),
  reviewed_by text,
  approved_by text,
  paid_by text,
  payment_ref text,
  rejected_by text,
  reject_reason text,
  account_no bigint,
  primary key (agent_id, request_id),
  constraint payout_approved check ((state not in ('approved', 'paid')) or approved_by is not null),
  constraint payout_paid check ((state = 'paid') = (paid_by is not null) and (state = 'paid') = (payment_ref is not null)),
  constraint payout_rejected check ((state = 'rejected') = (rejected_by is not null)),
  check (not simulated or mode = 'test'),
  constraint payout_reviewed check ((state not in ('in_review', 'approved', 'paid')) or reviewed_by is not null),
  constraint payout_two_operators check (approved_by is null or reviewed_by is not null and approved_by <> reviewed_by)
);
create index payout_requests_by_id on payout_requests (request_id);
create index payout_requests_by_time on payout_requests (agent_id, mode, created_at, request_id);
create index payout_requests_of_account on payout_requests (account_no) where account_no is not null;
create index payout_requests_of_user on payout_requests (agent_id, mode, user_ref);
create index payout_requests_queue on payout_requests (state, request_id);
create trigger state_change before insert or update on payout_requests for each row execute function partners_payout_change();
-- row-level security by agent_id
-- pohf_app may select, insert, update

create function partners_payout_change() returns trigger language plpgsql as $$
declare withdrawn boolean;
begin
  if tg_op = 'INSERT' then
    if new.state <> 'queued' then
      raise exception 'a payout begins as queued' using errcode = 'integrity_constraint_violation';
    end if;
    return new;
  end if;
  withdrawn := (old.state, new.state) = ('approved', 'in_review') and new.approved_by is null;
  if not withdrawn and (old.state, new.state) not in (
    ('queued', 'in_review'), ('in_review', 'approved'), ('approved', 'paid'),
    ('queued', 'rejected'), ('in_review', 'rejected'), ('approved', 'rejected'))
  then
    raise exception 'a payout cannot go from % to %', old.state, new.state using errcode = 'integrity_constraint_violation';
  end if;
  if (old.agent_id, old.request_id, old.mode, old.user_ref, old.stars, old.simulated, old.account_no)
    is distinct from
      (new.agent_id, new.request_id, new.mode, new.user_ref, new.stars, new.simulated, new.account_no)
    or (old.reviewed_by is not null and old.reviewed_by is distinct from new.reviewed_by)
    or (not withdrawn and old.approved_by is not null and old.approved_by is distinct from new.approved_by)
  then
    raise exception 'what a payout says stands' using errcode = 'integrity_constraint_violation';
  end if;
  new.changed_at := pohf_now();
  return new;
end $$;
