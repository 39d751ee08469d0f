import type { Hex } from 'viem'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { SignedPayment } from './check.ts'
import { networkOf, type Network } from './network.ts'
import { makeChain, type SettlementProof } from './chain.ts'
import { makeFacilitator } from './facilitator.ts'
import { makeGasPool } from './gas.ts'
import { readGasKeys } from './gas-keys.ts'
import { makeRpc, RpcError } from './rpc.ts'
import {
  findPayment,
  findPaymentByReference,
  insertPayment,
  listSentTransactions,
  updateGasMined,
  type ClaimedPayment,
  type NewPayment,
  type PaymentKey,
} from './store.ts'
import { makeSubmitter, type SubmissionInputs, type Submitter } from './submitter.ts'
import { hasTransferred, transferredTo, type Transfer, type Receipt } from './token.ts'

/** What the chain would do with a payment. `spent`: it is in a block already, so its signature is no secret any more. */
export type SimulationResult =
  | { readonly kind: 'good'; readonly prepared: SubmissionInputs }
  | { readonly kind: 'spent'; readonly proof: SettlementProof; readonly prepared: SubmissionInputs }
  | { readonly kind: 'refused'; readonly reason: string }

/** How a payment stands. `pending` is not known yet, and is never called a failure. */
export type SettlementStatus =
  | { readonly kind: 'settled'; readonly proof: SettlementProof }
  | { readonly kind: 'void'; readonly reason: string }
  | { readonly kind: 'pending'; readonly sent: boolean }

/** How far back a payment is looked for that was in a block before it was shown to us. Of Base: over an hour. */
const lookBackBlocks = 2_000n
/** The head that was seen last may be a little ahead of another node's. */
const marginBlocks = 32n

const keyOf = (network: Network, { authorization }: Pick<SignedPayment, 'authorization'>): PaymentKey => ({
  chainId: network.chainId,
  asset: network.asset.toLowerCase() as Hex,
  payer: authorization.from,
  nonce: authorization.nonce,
})
const movementOf = (payment: Pick<ClaimedPayment, 'asset' | 'authorization'>): Transfer => ({
  asset: payment.asset,
  payer: payment.authorization.from,
  nonce: payment.authorization.nonce,
  payTo: payment.authorization.to,
  valueMicro: payment.authorization.value,
})

/** Faults of the node are ours to answer for: 503, nothing charged, and never a word about the signature. */
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
 * Whether the chain proves that an authorization will never be used: cancelled for good, or past its end in a block that
 * stays, and not used by then. Nothing less lets go of what was reserved.
 */
const findVoid = async ({ chain }: SettlementParts, payment: NewPayment): Promise<string | undefined> => {
  const safe = await chain.blockAt('safe')
  const use = await chain.findUse(movementOf(payment), payment.fromBlock)
  if (use.kind === 'canceled')
    return use.blockNumber <= safe.number ? 'the payer cancelled the authorization' : undefined
  if (use.kind !== 'none' || safe.timestamp < payment.authorization.validBefore) return undefined
  return (await chain.isSpent(payment.payer, payment.nonce, safe.number))
    ? undefined
    : 'the authorization ended without being used'
}

const proofOf = (receipt: Receipt | undefined, payment: NewPayment): SettlementProof | undefined =>
  receipt && hasTransferred(receipt, movementOf(payment))
    ? { transactionHash: receipt.transactionHash, blockNumber: receipt.blockNumber }
    : undefined

/** Looks for a payment everywhere it could be: our transactions first, then anybody's. */
const findProof = async (
  { ctx, chain }: SettlementParts,
  payment: NewPayment,
): Promise<{ readonly proof: SettlementProof | undefined; readonly mined: boolean }> => {
  const sent = await inTransaction(ctx, 'system', (tx) => listSentTransactions(tx, payment.reference))
  let mined = false
  for (const { hash } of sent) {
    const receipt = await chain.findReceipt(hash)
    const proof = proofOf(receipt, payment)
    if (proof) return { proof, mined: true }
    mined ||= receipt !== undefined
  }
  const use = await chain.findUse(movementOf(payment), payment.fromBlock)
  if (use.kind === 'elsewhere')
    ctx.log.error(
      { reference: payment.reference },
      'authorization used without a transfer to us: review it by hand',
    )
  return { proof: use.kind === 'paid' ? use.proof : undefined, mined }
}

const findStatus = async (parts: SettlementParts, payment: NewPayment): Promise<SettlementStatus> => {
  const { proof, mined } = await findProof(parts, payment)
  if (proof) return { kind: 'settled', proof }
  const reason = await findVoid(parts, payment)
  if (reason !== undefined) return { kind: 'void', reason }
  // A transaction that is in a block and paid nothing was the one try; who else holds the authorization may still use it.
  if (mined || payment.authorization.validBefore <= (await parts.chain.head()).timestamp)
    return { kind: 'pending', sent: true }
  const again = proofOf(await parts.submitter.resubmit(payment), payment)
  return again ? { kind: 'settled', proof: again } : { kind: 'pending', sent: true }
}

