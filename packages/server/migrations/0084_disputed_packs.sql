-- Packs of credits whose payment was disputed, ever. The parts are those of the card provider's facts; the ledger says which
-- credentials they paid for.
create table disputed_packs (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  checkout_id text not null,
  pack text not null,
  amount_usd_cents bigint not null check (amount_usd_cents > 0),
  refunded_usd_cents bigint not null check (refunded_usd_cents >= 0),
  lost_usd_cents bigint not null check (lost_usd_cents >= 0),
  open_usd_cents bigint not null check (open_usd_cents >= 0),
  disputed_at timestamptz not null default pohf_now(),
  -- Of the last plan: the credentials that the open part and the lost part paid for.
  suspended int not null default 0,
  revoked int not null default 0,
  primary key (agent_id, mode, checkout_id)
);
call pohf_isolate('disputed_packs');

-- Per agent: a pass over the credentials that its disputed packs paid for. `plan` lists what is left to do; null until it is made.
create table dispute_passes (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  plan jsonb,
  is_done boolean not null default false,
  due_at timestamptz not null default pohf_now(),
  -- Credentials whose state could not be changed.
  skipped int not null default 0,
  primary key (agent_id, mode)
);
create index dispute_passes_due on dispute_passes (due_at) where not is_done;
call pohf_isolate('dispute_passes');
insert into platform_due_times values ('dispute_passes', 'due_at', 'not is_done');
