import { createHash, sign } from 'node:crypto'
import { createSignature, component } from 'http-message-sig'
import { parseDictionary, serializeDictionary } from 'structured-headers'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { proveByKey } from '../../src/evidence/wallets/wallet.ts'
import { Refusal } from '../../src/platform/http/errors.ts'
import { readConfig } from '../../src/platform/ops/config.ts'
import { checkSignature, paymentTermsFault } from '../../src/payments/x402/check.ts'
import { networkOf } from '../../src/payments/x402/network.ts'
import { parsePayment, type Payment } from '../../src/payments/x402/parse.ts'
import { verifyChain } from '../../src/trust/mandates/chain.ts'
import type { Root } from '../../src/trust/rules.ts'
import type { KeySets } from '../../src/trust/signatures/key-sets.ts'
import { keyNamed, readKeySet } from '../../src/trust/signatures/keys.ts'
import { verifySignedRequest } from '../../src/trust/signatures/verify.ts'
import { encode, makePayer } from '../fixtures/payments/payer.ts'
import { makeKey, type TestKey } from '../fixtures/trust/key-server.ts'
import { makeMandates, makeWallet } from '../fixtures/trust/mandates.ts'
import { sameParts, type Input, type Outcome, type Target } from './target.ts'

const at = new Date('2026-11-15T12:00:00Z')
const now = at.getTime() / 1_000
const own = 'https://pohf.example'
const textOf = (input: Input, name: string): string => (input[name] ?? Buffer.alloc(0)).toString('latin1')

