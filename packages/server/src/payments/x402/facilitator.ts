import type { Hex } from 'viem'
import { z } from 'zod'
import { send } from '../../platform/net/outbound.ts'
import type { SignedPayment } from './check.ts'
import type { Network } from './network.ts'
import type { Chain } from './chain.ts'
import { simulateContractCall } from './contract-payers.ts'
import { RpcError } from './rpc.ts'
import type { Submitter } from './submitter.ts'
import { transferData } from './token.ts'

const timeoutMs = 15_000
const answerBytesMax = 262_144
const version = 2

const verifyResponse = z.looseObject({ isValid: z.boolean(), invalidReason: z.string().max(200).optional() })
const settleResponse = z.looseObject({
  success: z.boolean(),
  transaction: z.string().max(200).optional(),
  errorReason: z.string().max(200).optional(),
})

type Parts = {
  readonly url: string
  readonly network: Network
  readonly chain: Chain
  readonly marginBlocks: bigint
}

type SignedAuthorization = Pick<SignedPayment, 'authorization' | 'signature'>
const bodyOf = (network: Network, { authorization, signature }: SignedAuthorization): string => {
  const requirement = {
    scheme: 'exact',
    network: network.caip2,
    amount: authorization.value.toString(),
    asset: network.asset,
    payTo: network.payTo,
    maxTimeoutSeconds: 120,
    extra: { name: network.assetName, version: network.assetVersion },
  }
  const signed = {
    ...authorization,
    value: authorization.value.toString(),
    validAfter: authorization.validAfter.toString(),
    validBefore: authorization.validBefore.toString(),
  }
  return JSON.stringify({
    x402Version: version,
    paymentPayload: {
      x402Version: version,
      accepted: requirement,
      payload: { signature, authorization: signed },
    },
    paymentRequirements: requirement,
  })
}

/**
 * An external facilitator signs and pays the gas. Its responses are not trusted: a payment is settled by the token's own
 * logs, and stays pending until the chain proves that it is void.
 */
export const makeFacilitator = ({ url, network, chain, marginBlocks }: Parts): Submitter => {
  const callFacilitator = async <T>(
    schema: z.ZodType<T>,
    operation: 'verify' | 'settle',
    payment: SignedAuthorization,
  ): Promise<T> => {
    const answer = await send({
      url: `${url.replace(/\/+$/, '')}/${operation}`,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: bodyOf(network, payment),
      timeoutMs,
      responseBytesMax: answerBytesMax,
      trust: 'operator',
    }).catch((error: unknown) => {
      const fault = error instanceof Error ? error.name : 'unknown'
      throw new RpcError(`${operation}: the facilitator was not reached: ${fault}`, { cause: error })
    })
    try {
      return schema.parse(JSON.parse(answer.body))
    } catch (cause) {
      const message = `${operation}: the facilitator answered ${answer.status} and not in the form of x402`
      throw new RpcError(message, { cause })
    }
  }
  const settle = async (payment: SignedAuthorization) => {
    const { success, transaction } = await callFacilitator(settleResponse, 'settle', payment)
    return success && transaction !== undefined && /^0x[0-9a-fA-F]{64}$/.test(transaction)
      ? await chain.findReceipt(transaction.toLowerCase() as Hex)
      : undefined
  }
  return {
    readInputs: async () => {
      const { number } = await chain.head()
      return { fromBlock: number > marginBlocks ? number - marginBlocks : 0n, fees: undefined }
    },
    check: async (payment) => {
      const { authorization, signature, form } = payment
      const { from, to, nonce } = authorization
      const [{ isValid, invalidReason }, isSpent, hasCode] = await Promise.all([
        callFacilitator(verifyResponse, 'verify', payment),
        chain.isSpent(from, nonce, 'latest'),
        form === 'contract' || chain.hasCode(from),
      ])
      if (!isValid) return { reason: invalidReason ?? 'the facilitator refuses it' }
      if (isSpent) return { reason: 'the authorization is used or cancelled' }
      if (!hasCode) return { reason: undefined, contract: undefined }
      // The account that the facilitator sends from is not known here, so the simulation sends from the recipient.
      return simulateContractCall(chain, transferData(authorization, signature, form), {
        sender: to,
        fees: undefined,
      })
    },
    prepare: async () => ({ kind: 'prepared', submission: undefined }),
    submit: settle,
    // Each call may cost the facilitator gas, which a payer with code can burn: it is asked once.
    resubmit: async (payment) => (payment.gasLimit === null ? settle(payment) : undefined),
  }
}
