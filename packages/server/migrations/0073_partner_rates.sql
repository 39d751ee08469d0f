-- How many Stars a partner's points are worth: points * stars / points, rounded down. Without a row 1 to 1.
create table partner_rates (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  stars bigint not null check (stars between 1 and 1000000),
  points bigint not null check (points between 1 and 1000000),
  changed_at timestamptz not null default pohf_now(),
  changed_by text not null,
  primary key (agent_id, mode)
);
call pohf_isolate('partner_rates');
revoke delete, truncate on partner_rates from pohf_app;

-- The rate at which each conversion was made, and the part of a Star that rounding dropped, as a text like 1/3.
alter table partner_conversions add column rate_stars bigint not null default 1;
alter table partner_conversions add column rate_points bigint not null default 1;
alter table partner_conversions add column dropped text not null default '0';
-- Statements of a window read conversions and payouts by their time.
create index partner_conversions_by_time on partner_conversions (agent_id, mode, claimed_at, claim);
create index payout_requests_by_time on payout_requests (agent_id, mode, created_at, request_id);
-- What a user of a partner did lately, for the reviewers of payouts.
create index partner_conversions_of_user on partner_conversions (agent_id, mode, user_ref, claimed_at);
-- Who worked for a buyer lately, for the same reviewers.
create index assignments_accepted_for_buyer on assignments (agent_id, mode, assignment_id) where status = 'accepted';
