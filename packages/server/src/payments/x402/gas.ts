import type { Hex } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { Config } from '../../platform/ops/config.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { viem, viemAccounts } from '../../platform/net/viem.ts'
import type { Chain, Fees } from './chain.ts'
import { RpcError, type Rpc } from './rpc.ts'
import {
  findGasKeyLocked,
  insertGasKey,
  insertGasTransaction,
  insertNextGasTransaction,
  listGasKeys,
  listSentTransactions,
  listUnminedTransactions,
  updateGasKeyBalance,
  updateGasKeyMined,
  updateGasKeyNext,
  type GasKeyRow,
  type GasTransaction,
} from './store.ts'
import {
  receipt,
  transferData,
  type Authorization,
  type Block,
  type Receipt,
  type SignatureForm,
} from './token.ts'

/** A transfer by authorization takes 68,000 to 90,000; a contract wallet runs its own code before it. */
const gasLimits: Readonly<Record<SignatureForm, bigint>> = { key: 150_000n, contract: 500_000n }
/** A node may drop transactions beyond this many pending ones of an account. */
const pendingMax = 256
const feeAttemptsMax = 20
/** How long a caller waits for the block before it gets 202. Blocks of rollups come every two seconds. */
const syncWaitMs = 8_000
const pollMs = 250
const resendMax = 32
const tipWei = 1_000_000n
/** An account with gas for fewer settlements than this is not used. */
const lowSettlements = 20n

/** The authorization to transfer, and the reference of its payment. */
export type TransferOrder = {
  readonly authorization: Authorization
  readonly signature: Hex
  readonly form: SignatureForm
  readonly reference: string
  /** For a payer with code: what its simulation needed, and a margin. */
  readonly gasLimit: bigint | null
}

const maxFeeWeiOf = (gwei: number): bigint => BigInt(gwei) * 1_000_000_000n

const methodNotFoundCode = -32_601
const isUnknownMethod = (error: unknown) =>
  error instanceof RpcError &&
  (error.nodeError?.code === methodNotFoundCode || /method not found|not supported/i.test(error.message))
const messageMatches = (error: unknown, pattern: RegExp) =>
  error instanceof RpcError && pattern.test(error.message)

type Settings = {
  readonly ctx: Ctx
  readonly rpc: Rpc
  readonly chain: Chain
  readonly chainId: number
  readonly asset: Hex
  readonly keys: readonly Hex[]
}
type Pool = Omit<Settings, 'keys'> & {
  readonly accounts: ReadonlyMap<Hex, PrivateKeyAccount>
  readonly addresses: readonly Hex[]
  readonly maxFeeWei: bigint
  /** What was learned about the accounts and the node since the start. */
  readonly learned: { accountsKnown: boolean; hasSync: boolean }
}

const countOf = async ({ rpc }: Pool, address: Hex, tag: 'latest' | 'pending'): Promise<bigint> =>
  BigInt(String(await rpc('eth_getTransactionCount', [address, tag])))

/** Inserts a row for every account that has none, with its transaction count on the chain. */
const ensureAccounts = async (pool: Pool): Promise<void> => {
  const { ctx, chainId, addresses, learned } = pool
  if (learned.accountsKnown) return
  const rows = await inTransaction(ctx, 'system', (tx) => listGasKeys(tx, chainId, addresses))
  for (const address of addresses.filter((one) => !rows.some((row) => row.address === one))) {
    const nonce = await countOf(pool, address, 'pending')
    await inTransaction(ctx, 'system', (tx) => insertGasKey(tx, { chainId, address, nonce }))
  }
  learned.accountsKnown = true
}

const pendingOf = ({ nextNonce, minedNonce }: GasKeyRow) => Number(nextNonce - minedNonce)
const chooseSender = async ({ ctx, chainId, addresses }: Pool): Promise<Hex> => {
  const rows = await inTransaction(ctx, 'system', (tx) => listGasKeys(tx, chainId, addresses))
  const [chosen] = rows.filter(({ low }) => !low).toSorted((one, other) => pendingOf(one) - pendingOf(other))
  const address = chosen?.address ?? addresses[0]
  if (address === undefined) throw new Error(`no gas account on chain ${chainId} while choosing a sender`)
  return address
}

/** Twice the base fee outlasts six full blocks in a row; the setting is the upper bound. */
export const feesAt = (
  { baseFeePerGas = 0n }: Pick<Block, 'baseFeePerGas'>,
  { X402_MAX_FEE_GWEI: maxFeeGwei }: Pick<Config, 'X402_MAX_FEE_GWEI'>,
): Fees => {
  const proposed = baseFeePerGas * 2n + tipWei
  const maxFeeWei = maxFeeWeiOf(maxFeeGwei)
  return { maxFeePerGas: proposed < maxFeeWei ? proposed : maxFeeWei, maxPriorityFeePerGas: tipWei }
}
const feesOf = async ({ chain, ctx }: Pool): Promise<Fees> => feesAt(await chain.head(), ctx.config)