const verify = async (parts: SettlementParts, payment: SignedPayment): Promise<SimulationResult> => {
  const { chain, network, submitter } = parts
  const key = keyOf(network, payment)
  const prepared = await submitter.readInputs(payment)
  const reason = await submitter.check(payment)
  if (reason === undefined) return { kind: 'good', prepared }
  // Anybody who has seen the authorization may have sent it. Then the payer has paid, and must not be told no.
  const { number } = await chain.blockAt('latest')
  const fromBlock = number > lookBackBlocks ? number - lookBackBlocks : 0n
  const use = await chain.findUse(movementOf({ ...key, authorization: payment.authorization }), fromBlock)
  if (use.kind === 'paid') return { kind: 'spent', proof: use.proof, prepared: { ...prepared, fromBlock } }
  return { kind: 'refused', reason }
}

/** Settles payments on the chain of the settings; undefined where there is none, or nobody to pay the gas. */
export const makeSettlement = (ctx: Ctx) => {
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
  const parts: SettlementParts = { ctx, network, chain, submitter }

  return {
    network,
    /** Asks the chain whether a payment would go through now. Sends and writes nothing. */
    verify: (payment: SignedPayment): Promise<SimulationResult> =>
      refuseIfUnreachable(() => verify(parts, payment)),
    /** The payment that this authorization already is, whoever showed it first. */
    find: (tx: Tx, payment: Pick<SignedPayment, 'authorization'>) => findPayment(tx, keyOf(network, payment)),
    /** Claims the authorization for one reference and writes down what will be sent; false where it is taken. */
    claim: async (
      tx: Tx,
      payment: SignedPayment,
      { prepared, reference }: { readonly prepared: SubmissionInputs; readonly reference: string },
    ): Promise<boolean> =>
      insertPayment(tx, {
        ...keyOf(network, payment),
        reference,
        authorization: payment.authorization,
        signature: payment.signature,
        form: payment.form,
        fromBlock: prepared.fromBlock,
      }),
    /** Writes down what will be sent, last in the transaction that claims: it holds the account that pays the gas. */
    prepare: (tx: Tx, payment: SignedPayment, reference: string, prepared: SubmissionInputs) =>
      submitter.prepare(tx, { ...payment, reference }, prepared),
    /** Sends a claimed payment and says how it stands. Never throws for what the chain does. */
    submit: async (given: {
      readonly payment: SignedPayment
      readonly reference: string
      readonly prepared: SubmissionInputs
      readonly submission: Awaited<ReturnType<Submitter['prepare']>>
    }): Promise<SettlementStatus> => {
      const { reference, submission } = given
      const payment = {
        ...keyOf(network, given.payment),
        ...given.payment,
        reference,
        fromBlock: given.prepared.fromBlock,
      }
      try {
        const receipt = await submitter.submit(payment, submission)
        const proof = proofOf(receipt, payment)
        if (proof) return { kind: 'settled', proof }
        // Our transaction was too late, or did not move the money, or lost its number: perhaps somebody else's did.
        return await findStatus(parts, payment)
      } catch (error) {
        if (!(error instanceof RpcError)) throw error
        ctx.log.warn({ reference, fault: error.message.slice(0, 200) }, 'settlement outcome unknown')
        return { kind: 'pending', sent: false }
      }
    },
    /** How a claimed payment stands, found out by the chain alone; what got lost on the way is sent again. */
    findStatus: async (reference: string): Promise<SettlementStatus> => {
      const payment = await inTransaction(ctx, 'system', (tx) => findPaymentByReference(tx, reference))
      if (!payment) throw new Error('a payment that nobody claimed')
      return refuseIfUnreachable(() => findStatus(parts, payment))
    },
    /** Whether a settled payment is still in the chain, and so deep that it stays. */
    recheck: (payment: ClaimedPayment) =>
      refuseIfUnreachable(async (): Promise<SettlementStatus & { readonly final: boolean }> => {
        const finalized = await chain.blockAt('finalized')
        const status = await findStatus(parts, payment)
        const final = status.kind === 'settled' && status.proof.blockNumber <= finalized.number
        return { ...status, final }
      }),
    /** What a transaction gave to an address in our token: the proof of a refund. */
    transferredTo: (hash: Hex, address: Hex): Promise<bigint> =>
      refuseIfUnreachable(async () => {
        const receipt = await chain.findReceipt(hash)
        return receipt ? transferredTo(receipt, { asset, address }) : 0n
      }),
    /** One account of the pool has one transaction less under way. */
    releaseGas: updateGasMined,
    maintainGasAccounts: () => refuseIfUnreachable(() => pool.maintain()),
  }
}
export type Settlement = NonNullable<ReturnType<typeof makeSettlement>>
