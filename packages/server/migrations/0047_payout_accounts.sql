-- The accounts that workers named for payouts. Of an account there is a keyed hash and the last characters. An account is one
-- person's.
create table payout_accounts (
  mode text not null check (mode in ('live', 'test')),
  account_hash bytea not null check (length(account_hash) = 32),
  -- What a payout request refers to, so that the hash stands here alone.
  account_no bigint generated always as identity,
  -- The pseudonym of the person in Star accounts, and the last characters. Both are null once the person is erased.
  worker text check (length(worker) between 1 and 256),
  account_end text check (length(account_end) = 4),
  named_at timestamptz not null default pohf_now(),
  -- When the person named it last, or it was paid.
  used_at timestamptz not null default pohf_now(),
  -- The latest completed payout to this account. Null until there is one.
  paid_at timestamptz,
  erased_at timestamptz,
  primary key (mode, account_hash),
  check ((worker is null) = (erased_at is not null) and (account_end is null) = (erased_at is not null))
);
create unique index payout_accounts_by_no on payout_accounts (account_no);
-- A person has one account at a time to which nothing was paid yet: nobody can keep the accounts of others.
create unique index payout_accounts_unpaid on payout_accounts (mode, worker) where paid_at is null;
create index payout_accounts_of_worker on payout_accounts (worker, mode, paid_at);
create index payout_accounts_erased on payout_accounts (erased_at) where erased_at is not null;
create index payout_accounts_used on payout_accounts (used_at) where erased_at is null;
call pohf_hide_from_agents('payout_accounts');

-- Who named an account of somebody else and was refused, for the reviewers of payouts.
create table payout_account_refusals (
  mode text not null check (mode in ('live', 'test')),
  account_no bigint not null,
  worker text not null check (length(worker) between 1 and 256),
  at timestamptz not null default pohf_now(),
  primary key (account_no, worker)
);
create index payout_account_refusals_of_worker on payout_account_refusals (worker, mode, at);
create index payout_account_refusals_at on payout_account_refusals (at);
call pohf_hide_from_agents('payout_account_refusals');

-- The account that a worker's request names; null for a partner's request, and for a request of an earlier version.
alter table payout_requests add column account_no bigint;
create index payout_requests_of_account on payout_requests (account_no) where account_no is not null;

create or replace function partners_payout_change() returns trigger language plpgsql as $$
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
  if (old.agent_id, old.request_id, old.mode, old.user_ref, old.stars, old.simulated, old.account_no)
    is distinct from
      (new.agent_id, new.request_id, new.mode, new.user_ref, new.stars, new.simulated, new.account_no)
    or (old.reviewed_by is not null and old.reviewed_by is distinct from new.reviewed_by)
    or (old.approved_by is not null and old.approved_by is distinct from new.approved_by)
  then
    raise exception 'what a payout says stands' using errcode = 'integrity_constraint_violation';
  end if;
  new.changed_at := pohf_now();
  return new;
end $$;
