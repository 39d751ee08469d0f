import { assurances, type Assurance, type Mode, type OnchainClaims } from '@pohf/protocol'
import type { Hex } from 'viem'
import { z } from 'zod'
import type { ProvenWallet } from '../../evidence/index.ts'
import type { Agent } from '../../platform/http/call.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { viem } from '../../platform/net/viem.ts'
import type { Config } from '../../platform/ops/config.ts'
import { headerOf, onchainTyp, type Signer } from '../../signing/index.ts'
import type { CredentialsDeps } from '../mint/mint.ts'
import { claimWallet, listIssuedCredentials } from '../store.ts'
import { hmacOf } from '../../platform/ops/secrets.ts'

type OnchainTokenInput = {
  readonly claims: Pick<OnchainClaims, 'iss' | 'iat' | 'exp'> & { readonly assurance: Assurance }
  readonly wallet: ProvenWallet
  /** The nullifier of the human in a registry: different at each agent, so that agents cannot compare. */
  readonly nul: Buffer
}

const hexOf = (bytes: Buffer): Hex => `0x${bytes.toString('hex')}`

/** The contract that a token is for. */
type Registry = Pick<OnchainClaims, 'registry' | 'chain'>

/** The registry on the chain of the challenge. Where the challenge named no chain: the only one that there is. */
const findRegistry = (
  { ONCHAIN_REGISTRIES: registries }: Pick<Config, 'ONCHAIN_REGISTRIES'>,
  { chainId }: ProvenWallet,
): Registry | undefined => {
  const [only] = registries.size === 1 ? registries.keys() : []
  const chain = chainId ?? only
  const registry = chain === undefined ? undefined : registries.get(chain)
  return chain === undefined || registry === undefined ? undefined : { registry, chain }
}

/** No registry accepts a test token, so a test key gets one without a registry too. */
const testRegistry = ({ chainId }: ProvenWallet): Registry => ({
  registry: `0x${'0'.repeat(40)}`,
  chain: chainId ?? 1,
})

/**
 * Signs the token for a registry contract, with the lifetime of its personhood credential. It becomes public, so it
 * holds only the wallet, the nullifier, the validity and the registry.
 */
const signOnchainToken = async (
  signer: Signer,
  mode: Mode,
  { claims, wallet, nul }: OnchainTokenInput,
  { registry, chain }: Registry,
) => {
  const { iss, iat, exp } = claims
  const payload: OnchainClaims = {
    ...(mode === 'test' ? { test: true as const } : {}),
    wallet: wallet.wallet.toLowerCase(),
    nul: hexOf(nul),
    iat,
    exp,
    registry,
    chain,
    iss,
  }
  const jwt = await signer.signTyped(onchainTyp, payload)
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

/** Whether the assurance is too low for a token. A contract sees no assurance, so the operator sets one minimum for all. */
const isBelow = (assurance: Assurance, min: Assurance): boolean =>
  assurances.indexOf(assurance) < assurances.indexOf(min)

/**
 * The on-chain token of a credential, or why there is none: a human has one on-chain wallet at a time, across all
 * agents. `human` is the same at every agent and is never returned.
 */
export const issueOnchainToken = async (
  { ctx, signer }: Pick<CredentialsDeps, 'ctx' | 'signer'>,
  { agentId, mode }: Agent,
  input: OnchainTokenInput & { readonly human: Buffer },
) => {
  const { claims, wallet, human } = input
  const registry = findRegistry(ctx.config, wallet) ?? (mode === 'test' ? testRegistry(wallet) : undefined)
  if (!registry) return { onchainRefused: 'no_registry' as const }
  if (mode === 'live' && isBelow(claims.assurance, ctx.config.ONCHAIN_MIN_ASSURANCE))
    return { onchainRefused: 'assurance_too_low' as const }
  const key = ctx.secrets.derive('onchain-wallet')
  const claim = {
    human,
    wallet: hmacOf(key).update(wallet.wallet.toLowerCase()).digest(),
    holder: agentId,
    until: new Date(claims.exp * 1_000),
  }
  // No registry accepts a test token, so uniqueness does not matter.
  const granted = mode === 'test' || (await inTransaction(ctx, 'system', (tx) => claimWallet(tx, claim)))
  return granted
    ? { onchain: await signOnchainToken(signer, mode, input, registry) }
    : { onchainRefused: 'another_wallet' as const }
}

const hex32 = z.string().regex(/^0x[0-9a-f]{64}$/)
const onchainToken = z.looseObject({ payload: z.string(), r: hex32, s: hex32, keyId: hex32 })
const storedAnswer = z.looseObject({ onchain: onchainToken })

/**
 * The contract call by which the owner of a registry revokes the human there too; undefined when the credential has
 * no on-chain token, or one that no registry accepts.
 */
export const registryRevocation = (
  answer: unknown,
): { nullifier: Hex; revoke: Hex; chain?: number; address?: string } | undefined => {
  const { data } = storedAnswer.safeParse(answer)
  if (!data) return undefined
  const text = Buffer.from(data.onchain.payload, 'base64url').toString('utf8')
  // Earlier tokens name no registry.
  const { nul, test, registry, chain } = JSON.parse(text) as Omit<OnchainClaims, keyof Registry> &
    Partial<Registry>
  const nullifier = nul as Hex
  if (test) return undefined
  const { encodeFunctionData, parseAbi } = viem()
  const abi = parseAbi(['function revoke(bytes32 nullifier)'])
  return {
    nullifier,
    revoke: encodeFunctionData({ abi, functionName: 'revoke', args: [nullifier] }),
    ...(chain === undefined || registry === undefined ? {} : { chain, address: registry }),
  }
}

const bytesOf = (hex: string): Buffer => Buffer.from(hex.slice(2), 'hex')
const jwtOf = ({ payload, r, s, keyId }: z.infer<typeof onchainToken>): string => {
  const header = headerOf(onchainTyp, bytesOf(keyId).toString('base64url'))
  return `${header}.${payload}.${Buffer.concat([bytesOf(r), bytesOf(s)]).toString('base64url')}`
}

/** Everything signed in a period: credentials and their on-chain tokens. */
export const listSignedTokens = async (
  tx: Tx,
  span: { readonly from: Date; readonly to: Date },
  limit: number,
): Promise<{ readonly credentialId: string; readonly jwt: string; readonly at: Date }[]> =>
  (await listIssuedCredentials(tx, span, limit)).flatMap(({ onchain, ...credential }) =>
    onchain === null
      ? [credential]
      : [credential, { ...credential, jwt: jwtOf(onchainToken.parse(onchain)) }],
  )
