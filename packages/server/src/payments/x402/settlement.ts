import type { Hex } from 'viem'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { SignedPayment } from './check.ts'
import { networkOf, type Network } from './network.ts'
import { makeChain, type SettlementProof } from './chain.ts'
import { checkContractPayer, refusedDays, type ContractPayerCheck } from './contract-payers.ts'
import { makeFacilitator } from './facilitator.ts'
import { makeGasPool } from './gas.ts'
import { readGasKeys } from './gas-keys.ts'
import { makeRpc, RpcError } from './rpc.ts'
import {
  findPayment,
  findPaymentByReference,
  insertPayment,
  listSentTransactions,
  updateFailed,
  updateGasMined,
  type ClaimedPayment,
  type NewPayment,
  type PaymentKey,
} from './store.ts'
import { makeSubmitter, type CheckedInputs, type StoredSubmission, type Submitter } from './submitter.ts'
import { hasTransferred, transferredTo, type Transfer, type Receipt } from './token.ts'

/** What the chain would do with a payment. `spent`: it is in a block already, so its signature is public. */
export type SimulationResult =
  | { readonly kind: 'good'; readonly prepared: CheckedInputs }
  | { readonly kind: 'spent'; readonly proof: SettlementProof; readonly prepared: CheckedInputs }
  | { readonly kind: 'refused'; readonly reason: string }
  /** A fault of the node or the facilitator: it says nothing about the payment. */
  | { readonly kind: 'unreachable' }

/** The status of a payment. `pending`: not known yet, and never reported as a failure. */
export type SettlementStatus =
  | { readonly kind: 'settled'; readonly proof: SettlementProof }
  | { readonly kind: 'void'; readonly reason: string }
  | { readonly kind: 'pending'; readonly sent: boolean }

/** How far back to search for a payment that was in a block before the server saw it. On Base: over an hour. */
const lookBackBlocks = 2_000n
/** The cached head may be a little ahead of another node's. */
const marginBlocks = 32n

const keyOf = (network: Network, { authorization }: Pick<SignedPayment, 'authorization'>): PaymentKey => ({
  chainId: network.chainId,
  asset: network.asset.toLowerCase() as Hex,
  payer: authorization.from,
  nonce: authorization.nonce,
})
const transferOf = (payment: Pick<ClaimedPayment, 'asset' | 'authorization'>): Transfer => ({
  asset: payment.asset,
  payer: payment.authorization.from,
  nonce: payment.authorization.nonce,
  payTo: payment.authorization.to,
  valueMicro: payment.authorization.value,
})

/** A fault of the node is 503: it says nothing about the payment. */
const refuseIfUnreachable = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    if (error instanceof RpcError) throw new Refusal('chain_unreachable', { headers: { 'retry-after': '5' } })
    throw error
  }
}

type SettlementParts = {
  readonly ctx: Ctx
  readonly network: Network
  readonly chain: ReturnType<typeof makeChain>
  readonly submitter: Submitter
}

/**
 * The reason why an authorization can never be used, proven by a safe block: it was cancelled, or it expired unused.
 * Only this proof releases the reserved unit.
 */
const findVoid = async ({ chain }: SettlementParts, payment: NewPayment): Promise<string | undefined> => {
  const safe = await chain.blockAt('safe')
  const use = await chain.findUse(transferOf(payment), payment.fromBlock)
  if (use.kind === 'canceled')
    return use.blockNumber <= safe.number ? 'the payer cancelled the authorization' : undefined
  if (use.kind !== 'none' || safe.timestamp < payment.authorization.validBefore) return undefined
  return (await chain.isSpent(payment.payer, payment.nonce, safe.number))
    ? undefined
    : 'the authorization ended without being used'
}

const proofOf = (receipt: Receipt | undefined, payment: NewPayment): SettlementProof | undefined =>
  receipt && hasTransferred(receipt, transferOf(payment))
    ? { transactionHash: receipt.transactionHash, blockNumber: receipt.blockNumber }
    : undefined

/** A payer with code made our transaction fail: it is refused from now on, and the gas counts against the budget. */
const recordFailure = async (
  { ctx }: SettlementParts,
  { reference, payer, gasLimit }: NewPayment,
  gasLost: bigint,
): Promise<void> => {
  if (gasLimit === null) return
  const isFirst = await inTransaction(ctx, 'system', (tx) => updateFailed(tx, reference, gasLost))
  if (isFirst)
    ctx.log.warn(
      { reference, payer, gasLost: gasLost.toString(), refusedDays },
      'payment of a contract wallet failed on the chain; the wallet is refused',
    )
}

