-- What siteverify needs of a session: where it was opened, and that it was used once.
alter table sessions
  -- The host of the page that opened it; null where no page did, or its origin had none.
  add column hostname text check (length(hostname) between 1 and 255),
  -- When siteverify first answered success for it, and the idempotency_key of that call.
  add column redeemed_at timestamptz,
  add column redeemed_key uuid,
  add check (redeemed_key is null or redeemed_at is not null);