/** Below this an account is not used. */
export const lowBalanceWei = ({ maxFeePerGas }: Pick<Fees, 'maxFeePerGas'>): bigint =>
  gasLimits.key * maxFeePerGas * lowSettlements

const sign = async (
  { accounts, chainId, asset }: Pool,
  order: TransferOrder,
  at: { readonly address: Hex; readonly nonce: bigint; readonly attempt: number },
  fee: Fees,
): Promise<GasTransaction> => {
  const account = accounts.get(at.address)
  if (!account)
    throw new Error(
      `no private key for gas account ${at.address} on chain ${chainId} while signing payment ${order.reference} at nonce ${at.nonce}`,
    )
  const raw = await account.signTransaction({
    type: 'eip1559',
    chainId,
    nonce: Number(at.nonce),
    to: asset,
    data: transferData(order.authorization, order.signature, order.form),
    gas: order.gasLimit ?? gasLimits[order.form],
    ...fee,
  })
  return {
    chainId,
    ...at,
    reference: order.reference,
    hash: viem().keccak256(raw),
    raw,
    maxFeeWei: fee.maxFeePerGas,
  }
}

/**
 * Locks one of these accounts, takes its next nonce, signs, and stores what will be sent, in the caller's transaction.
 * Undefined where none has gas and room.
 */
const prepare = async (
  pool: Pool,
  tx: Tx,
  order: TransferOrder,
  { fee, addresses }: { readonly fee: Fees; readonly addresses: readonly Hex[] },
): Promise<GasTransaction | undefined> => {
  const key = await findGasKeyLocked(tx, pool.chainId, addresses, pendingMax)
  if (!key) {
    pool.ctx.log.error({ reference: order.reference }, 'no usable gas account: fund one or add one')
    return undefined
  }
  const signed = await sign(pool, order, { address: key.address, nonce: key.nextNonce, attempt: 1 }, fee)
  await insertNextGasTransaction(tx, signed)
  return signed
}

