import type { Mode, OnchainClaims } from '@pohf/protocol'
import { encodeFunctionData, parseAbi, type Hex } from 'viem'
import { z } from 'zod'
import type { BoundWallet } from '../evidence/index.ts'
import type { Signer } from '../signing/index.ts'

type Beside = {
  readonly mode: Mode
  readonly claims: Pick<OnchainClaims, 'iss' | 'iat' | 'exp'>
  readonly wallet: BoundWallet
  /** The code of the human in the registry. */
  readonly human: Buffer
}

const hexOf = (bytes: Buffer): Hex => `0x${bytes.toString('hex')}`

/**
 * Signs what a registry contract takes, beside a personhood credential and with its lifetime. It goes to a public place,
 * so it says nothing but the wallet, the code of its human, and how long.
 */
export const signOnchain = async (signer: Signer, { mode, claims, wallet, human }: Beside) => {
  const { iss, iat, exp } = claims
  const payload: OnchainClaims = {
    ...(mode === 'test' ? { test: true as const } : {}),
    wallet: wallet.wallet.toLowerCase(),
    nul: hexOf(human),
    iat,
    exp,
    ...(wallet.type === 'contract' && wallet.chainId !== null ? { chain: wallet.chainId } : {}),
    iss,
  }
  const jwt = await signer.signTyped('pohf-onchain+jwt', payload)
  const [header = '', signedPayload = '', signature = ''] = jwt.split('.')
  const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString('utf8')) as { kid: string }
  const raw = Buffer.from(signature, 'base64url')
  return {
    payload: signedPayload,
    r: hexOf(raw.subarray(0, 32)),
    s: hexOf(raw.subarray(32)),
    keyId: hexOf(Buffer.from(kid, 'base64url')),
  }
}

const abi = parseAbi(['function revoke(bytes32 nullifier)'])
const stored = z.looseObject({ onchain: z.looseObject({ payload: z.string() }) })

/**
 * What the owner of a registry sends to put the human of a credential out there too; undefined where the credential
 * came without a token for chains, or with one that no registry takes.
 */
export const registryRevocation = (answer: unknown): { nullifier: Hex; revoke: Hex } | undefined => {
  const { data } = stored.safeParse(answer)
  if (!data) return undefined
  const text = Buffer.from(data.onchain.payload, 'base64url').toString('utf8')
  const { nul, test } = JSON.parse(text) as OnchainClaims
  const nullifier = nul as Hex
  if (test) return undefined
  return { nullifier, revoke: encodeFunctionData({ abi, functionName: 'revoke', args: [nullifier] }) }
}
