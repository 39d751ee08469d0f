-- A payer with code runs that code in our transaction, and can burn the gas that we pay. These columns limit what it costs.
alter table x402_payments
  -- The gas limit of the transaction; null for a payer without code.
  add column gas_limit bigint check (gas_limit > 0),
  -- Our transaction is in a block and moved no money. The payer is refused for a while.
  add column failed_at timestamptz,
  -- What the failed transaction used.
  add column gas_lost bigint check (gas_lost >= 0),
  add check (failed_at is null or gas_limit is not null),
  add check ((failed_at is null) = (gas_lost is null));
-- Pending, void and failed payments of payers with code: by payer, and those of the last day.
create index x402_payments_contract_payer on x402_payments (chain_id, payer)
  where gas_limit is not null and (state <> 'settled' or failed_at is not null);
create index x402_payments_contract_day on x402_payments (chain_id, created_at)
  where gas_limit is not null and (state <> 'settled' or failed_at is not null);
