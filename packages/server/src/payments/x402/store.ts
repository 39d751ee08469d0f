import { sql, type Selectable } from 'kysely'
import type { Hex } from 'viem'
import { executePrepared, now, type Tx } from '../../platform/db/db.ts'
import type { DB } from '../../platform/db/schema.ts'
import type { Authorization, SignatureForm } from './token.ts'

/** Identifies an authorization. */
export type PaymentKey = {
  readonly chainId: number
  readonly asset: Hex
  readonly payer: Hex
  readonly nonce: Hex
}
export type ClaimedPayment = PaymentKey & {
  readonly reference: string
  readonly authorization: Authorization
  readonly signature: Hex
  readonly form: SignatureForm
  readonly state: 'claimed' | 'settled' | 'void'
  readonly fromBlock: bigint
  /** The gas limit of its transaction; null for a payer without code. */
  readonly gasLimit: bigint | null
  readonly transactionHash: Hex | null
  readonly createdAt: Date
}

export type NewPayment = Omit<ClaimedPayment, 'state' | 'transactionHash' | 'createdAt'>
/** Claims an authorization for one reference; false where either is claimed already. */
export const insertPayment = async (tx: Tx, payment: NewPayment): Promise<boolean> => {
  const { authorization } = payment
  const query = tx
    .insertInto('x402_payments')
    .values({
      chain_id: BigInt(payment.chainId),
      asset: payment.asset,
      payer: payment.payer,
      nonce: payment.nonce,
      reference: payment.reference,
      pay_to: authorization.to,
      value_micro: authorization.value,
      valid_after: authorization.validAfter,
      valid_before: authorization.validBefore,
      signature: payment.signature,
      form: payment.form,
      from_block: payment.fromBlock,
      gas_limit: payment.gasLimit,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('reference')
  return (await executePrepared(tx, 'x402_payments_insert', query)).length === 1
}

const columns = [
  'chain_id',
  'asset',
  'payer',
  'nonce',
  'reference',
  'pay_to',
  'value_micro',
  'valid_after',
  'valid_before',
  'signature',
  'form',
  'state',
  'from_block',
  'gas_limit',
  'transaction_hash',
  'created_at',
] as const

const paymentsQuery = (tx: Tx) => tx.selectFrom('x402_payments').select(columns)
type Row = Pick<Selectable<DB['x402_payments']>, (typeof columns)[number]>
const paymentOf = (row: Row): ClaimedPayment => ({
  chainId: Number(row.chain_id),
  asset: row.asset,
  payer: row.payer,
  nonce: row.nonce,
  reference: row.reference,
  authorization: {
    from: row.payer,
    to: row.pay_to,
    value: row.value_micro,
    validAfter: row.valid_after,
    validBefore: row.valid_before,
    nonce: row.nonce,
  },
  signature: row.signature,
  form: row.form,
  state: row.state,
  fromBlock: row.from_block,
  gasLimit: row.gas_limit,
  transactionHash: row.transaction_hash,
  createdAt: row.created_at,
})

export const findPayment = async (tx: Tx, key: PaymentKey): Promise<ClaimedPayment | undefined> => {
  const query = paymentsQuery(tx)
    .where('chain_id', '=', BigInt(key.chainId))
    .where('asset', '=', key.asset)
    .where('payer', '=', key.payer)
    .where('nonce', '=', key.nonce)
  const [row] = await executePrepared(tx, 'x402_payments_find', query)
  return row && paymentOf(row)
}

export const findPaymentByReference = async (
  tx: Tx,
  reference: string,
): Promise<ClaimedPayment | undefined> => {
  const row = await paymentsQuery(tx).where('reference', '=', reference).executeTakeFirst()
  return row && paymentOf(row)
}

/** Stores the proof with the state; a later check may find it in another block. */
export const updateSettled = async (
  tx: Tx,
  reference: string,
  proof: { readonly transactionHash: Hex; readonly blockNumber: bigint },
): Promise<void> => {
  const query = tx
    .updateTable('x402_payments')
    .set({
      state: 'settled',
      transaction_hash: proof.transactionHash,
      block_number: proof.blockNumber,
      looked_at: now(),
    })
    .where('reference', '=', reference)
    .where('finalized_at', 'is', null)
  await executePrepared(tx, 'x402_payments_settled', query)
}

export const updateVoid = async (tx: Tx, reference: string): Promise<void> => {
  await tx.updateTable('x402_payments').set({ state: 'void' }).where('reference', '=', reference).execute()
}

/** Payments of payers with code are admitted one after the other. */
export const lockContractPayers = async (tx: Tx): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended('x402_payments contract payers', 0))`.execute(tx)
}

/** The failed and the other pending payments of a payer with code, and the gas of all such payers in the last 24 hours. */
export const findContractPayer = async (
  tx: Tx,
  { chainId, payer, nonce }: PaymentKey,
  refusedDays: number,
): Promise<{ readonly isRefused: boolean; readonly isPending: boolean; readonly gasAtRisk: bigint }> => {
  const { rows } = await sql<{ isRefused: boolean; isPending: boolean; gasAtRisk: string }>`
    select coalesce(bool_or(failed_at > pohf_now() - make_interval(days => ${refusedDays})), false) as "isRefused",
      coalesce(bool_or(state = 'claimed' and nonce <> ${nonce}), false) as "isPending",
      (select coalesce(sum(coalesce(gas_lost, gas_limit)), 0)::text from x402_payments
       where chain_id = ${chainId} and gas_limit is not null and (state <> 'settled' or failed_at is not null)
         and created_at > pohf_now() - interval '24 hours') as "gasAtRisk"
    from x402_payments
    where chain_id = ${chainId} and payer = ${payer} and gas_limit is not null
      and (state <> 'settled' or failed_at is not null)`.execute(tx)
  const { isRefused = false, isPending = false, gasAtRisk = '0' } = rows[0] ?? {}
  return { isRefused, isPending, gasAtRisk: BigInt(gasAtRisk) }
}

/** Our transaction for a payer with code moved nothing; true the first time. */
export const updateFailed = async (tx: Tx, reference: string, gasLost: bigint): Promise<boolean> => {
  const result = await tx
    .updateTable('x402_payments')
    .set({ failed_at: now(), gas_lost: gasLost })
    .where('reference', '=', reference)
    .where('gas_limit', 'is not', null)
    .where('failed_at', 'is', null)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** Settled payments that a reorganisation could still undo, the longest unchecked first. */
export const listUnfinalized = async (tx: Tx, limit: number): Promise<ClaimedPayment[]> => {
  const rows = await paymentsQuery(tx)
    .where('state', '=', 'settled')
    .where('finalized_at', 'is', null)
    .where('looked_at', '<', sql<Date>`pohf_now() - interval '20 seconds'`)
    .orderBy('looked_at')
    .limit(limit)
    .execute()
  return rows.map(paymentOf)
}

export const updateChecked = async (tx: Tx, reference: string, final: boolean): Promise<void> => {
  await tx
    .updateTable('x402_payments')
    .set({ looked_at: now(), ...(final ? { finalized_at: now() } : {}) })
    .where('reference', '=', reference)
    .execute()
}

export type GasKeyRow = {
  readonly address: Hex
  readonly nextNonce: bigint
  readonly minedNonce: bigint
  readonly low: boolean
}

/** Inserts an account with the chain's own count; a known account keeps its nonces. */
export const insertGasKey = async (
  tx: Tx,
  key: { readonly chainId: number; readonly address: Hex; readonly nonce: bigint },
): Promise<void> => {
  await tx
    .insertInto('gas_keys')
    .values({
      chain_id: BigInt(key.chainId),
      address: key.address,
      next_nonce: key.nonce,
      mined_nonce: key.nonce,
    })
    .onConflict((conflict) => conflict.columns(['chain_id', 'address']).doNothing())
    .execute()
}

const gasKeyQuery = (tx: Tx, chainId: number, addresses: readonly Hex[]) =>
  tx
    .selectFrom('gas_keys')
    .select(['address', 'next_nonce', 'mined_nonce', 'low'])
    .where('chain_id', '=', BigInt(chainId))
    .where('address', 'in', [...addresses])

const gasKeyOf = (
  row: Awaited<ReturnType<ReturnType<typeof gasKeyQuery>['executeTakeFirstOrThrow']>>,
): GasKeyRow => ({
  address: row.address,
  nextNonce: row.next_nonce,
  minedNonce: row.mined_nonce,
  low: row.low,
})

/** How many gas keys there are, and how many have too little gas; both counts stop at `max`. */
export const countGasKeys = async (
  tx: Tx,
  max: number,
): Promise<{ readonly total: number; readonly low: number }> => {
  const { rows } = await sql<{ total: number; low: number }>`
    select count(*)::int as total, count(*) filter (where low)::int as low from (
      select low from gas_keys limit ${max}) first`.execute(tx)
  return rows[0] ?? { total: 0, low: 0 }
}

export const listGasKeys = async (
  tx: Tx,
  chainId: number,
  addresses: readonly Hex[],
): Promise<GasKeyRow[]> =>
  addresses.length === 0 ? [] : (await gasKeyQuery(tx, chainId, addresses).execute()).map(gasKeyOf)

/**
 * Locks an account that has gas and few enough pending transactions: an unlocked one, else the first that is released.
 * The lock lasts until the end of the transaction, so nonces are assigned one after the other.
 */
export const findGasKeyLocked = async (
  tx: Tx,
  chainId: number,
  addresses: readonly Hex[],
  pendingMax: number,
): Promise<GasKeyRow | undefined> => {
  const usable = () =>
    gasKeyQuery(tx, chainId, addresses)
      .where('low', '=', false)
      .where(sql<boolean>`next_nonce - mined_nonce < ${pendingMax}`)
      .orderBy('last_used_at', (order) => order.asc().nullsFirst())
      .limit(1)
      .forUpdate()
  const row = (await usable().skipLocked().executeTakeFirst()) ?? (await usable().executeTakeFirst())
  return row && gasKeyOf(row)
}

type GasKeyId = { readonly chainId: number; readonly address: Hex }
/** Raises an account's count of mined transactions. It only grows: a node that is behind lowers nothing. */
export const updateGasKeyMined = async (tx: Tx, key: GasKeyId, minedNonce: bigint): Promise<void> => {
  await sql`
    update gas_keys set mined_nonce = greatest(mined_nonce, ${minedNonce}),
      next_nonce = greatest(next_nonce, ${minedNonce})
    where chain_id = ${key.chainId} and address = ${key.address}`.execute(tx)
}

/** Raises an account's next nonce above all transactions that the node knows. */
export const updateGasKeyNext = async (tx: Tx, key: GasKeyId, nonce: bigint): Promise<boolean> => {
  const { numAffectedRows } = await sql`
    update gas_keys set next_nonce = ${nonce}
    where chain_id = ${key.chainId} and address = ${key.address} and next_nonce < ${nonce}`.execute(tx)
  return numAffectedRows === 1n
}

/** Stores an account's balance on the chain. */
export const updateGasKeyBalance = async (
  tx: Tx,
  key: GasKeyId,
  seen: { readonly balanceWei: bigint; readonly low: boolean },
): Promise<void> => {
  await tx
    .updateTable('gas_keys')
    .set({ balance_wei: seen.balanceWei.toString(), low: seen.low })
    .where('chain_id', '=', BigInt(key.chainId))
    .where('address', '=', key.address)
    .execute()
}

/** A transaction of this reference is in a block, so its account has one pending transaction less. */
export const updateGasMined = async (tx: Tx, reference: string): Promise<void> => {
  const query = sql`
    update gas_keys key set mined_nonce = greatest(key.mined_nonce, sent.nonce + 1)
    from (select chain_id, address, max(nonce) as nonce from gas_transactions where reference = ${reference}
      group by chain_id, address) sent
    where key.chain_id = sent.chain_id and key.address = sent.address and key.mined_nonce <= sent.nonce`
  await executePrepared(tx, 'gas_keys_mined', query)
}

export type GasTransaction = {
  readonly chainId: number
  readonly address: Hex
  readonly nonce: bigint
  readonly attempt: number
  readonly reference: string
  readonly hash: Hex
  readonly raw: Hex
  readonly maxFeeWei: bigint
}
const gasRow = (sent: GasTransaction) => ({
  chain_id: BigInt(sent.chainId),
  address: sent.address,
  nonce: sent.nonce,
  attempt: sent.attempt,
  reference: sent.reference,
  hash: sent.hash,
  raw: sent.raw,
  max_fee_wei: sent.maxFeeWei.toString(),
})
export const insertGasTransaction = async (tx: Tx, sent: GasTransaction): Promise<void> => {
  await tx.insertInto('gas_transactions').values(gasRow(sent)).execute()
}
/** Stores the first transaction of a nonce and advances the account's next nonce. */
export const insertNextGasTransaction = async (tx: Tx, sent: GasTransaction): Promise<void> => {
  const query = tx
    .with('written', (with_) => with_.insertInto('gas_transactions').values(gasRow(sent)))
    .updateTable('gas_keys')
    .set({ next_nonce: sent.nonce + 1n, last_used_at: now() })
    .where('chain_id', '=', BigInt(sent.chainId))
    .where('address', '=', sent.address)
  await executePrepared(tx, 'gas_transactions_next', query)
}

const transactionsQuery = (tx: Tx) =>
  tx
    .selectFrom('gas_transactions')
    .select(['chain_id', 'address', 'nonce', 'attempt', 'reference', 'hash', 'raw', 'max_fee_wei'])
    .select(sql<boolean>`created_at < pohf_now() - interval '30 seconds'`.as('is_old'))
const transactionOf = (
  row: Awaited<ReturnType<ReturnType<typeof transactionsQuery>['executeTakeFirstOrThrow']>>,
): GasTransaction & { readonly isOld: boolean } => ({
  chainId: Number(row.chain_id),
  address: row.address,
  nonce: row.nonce,
  attempt: row.attempt,
  reference: row.reference,
  hash: row.hash,
  raw: row.raw,
  maxFeeWei: BigInt(row.max_fee_wei),
  isOld: row.is_old,
})

/** All transactions signed for a payment, the newest first. */
export const listSentTransactions = async (tx: Tx, reference: string) =>
  (
    await transactionsQuery(tx)
      .where('reference', '=', reference)
      .orderBy('created_at', 'desc')
      .orderBy('attempt', 'desc')
      .limit(100)
      .execute()
  ).map(transactionOf)

/** The newest transaction of each nonce that is not in a block, in order: a missing one blocks the rest. */
export const listUnminedTransactions = async (tx: Tx, key: GasKeyId, minedNonce: bigint, limit: number) =>
  (
    await transactionsQuery(tx)
      .distinctOn('nonce')
      .where('chain_id', '=', BigInt(key.chainId))
      .where('address', '=', key.address)
      .where('nonce', '>=', minedNonce)
      .orderBy('nonce')
      .orderBy('attempt', 'desc')
      .limit(limit)
      .execute()
  ).map(transactionOf)