const poll = async ({ ctx, chain }: Pool, hash: Hex, untilMs: number): Promise<Receipt | undefined> => {
  for (;;) {
    const found = await chain.findReceipt(hash)
    if (found || ctx.clock.now().getTime() >= untilMs) return found
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}

/**
 * Sends a stored transaction and waits for its block; undefined where that takes too long. Throws where it is not
 * known whether the node has it. Sending the same bytes again is harmless.
 */
const send = async (
  pool: Pool,
  { raw, hash }: Pick<GasTransaction, 'raw' | 'hash'>,
): Promise<Receipt | undefined> => {
  const { ctx, rpc, chain, learned } = pool
  const untilMs = ctx.clock.now().getTime() + syncWaitMs
  try {
    if (learned.hasSync) {
      const result = receipt.safeParse(await rpc('eth_sendRawTransactionSync', [raw], syncWaitMs))
      return result.success ? result.data : await poll(pool, hash, untilMs)
    }
    await rpc('eth_sendRawTransaction', [raw])
  } catch (error) {
    if (learned.hasSync && isUnknownMethod(error)) {
      learned.hasSync = false
      return send(pool, { raw, hash })
    }
    // The nonce is in a block: with this transaction, or with one that another process sent from this account.
    if (messageMatches(error, /nonce too low/i)) return chain.findReceipt(hash)
    // It was sent before, by this process or an earlier one, or the node stopped waiting for the block.
    if (!messageMatches(error, /already known|already imported|timeout|timed out/i)) throw error
  }
  return poll(pool, hash, untilMs)
}

/** Signs the same nonce at a higher fee, where no block took the transaction for half a minute. */
const raiseFee = async (
  pool: Pool,
  stuck: GasTransaction,
  order: TransferOrder,
): Promise<GasTransaction | undefined> => {
  const current = await feesOf(pool)
  const raised = stuck.maxFeeWei + stuck.maxFeeWei / 4n + 1n
  const maxFeePerGas = raised > current.maxFeePerGas ? raised : current.maxFeePerGas
  if (stuck.attempt >= feeAttemptsMax || maxFeePerGas > pool.maxFeeWei) return undefined
  const tip = tipWei + (tipWei * BigInt(stuck.attempt)) / 4n + BigInt(stuck.attempt)
  const at = { address: stuck.address, nonce: stuck.nonce, attempt: stuck.attempt + 1 }
  const signed = await sign(pool, order, at, { maxFeePerGas, maxPriorityFeePerGas: tip })
  await inTransaction(pool.ctx, 'system', (tx) => insertGasTransaction(tx, signed))
  return signed
}

/**
 * Sends a payment's transaction again, at a higher fee where it is stuck. Where another transaction took its nonce, it
 * is signed with the next one, except for a payer with code: what it costs is counted once.
 */
const resubmit = async (pool: Pool, order: TransferOrder): Promise<Receipt | undefined> => {
  const { ctx, rpc } = pool
  const [newest] = await inTransaction(ctx, 'system', (tx) => listSentTransactions(tx, order.reference))
  const isNonceUsed = newest && (await countOf(pool, newest.address, 'latest')) > newest.nonce
  if (isNonceUsed && order.gasLimit !== null) return undefined
  if (!newest || isNonceUsed) {
    const fee = await feesOf(pool)
    const signed = await inTransaction(ctx, 'system', async (tx) => {
      if (newest) await updateGasKeyMined(tx, newest, newest.nonce + 1n)
      const prepared = await prepare(pool, tx, order, { fee, addresses: pool.addresses })
      if (!prepared) throw new Refusal('chain_unreachable', { headers: { 'retry-after': '5' } })
      return prepared
    })
    return send(pool, signed)
  }
  const next = newest.isOld ? await raiseFee(pool, newest, order) : undefined
  await rpc('eth_sendRawTransaction', [(next ?? newest).raw]).catch((error: unknown) => {
    if (!messageMatches(error, /already known|nonce too low|already imported|underpriced/i)) throw error
  })
  return undefined
}

/** Sends the missing nonces of one account again, and disables the account where its balance is low. */
const maintainAccount = async (pool: Pool, address: Hex): Promise<void> => {
  const { ctx, rpc, chainId } = pool
  const minedNonce = await countOf(pool, address, 'latest')
  const balanceWei = BigInt(String(await rpc('eth_getBalance', [address, 'latest'])))
  const low = balanceWei < lowBalanceWei(await feesOf(pool))
  const unmined = await inTransaction(ctx, 'system', async (tx) => {
    await updateGasKeyMined(tx, { chainId, address }, minedNonce)
    await updateGasKeyBalance(tx, { chainId, address }, { balanceWei, low })
    return listUnminedTransactions(tx, { chainId, address }, minedNonce, resendMax)
  })
  ctx.metrics.gasBalance.set({ address }, Number(balanceWei / 1_000_000_000n))
  if (low)
    ctx.log.error(
      { address, balanceWei: balanceWei.toString() },
      'gas account balance is low, account no longer used: fund it',
    )
  for (const { raw, isOld } of unmined) {
    if (!isOld) continue
    await rpc('eth_sendRawTransaction', [raw]).catch((error: unknown) => {
      if (!(error instanceof RpcError) || !error.nodeError) throw error
    })
  }
}

/**
 * After a restore of the database: moves the next nonce of each account past the transactions that the database has lost.
 * Returns how many accounts moved.
 */
const reconcileNonces = async (pool: Pool): Promise<number> => {
  const { ctx, chainId, addresses } = pool
  await ensureAccounts(pool)
  let moved = 0
  for (const address of addresses) {
    const nonce = await countOf(pool, address, 'pending')
    const isMoved = await inTransaction(ctx, 'system', (tx) =>
      updateGasKeyNext(tx, { chainId, address }, nonce),
    )
    if (isMoved) moved += 1
    await maintainAccount(pool, address)
  }
  return moved
}

/** The accounts that pay for gas. Every transaction is stored before it is sent, so none can be forgotten. */
export const makeGasPool = ({ keys, ...settings }: Settings) => {
  const accounts = new Map<Hex, PrivateKeyAccount>(
    keys.map((key) => {
      const account = viemAccounts().privateKeyToAccount(key)
      return [account.address.toLowerCase() as Hex, account]
    }),
  )
  const pool: Pool = {
    ...settings,
    accounts,
    addresses: [...accounts.keys()],
    maxFeeWei: maxFeeWeiOf(settings.ctx.config.X402_MAX_FEE_GWEI),
    learned: { accountsKnown: false, hasSync: true },
  }
  return {
    addresses: pool.addresses,
    ensureAccounts: () => ensureAccounts(pool),
    fees: () => feesOf(pool),
    /** The account with the fewest pending transactions, to simulate a call that it will send. */
    chooseSender: () => chooseSender(pool),
    /** Signs with the account that was simulated, or with any. */
    prepare: (tx: Tx, order: TransferOrder, at: { readonly fee: Fees; readonly sender: Hex | undefined }) =>
      prepare(pool, tx, order, {
        fee: at.fee,
        addresses: at.sender === undefined ? pool.addresses : [at.sender],
      }),
    send: (transaction: Pick<GasTransaction, 'raw' | 'hash'>) => send(pool, transaction),
    resubmit: (order: TransferOrder) => resubmit(pool, order),
    reconcileNonces: () => reconcileNonces(pool),
    maintain: async (): Promise<void> => {
      await ensureAccounts(pool)
      for (const address of pool.addresses) await maintainAccount(pool, address)
    },
  }
}
export type GasPool = ReturnType<typeof makeGasPool>