const rootOf = (kind: Root['kind'], name: string): Root => ({
  kind,
  name,
  keysUrl: `${name}/keys`,
  mode: 'test',
  requireDigest: false,
  agents: 0,
  reason: 'fuzz',
  addedAt: at,
})
/** The key sets of roots, read by the parser of the server from a text that it would have fetched. */
const keySetsOf = async (keys: readonly TestKey[]): Promise<KeySets> => {
  const read = await readKeySet(JSON.stringify({ keys: keys.map(({ publicJwk }) => publicJwk) }))
  if (read?.length !== keys.length) throw new Error('the key set of the seed cannot be read')
  return {
    find: async ({ kind }, name) => {
      const found = keyNamed(read, name, { acceptsKid: kind !== 'directory', seconds: now })
      return typeof found === 'object' ? found : undefined
    },
  }
}
const isVerified = async (verify: () => Promise<unknown>): Promise<boolean> => {
  try {
    await verify()
    return true
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

const mandateTarget = async (): Promise<Target> => {
  const issuer = 'https://issuer.example'
  const wallet = await makeWallet(issuer)
  const context = {
    keySets: await keySetsOf([wallet.issuer]),
    roots: [rootOf('issuer', issuer)],
    now,
    audience: own,
  }
  const challenge = { aud: own, nonce: 'quo_1', checkout_jwt: 'a.b.c' }
  const order = { wallet, challenge, now, taskType: 'wf_photo_label', quantity: 3, totalUsdCents: 150 }
  const seeds = (['verifiable-intent', 'ap2'] as const).flatMap((spelling) =>
    [true, false].map((immediate) => {
      const { ap2 } = makeMandates({ ...order, spelling, immediate })
      return { chain: Buffer.from(ap2.payment_mandate) }
    }),
  )
  return {
    name: 'sd-jwt',
    forms: { chain: 'text' },
    seeds,
    run: async (input, seed): Promise<Outcome> => {
      if (!(await isVerified(() => verifyChain(context, textOf(input, 'chain'), 'payment')))) return 'refused'
      return sameParts(input, seed) ? 'equal' : 'accepted'
    },
  }
}

/** A header in the one form in which structured fields are written; the text itself where it has none. */
const canonical = (text: string): string => {
  try {
    return serializeDictionary(parseDictionary(text))
  } catch {
    return text.trim()
  }
}

const agent = 'https://agent.example'
const path = '/api/agents/order'
const body = JSON.stringify({ taskType: 'wf_photo_label', quantity: 3 })
const headers = ['signature-input', 'signature', 'signature-agent', 'content-digest']

const signRequest = async (key: TestKey): Promise<Input> => {
  const digest = `sha-256=:${createHash('sha256').update(body).digest('base64')}:`
  const named = { 'content-digest': digest, 'signature-agent': `sig1="${agent}"` }
  const fields = await createSignature(
    {
      kind: 'request',
      method: 'POST',
      targetUri: own + path,
      fields: Object.entries(named).map(([name, value]) => ({ name, value })),
    },
    {
      label: 'sig1',
      components: [
        '@method',
        '@authority',
        '@path',
        'content-digest',
        component('signature-agent', { key: 'sig1' }),
      ],
      parameters: {
        created: now,
        expires: now + 300,
        keyid: key.keyid,
        nonce: 'n1',
        tag: 'agent-payer-auth',
      },
      signer: { algorithm: 'ed25519', sign: (data) => sign(null, data, key.privateKey) },
    },
  )
  const texts = { ...named, 'signature-input': fields.signatureInput, signature: fields.signature }
  const parts = Object.entries({ ...texts, body, method: 'POST', path })
  return Object.fromEntries(parts.map(([name, text]) => [name, Buffer.from(text)]))
}

const requestTarget = async (): Promise<Target> => {
  const key = await makeKey.ed25519()
  const keySets = await keySetsOf([key])
  const roots = [rootOf('directory', agent)]
  const isEqual = (input: Input, seed: Input): boolean =>
    sameParts(input, seed, ['body', 'method']) &&
    // @path ends before the query, of which an order reads nothing.
    textOf(input, 'path').split('?')[0] === textOf(seed, 'path') &&
    headers.every((name) => canonical(textOf(input, name)) === canonical(textOf(seed, name)))
  return {
    name: 'http message signature',
    forms: {
      ...Object.fromEntries(headers.map((name) => [name, 'text' as const])),
      body: 'json',
      method: 'bytes',
      path: 'bytes',
    },
    seeds: [await signRequest(key)],
    run: async (input, seed) => {
      // The router has matched method and path before: only letters, and only a path that a URL can have.
      const method = textOf(input, 'method')
      const requestPath = textOf(input, 'path')
      if (!/^[A-Z]+$/.test(method) || !/^\/[\w/%?=&.~-]*$/.test(requestPath)) return 'refused'
      const request = {
        method,
        targetUri: own + requestPath,
        headers: Object.fromEntries(headers.map((name) => [name, textOf(input, name)])),
        bodyText: textOf(input, 'body'),
      }
      if (!(await isVerified(() => verifySignedRequest(keySets, roots, request, now)))) return 'refused'
      return isEqual(input, seed) ? 'equal' : 'accepted'
    },
  }
}

const keySetTarget = async (): Promise<Target> => {
  const keys = [await makeKey.ed25519(), await makeKey.p256(), await makeKey.rsa()]
  const seed = { set: Buffer.from(JSON.stringify({ keys: keys.map(({ publicJwk }) => publicJwk) })) }
  const data = Buffer.from('signed')
  const by = keys.map(({ privateKey }) => privateKey)
  const [ed25519, p256, rsa] = by
  if (!ed25519 || !p256 || !rsa) throw new Error('three keys are needed')
  // A set may name any keys. It is a fault if a key of the set is read as one that it does not name.
  return {
    name: 'key set',
    forms: { set: 'json' },
    seeds: [seed],
    run: async (input) => {
      const read = await readKeySet((input['set'] ?? Buffer.alloc(0)).toString('utf8'))
      if (!read || read.length === 0) return 'refused'
      for (const { jwk, thumbprint, verify } of read) {
        if ('d' in jwk) return 'accepted'
        if (thumbprint.length !== 43 || verify(data, Buffer.alloc(64))) return 'accepted'
      }
      return 'equal'
    },
  }
}

const paymentText = ({ authorization, signature }: Payment): string =>
  JSON.stringify([signature, authorization], (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
const paymentTarget = async (): Promise<Target> => {
  const network = networkOf(readConfig({ DATABASE_URL: 'postgres://nowhere/x' }))
  const payer = makePayer()
  const entry = {
    scheme: 'exact',
    network: network.name,
    asset: network.asset,
    payTo: network.payTo,
    amount: '10000',
    extra: { name: network.assetName, version: network.assetVersion },
  }
  const authorization = payer.authorize(entry, now)
  const payload = { signature: await payer.sign(entry, authorization), authorization }
  const version1 = { x402Version: 1, scheme: 'exact', network: network.name, payload }
  const accepted = { ...entry, network: network.caip2, maxTimeoutSeconds: 120 }
  const seeds = [version1, { x402Version: 2, payload, accepted }].map((value) => ({
    header: Buffer.from(encode(value)),
  }))
  const expected = parsePayment(encode(version1))
  if (!expected) throw new Error('the payment of the seed cannot be read')
  return {
    name: 'x402 payment',
    forms: { header: 'text' },
    seeds,
    run: async (input) => {
      const payment = parsePayment(textOf(input, 'header'))
      if (!payment || paymentTermsFault(payment, { network, amountUsdcMicro: 10_000n, at })) return 'refused'
      const checked = await checkSignature(payment, { network, acceptsContractWallets: false })
      if (checked.fault !== undefined) return 'refused'
      return paymentText(payment) === paymentText(expected) ? 'equal' : 'accepted'
    },
  }
}

/** Wallets write the last byte as 0 and 1, or as 27 and 28: both are in use, and mean the same. */
const parityText = (signature: string): string =>
  signature.toLowerCase().replace(/1b$/, '00').replace(/1c$/, '01')

const walletTarget = async (): Promise<Target> => {
  const account = privateKeyToAccount(generatePrivateKey())
  const message = `${own} wants you to prove your wallet.\nNonce: 1`
  const walletSig = await account.signMessage({ message })
  const challenge = { message, chainId: null, contractChain: undefined }
  return {
    name: 'wallet signature',
    forms: { wallet: 'text', signature: 'text' },
    seeds: [{ wallet: Buffer.from(account.address), signature: Buffer.from(walletSig) }],
    run: async (input, seed) => {
      const proof = {
        wallet: textOf(input, 'wallet'),
        walletSig: textOf(input, 'signature'),
        walletNonce: '1',
      }
      // The schema of the endpoint has checked the address.
      if (!/^0x[0-9a-fA-F]{40}$/.test(proof.wallet)) return 'refused'
      if (!(await proveByKey(challenge, proof))) return 'refused'
      return textOf(input, 'wallet').toLowerCase() === textOf(seed, 'wallet').toLowerCase() &&
        parityText(textOf(input, 'signature')) === parityText(textOf(seed, 'signature'))
        ? 'equal'
        : 'accepted'
    },
  }
}

export const tradeTargets = async (): Promise<Target[]> => [
  await mandateTarget(),
  await requestTarget(),
  await keySetTarget(),
  await paymentTarget(),
  await walletTarget(),
]
