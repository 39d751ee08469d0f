import { keccak256, type Hex } from 'viem'
import { privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Chain } from './chain.ts'
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
  type GasTransaction,
} from './store.ts'
import { receipt, transferData, type Authorization, type Receipt, type SignatureForm } from './token.ts'

/** A transfer by authorization takes 68,000 to 90,000; a contract wallet runs code of its own before it. */
const gasLimits: Readonly<Record<SignatureForm, bigint>> = { key: 150_000n, contract: 500_000n }
/** More than so many in a row of one account, and a node may drop the rest. */
const pendingMax = 256
const feeAttemptsMax = 20
/** How long a caller waits for the block before it is told to come back. Blocks of rollups come every two seconds. */
const syncWaitMs = 8_000
const pollMs = 250
const resendMax = 32
const tipWei = 1_000_000n
/** An account with gas for fewer settlements than this is not used any more. */
const lowSettlements = 20n

export type Fees = { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }
/** What is transferred, and for what. */
export type TransferOrder = {
  readonly authorization: Authorization
  readonly signature: Hex
  readonly form: SignatureForm
  readonly reference: string
}

const methodNotFoundCode = -32_601
const isUnknownMethod = (error: unknown) =>
  error instanceof RpcError &&
  (error.nodeError?.code === methodNotFoundCode || /method not found|not supported/i.test(error.message))
const messageMatches = (error: unknown, words: RegExp) =>
  error instanceof RpcError && words.test(error.message)

const unreachable = () => new Refusal('chain_unreachable', { headers: { 'retry-after': '5' } })

type Parts = {
  readonly ctx: Ctx
  readonly rpc: Rpc
  readonly chain: Chain
  readonly chainId: number
  readonly asset: Hex
  readonly keys: readonly Hex[]
}