/** Looks for the transfer in our transactions first, then in those of others. */
const findProof = async (
  parts: SettlementParts,
  payment: NewPayment,
): Promise<{
  readonly proof: SettlementProof | undefined
  readonly mined: boolean
  /** Whether we sign the transaction, and not a facilitator. */
  readonly isOurs: boolean
}> => {
  const { ctx, chain } = parts
  const sent = await inTransaction(ctx, 'system', (tx) => listSentTransactions(tx, payment.reference))
  let mined = false
  for (const { hash } of sent) {
    const receipt = await chain.findReceipt(hash)
    const proof = proofOf(receipt, payment)
    if (proof) return { proof, mined: true, isOurs: true }
    if (receipt) await recordFailure(parts, payment, receipt.gasUsed)
    mined ||= receipt !== undefined
  }
  const use = await chain.findUse(transferOf(payment), payment.fromBlock)
  if (use.kind === 'elsewhere')
    ctx.log.error(
      { reference: payment.reference },
      'authorization used without a transfer to us: review it by hand',
    )
  return { proof: use.kind === 'paid' ? use.proof : undefined, mined, isOurs: sent.length > 0 }
}

const findStatus = async (parts: SettlementParts, payment: NewPayment): Promise<SettlementStatus> => {
  const { proof, mined, isOurs } = await findProof(parts, payment)
  if (proof) return { kind: 'settled', proof }
  const reason = await findVoid(parts, payment)
  if (reason !== undefined) {
    // It is not known how much gas the facilitator has spent, so the gas limit counts.
    if (!isOurs) await recordFailure(parts, payment, payment.gasLimit ?? 0n)
    return { kind: 'void', reason }
  }
  // A mined transaction that paid nothing was our only attempt: it is not repeated. The payment stays pending, because
  // another holder of the authorization may still use it.
  if (mined || payment.authorization.validBefore <= (await parts.chain.head()).timestamp)
    return { kind: 'pending', sent: true }
  const resubmitted = proofOf(await parts.submitter.resubmit(payment), payment)
  return resubmitted ? { kind: 'settled', proof: resubmitted } : { kind: 'pending', sent: true }
}

const simulate = async (parts: SettlementParts, payment: SignedPayment): Promise<SimulationResult> => {
  const { chain, network, submitter } = parts
  const key = keyOf(network, payment)
  const inputs = await submitter.readInputs(payment)
  const checked = await submitter.check(payment, inputs)
  if (checked.reason === undefined)
    return { kind: 'good', prepared: { ...inputs, contract: checked.contract } }
  // Another holder of the authorization may have sent it. Then the payer has paid and must not be refused.
  const { number } = await chain.blockAt('latest')
  const fromBlock = number > lookBackBlocks ? number - lookBackBlocks : 0n
  const use = await chain.findUse(transferOf({ ...key, authorization: payment.authorization }), fromBlock)
  if (use.kind === 'paid')
    return { kind: 'spent', proof: use.proof, prepared: { ...inputs, fromBlock, contract: undefined } }
  return { kind: 'refused', reason: checked.reason }
}

const verify = async (parts: SettlementParts, payment: SignedPayment): Promise<SimulationResult> => {
  try {
    return await simulate(parts, payment)
  } catch (error) {
    if (error instanceof RpcError) return { kind: 'unreachable' }
    throw error
  }
}

/**
 * The input of `submit`: the claimed payment, the values that were read from the chain before the claim, and the stored
 * transaction.
 */
type Submission = {
  readonly payment: SignedPayment
  readonly reference: string
  readonly prepared: CheckedInputs
  readonly submission: StoredSubmission
}
const submit = async (parts: SettlementParts, sent: Submission): Promise<SettlementStatus> => {
  const { ctx, network, submitter } = parts
  const { reference } = sent
  const payment = {
    ...keyOf(network, sent.payment),
    ...sent.payment,
    reference,
    fromBlock: sent.prepared.fromBlock,
    gasLimit: sent.prepared.contract?.gasLimit ?? null,
  }
  try {
    const proof = proofOf(await submitter.submit(payment, sent.submission), payment)
    // Without a transfer in our transaction, another transaction may hold it.
    return proof ? { kind: 'settled', proof } : await findStatus(parts, payment)
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    ctx.log.warn({ reference, fault: error.message.slice(0, 200) }, 'settlement outcome unknown')
    return { kind: 'pending', sent: false }
  }
}

const recheck = async (
  parts: SettlementParts,
  payment: ClaimedPayment,
): Promise<SettlementStatus & { readonly final: boolean }> => {
  const finalized = await parts.chain.blockAt('finalized')
  const status = await findStatus(parts, payment)
  const final = status.kind === 'settled' && status.proof.blockNumber <= finalized.number
  return { ...status, final }
}

const checkPayer = async (
  { ctx, network }: SettlementParts,
  tx: Tx,
  payment: SignedPayment,
  { contract }: CheckedInputs,
): Promise<ContractPayerCheck> =>
  contract
    ? checkContractPayer(tx, keyOf(network, payment), BigInt(ctx.config.X402_CONTRACT_GAS_PER_DAY))
    : 'accepted'

