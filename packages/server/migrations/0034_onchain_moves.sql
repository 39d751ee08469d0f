-- A human's tokens for a wallet that is no longer the wallet of the row stay valid until they expire, and somebody may bind
-- one of them at any time.
alter table onchain_humans
  -- The last of those tokens expires then; null where every token names the wallet of the row.
  add column moved_until timestamptz;
-- Which wallets the earlier tokens name is not known.
update onchain_humans set moved_until = until;