/** The accounts that pay for gas. What is sent was written down before, so nothing that is sent can be forgotten. */
export const makeGasPool = ({ ctx, rpc, chain, chainId, asset, keys }: Parts) => {
  const accounts = new Map<Hex, PrivateKeyAccount>(
    keys.map((key) => {
      const account = privateKeyToAccount(key)
      return [account.address.toLowerCase() as Hex, account]
    }),
  )
  const addresses = [...accounts.keys()]
  const maxFeeWei = BigInt(ctx.config.X402_MAX_FEE_GWEI) * 1_000_000_000n
  let accountsKnown = false
  let hasSync = true

  const countOf = async (address: Hex, tag: 'latest' | 'pending') =>
    BigInt(String(await rpc('eth_getTransactionCount', [address, tag])))

  /** Every account has its row, from the chain's own count. */
  const ensureAccounts = async (): Promise<void> => {
    if (accountsKnown) return
    const rows = await inTransaction(ctx, 'system', (tx) => listGasKeys(tx, chainId, addresses))
    for (const address of addresses.filter((one) => !rows.some((row) => row.address === one))) {
      const nonce = await countOf(address, 'pending')
      await inTransaction(ctx, 'system', (tx) => insertGasKey(tx, { chainId, address, nonce }))
    }
    accountsKnown = true
  }

  /** Twice the base fee outlasts six full blocks in a row; nobody pays more than the setting allows. */
  const fees = async (): Promise<Fees> => {
    const wanted = ((await chain.head()).baseFeePerGas ?? 0n) * 2n + tipWei
    return { maxFeePerGas: wanted < maxFeeWei ? wanted : maxFeeWei, maxPriorityFeePerGas: tipWei }
  }

  const sign = async (
    order: TransferOrder,
    at: { address: Hex; nonce: bigint; attempt: number },
    fee: Fees,
  ) => {
    const account = accounts.get(at.address)
    if (!account) throw new Error('no private key for the gas account')
    const raw = await account.signTransaction({
      type: 'eip1559',
      chainId,
      nonce: Number(at.nonce),
      to: asset,
      data: transferData(order.authorization, order.signature, order.form),
      gas: gasLimits[order.form],
      ...fee,
    })
    return {
      chainId,
      ...at,
      reference: order.reference,
      hash: keccak256(raw),
      raw,
      maxFeeWei: fee.maxFeePerGas,
    } satisfies GasTransaction
  }

  /** Takes an account and its next number, signs, and writes down what will be sent, in the caller's transaction. */
  const prepare = async (tx: Tx, order: TransferOrder, fee: Fees): Promise<GasTransaction> => {
    const key = await findGasKeyLocked(tx, chainId, addresses, pendingMax)
    if (!key) {
      ctx.log.error('no usable gas account: fund one or add one')
      throw unreachable()
    }
    const signed = await sign(order, { address: key.address, nonce: key.nextNonce, attempt: 1 }, fee)
    await insertNextGasTransaction(tx, signed)
    return signed
  }

  const poll = async (hash: Hex, until: number): Promise<Receipt | undefined> => {
    for (;;) {
      const found = await chain.findReceipt(hash)
      if (found || ctx.clock.now().getTime() >= until) return found
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
  }

  /**
   * Sends what was written down and waits for its block; undefined where that takes too long. Throws where it is not
   * even known whether the node has it. Sending the same bytes again is harmless.
   */
  const send = async ({ raw, hash }: Pick<GasTransaction, 'raw' | 'hash'>): Promise<Receipt | undefined> => {
    const until = ctx.clock.now().getTime() + syncWaitMs
    try {
      if (hasSync) {
        const result = receipt.safeParse(await rpc('eth_sendRawTransactionSync', [raw], syncWaitMs))
        return result.success ? result.data : await poll(hash, until)
      }
      await rpc('eth_sendRawTransaction', [raw])
    } catch (error) {
      if (hasSync && isUnknownMethod(error)) {
        hasSync = false
        return send({ raw, hash })
      }
      // Its number is in a block: with this very transaction, or with one that somebody else sent by this account.
      if (messageMatches(error, /nonce too low/i)) return chain.findReceipt(hash)
      // It was sent before, by this process or by the one before it. Or the node gave up waiting for the block.
      if (!messageMatches(error, /already known|already imported|timeout|timed out/i)) throw error
    }
    return poll(hash, until)
  }

  /** Signs the same number once more at a higher fee, where the old one was not taken for half a minute. */
  const bump = async (stuck: GasTransaction, order: TransferOrder): Promise<GasTransaction | undefined> => {
    const current = await fees()
    const raised = stuck.maxFeeWei + stuck.maxFeeWei / 4n + 1n
    const maxFeePerGas = raised > current.maxFeePerGas ? raised : current.maxFeePerGas
    if (stuck.attempt >= feeAttemptsMax || maxFeePerGas > maxFeeWei) return undefined
    const tip = tipWei + (tipWei * BigInt(stuck.attempt)) / 4n + BigInt(stuck.attempt)
    const at = { address: stuck.address, nonce: stuck.nonce, attempt: stuck.attempt + 1 }
    const signed = await sign(order, at, { maxFeePerGas, maxPriorityFeePerGas: tip })
    await inTransaction(ctx, 'system', (tx) => insertGasTransaction(tx, signed))
    return signed
  }

  /**
   * Brings a payment's transaction on: sends it again, at a higher fee where it is stuck. A number that somebody else's
   * transaction took is replaced by the next one.
   */
  const resubmit = async (order: TransferOrder): Promise<Receipt | undefined> => {
    const [newest] = await inTransaction(ctx, 'system', (tx) => listSentTransactions(tx, order.reference))
    const taken = newest && (await countOf(newest.address, 'latest')) > newest.nonce
    if (!newest || taken) {
      // Our number is in a block with another transaction, or nothing was ever signed: a new one is due.
      const fee = await fees()
      const signed = await inTransaction(ctx, 'system', async (tx) => {
        if (newest) await updateGasKeyMined(tx, newest, newest.nonce + 1n)
        return prepare(tx, order, fee)
      })
      return send(signed)
    }
    const next = newest.isOld ? await bump(newest, order) : undefined
    await rpc('eth_sendRawTransaction', [(next ?? newest).raw]).catch((error: unknown) => {
      if (!messageMatches(error, /already known|nonce too low|already imported|underpriced/i)) throw error
    })
    return undefined
  }

  /** Looks after one account: what is missing among its numbers is sent again, and little gas is an alarm. */
  const maintainAccount = async (address: Hex): Promise<void> => {
    const minedNonce = await countOf(address, 'latest')
    const balanceWei = BigInt(String(await rpc('eth_getBalance', [address, 'latest'])))
    const { maxFeePerGas } = await fees()
    const low = balanceWei < gasLimits.key * maxFeePerGas * lowSettlements
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

  return {
    addresses,
    ensureAccounts: ensureAccounts,
    fees,
    prepare,
    send,
    resubmit: resubmit,
    maintain: async (): Promise<void> => {
      await ensureAccounts()
      for (const address of addresses) await maintainAccount(address)
    },
  }
}
export type GasPool = ReturnType<typeof makeGasPool>