/** The configured chain and its submitter; undefined without a chain, or without gas accounts or a facilitator. */
const connect = (ctx: Ctx) => {
  const { X402_CHAIN_RPC: url, X402_FACILITATOR_URL: facilitatorUrl } = ctx.config
  const keys = readGasKeys(ctx.config)
  if (url === undefined || (keys.length === 0 && facilitatorUrl === undefined)) return undefined
  const network = networkOf(ctx.config)
  const asset = network.asset.toLowerCase() as Hex
  const rpc = makeRpc(ctx, url)
  const chain = makeChain(rpc, ctx.clock, asset)
  const pool = makeGasPool({ ctx, rpc, chain, chainId: network.chainId, asset, keys })
  if (pool.addresses.includes(network.payTo.toLowerCase() as Hex))
    throw new Error('X402_PAY_TO is one of the gas accounts: payments must go to another account')
  const submitter =
    facilitatorUrl === undefined
      ? makeSubmitter({ chain, pool, marginBlocks })
      : makeFacilitator({ url: facilitatorUrl, network, chain, marginBlocks })
  return { ctx, network, chain, submitter, pool, asset }
}

const requirePayment = async (
  { ctx, network }: SettlementParts,
  reference: string,
): Promise<ClaimedPayment> => {
  const payment = await inTransaction(ctx, 'system', (tx) => findPaymentByReference(tx, reference))
  if (!payment) throw new Error(`payment ${reference} not found on chain ${network.chainId}`)
  return payment
}

/** Settles payments on the configured chain; undefined where none is configured. */
export const makeSettlement = (ctx: Ctx) => {
  const parts = connect(ctx)
  if (!parts) return undefined
  const { network, chain, submitter, pool, asset } = parts
  return {
    network,
    /** Asks the chain whether a payment would succeed now. Sends and stores nothing. */
    verify: (payment: SignedPayment): Promise<SimulationResult> => verify(parts, payment),
    /** The payment that claimed this authorization, if any. */
    find: (tx: Tx, payment: Pick<SignedPayment, 'authorization'>) => findPayment(tx, keyOf(network, payment)),
    /** Claims the authorization for one reference; false where either is claimed already. */
    claim: async (
      tx: Tx,
      payment: SignedPayment,
      { prepared, reference }: { readonly prepared: CheckedInputs; readonly reference: string },
    ): Promise<boolean> =>
      insertPayment(tx, {
        ...keyOf(network, payment),
        reference,
        authorization: payment.authorization,
        signature: payment.signature,
        form: payment.form,
        fromBlock: prepared.fromBlock,
        gasLimit: prepared.contract?.gasLimit ?? null,
      }),
    /** Whether a claimed payment may be sent, in the transaction that claims it. A payer without code always may. */
    checkPayer: (tx: Tx, payment: SignedPayment, prepared: CheckedInputs) =>
      checkPayer(parts, tx, payment, prepared),
    /** Stores what will be sent, last in the transaction that claims: it locks the account that pays the gas. */
    prepare: (tx: Tx, payment: SignedPayment, reference: string, prepared: CheckedInputs) =>
      submitter.prepare(tx, { ...payment, reference }, prepared),
    /** Sends a claimed payment and returns its status. A failure of chain or node is a status, never an exception. */
    submit: (sent: Submission) => submit(parts, sent),
    /** The status of a claimed payment by the chain alone; a lost transaction is sent again. */
    findStatus: async (reference: string): Promise<SettlementStatus> => {
      const payment = await requirePayment(parts, reference)
      return refuseIfUnreachable(() => findStatus(parts, payment))
    },
    /** Whether a settled payment is still in the chain, and in a final block. */
    recheck: (payment: ClaimedPayment) => refuseIfUnreachable(() => recheck(parts, payment)),
    /**
     * How much of our token a transaction sent back from the account that a payment paid to its payer: the proof of a refund.
     * What others send to the payer is none. Undefined where no block has the transaction.
     */
    refundedIn: async (hash: Hex, reference: string): Promise<bigint | undefined> => {
      const { authorization } = await requirePayment(parts, reference)
      return refuseIfUnreachable(async () => {
        const receipt = await chain.findReceipt(hash)
        return receipt && transferredTo(receipt, { asset, from: authorization.to, to: authorization.from })
      })
    },
    /** Counts one pending transaction less for the gas account of this reference. */
    releaseGas: updateGasMined,
    /** The newest block: whether the node answers. */
    readHead: () => chain.head(),
    reconcileGasNonces: () => refuseIfUnreachable(() => pool.reconcileNonces()),
    maintainGasAccounts: () => refuseIfUnreachable(() => pool.maintain()),
  }
}
export type Settlement = NonNullable<ReturnType<typeof makeSettlement>>
