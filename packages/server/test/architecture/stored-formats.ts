// Values that rows, credentials and other parties hold on to: the keys that are derived from the master key, and what is
// made with them, for a fixed master key. A changed purpose would change every `sub` and every sealed text.
import { createHash } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { networkTagOf } from '../../src/agents/register.ts'
import { platformAgentId } from '../../src/agents/platform-agent.ts'
import { pairwiseSubject } from '../../src/credentials/rules.ts'
import { freeAccountOf } from '../../src/credits/rules.ts'
import { singleChunkTelemetry } from '../../src/evidence/proof.ts'
import { humanHashOf, signalOf } from '../../src/issuers/rules.ts'
import { attentionChallenge, loginCookie, expiredLoginCookie, nullifierOf } from '../../src/members/rules.ts'
import { initialHash, hashEntry } from '../../src/operators/rules.ts'
import { claimOf, holdAccountOf, payoutAccountOf, userAccountOf } from '../../src/partners/rules.ts'
import type { Ctx } from '../../src/platform/ops/context.ts'
import { loadSecrets, openFor, type Secrets } from '../../src/platform/ops/secrets.ts'
import { browserHashOf } from '../../src/sessions/browsers.ts'
import { expectedAnswerOf } from '../../src/sessions/recording/probes.ts'
import { recordKey } from '../../src/sessions/recording/records.ts'
import { makeViewToken, readViewToken } from '../../src/sessions/rules.ts'
import { actKeyOf, journalKeyOf } from '../../src/signing/restore/mint-signer.ts'
import { payloadHash, typedId } from '../../src/signing/rules.ts'
import { signedHeadersOf, signingKeyOf } from '../../src/webhooks/rules.ts'
import { makePurchaseId } from '../../src/purchases/id.ts'
import { recoveryMessage, secretHashOf } from '../../src/purchases/rules.ts'
import { makeTaskToken, makeVisitorToken, readTaskToken } from '../../src/microtasks/token.ts'
import { sessionChallengeOf, vestingAccountOf, payeeRefOf, workerRefOf } from '../../src/work/units/rules.ts'
import { readClientAddress } from '../../src/platform/http/client-address.ts'

const fixedMasterKey = Buffer.alloc(32, 7)

export type SourceFile = { readonly path: string; readonly text: string }

/** Every source file of the packages, tests left out. */
export const readSources = (): SourceFile[] => {
  const root = new URL('../../../', import.meta.url).pathname
  return globSync('*/src/**/*.{ts,tsx}', { cwd: root })
    .filter((path) => !/\.test\.tsx?$/.test(path))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

type Use = { readonly path: string; readonly how: string; readonly purpose: string }

/** The text of an argument: a literal itself, or a constant of the same file. */
const literalOf = (argument: string, text: string): string | undefined => {
  const [, literal] = /^'([^']+)'$/.exec(argument) ?? []
  if (literal !== undefined) return literal
  if (!/^\w+$/.test(argument)) return undefined
  return new RegExp(`\\bconst ${argument} = '([^']+)'`).exec(text)?.[1]
}

const usesIn = ({ path, text }: SourceFile): Use[] => {
  const calls = [
    ...text.matchAll(/\bsecrets\.(derive|accepted|seal|open)\(\s*([^,()]+?)\s*[,)]/g),
    ...text.matchAll(/\b(deriveKey)\(\w+, ('[^']+')\)/g),
  ]
  return calls.map(([, how = '', argument = '']) => {
    const purpose = literalOf(argument, text)
    if (purpose === undefined) throw new Error(`${path}: the purpose ${argument} of ${how} cannot be read`)
    return { path, how, purpose }
  })
}

/** What would hide a use from the scan: the secrets under another name, or a method that is not called where it is read. */
const hiddenIn = ({ path, text }: SourceFile): string[] => [
  ...[...text.matchAll(/(\w+)\??: Secrets\b/g)]
    .filter(([, name]) => name !== 'secrets')
    .map(([found]) => `${path}: ${found} is not named secrets`),
  ...[
    ...text.matchAll(/\bsecrets(: \w+ \}|\??\.(?!(?:derive|accepted|seal|open)\(|keyring\.|ts')\w+|\[)/g),
  ].map(([found]) => `${path}: ${found}`),
  ...[...text.matchAll(/(?<!\{ keyring \} )=\s*[\w.]*\.secrets\s*$/gm)].map(
    ([found]) => `${path}: ${found.trim()}`,
  ),
]

/** Every use of the master secret in the sources. Throws where one cannot be read. */
export const findSecretUses = (sources: readonly SourceFile[]): Use[] => {
  const hidden = sources.filter(({ text }) => /secrets/i.test(text)).flatMap(hiddenIn)
  if (hidden.length > 0)
    throw new Error(`these uses of the master secret are not understood:\n${hidden.join('\n')}`)
  return sources.flatMap(usesIn)
}

const fixedSecrets = (): Secrets => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-stored-formats-'))
  try {
    writeFileSync(join(folder, 'master.key'), `${fixedMasterKey.toString('base64url')}\n`)
    return loadSecrets(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')

/** The purposes with how they are used, and the hash of the key that comes out. */
export const purposeLines = (
  uses: readonly Use[],
  // A scanned purpose is any text.
  secrets: { derive(purpose: string): Buffer },
): string[] =>
  [...Map.groupBy(uses, ({ purpose }) => purpose)].map(([purpose, found]) => {
    const how = [...new Set(found.map((use) => use.how))].toSorted()
    return `key for ${purpose} (${how.join(', ')})\t${sha256(secrets.derive(purpose))}`
  })

/** Sealed once under the fixed secret, and for the caller's key `svc_test_golden`: both must open for ever. */
const sealedTexts = {
  webhook: '2Nabo0X37niETCnBTawPhbpM8g9wuzAGOEPf8T9Tesmiaw',
  caller: '93Po5GCy9ZN_Z6kWf_nVD_3-HphgOGvIt-G0gTD9aPbuuQ',
} as const

const agentId = 'agt_aa01k2golden0000000000000'
const personId = 'per_aa01k2golden0000000000000'
const memberId = 'mem_aa01k2golden0000000000000'
const sessionId = 'ses_aa01k2golden0000000000000'
const purchaseId = 'pur_aa01k2golden00000000000000000000000000'
const mode = 'live' as const
const at = new Date('2026-01-01T00:00:00.000Z')
const network = {
  name: 'base-sepolia',
  caip2: 'eip155:84532',
  chainId: 84_532,
  isTest: true,
  asset: `0x${'0a'.repeat(20)}`,
  assetName: 'USDC',
  assetVersion: '2',
  payTo: `0x${'0b'.repeat(20)}`,
}

/** Tokens from before the cell tags, made with the fixed secret: a view token is valid for 30 days. */
const untaggedTokens = {
  view: 'vt_WyJhZ3RfYWEwMWsyZ29sZGVuMDAwMDAwMDAwMDAwMCIsImxpdmUiLCJzZXNfYWEwMWsyZ29sZGVuMDAwMDAwMDAwMDAwMCIsMTc2NzIyNTYwMF0.-n6I6xykN8AdsJVwjxmJdw',
  task: 'tkt_WyJhZ3RfYWEwMWsyZ29sZGVuMDAwMDAwMDAwMDAwMCIsImxpdmUiLCJ0c2tfZ29sZGVuIiwibm9uY2UiLDE3NjcyMjU2MDAwMDBd.J6PkFAiPPpBJv59zAQ-t1Q',
} as const

/** Codes of people and of work, which other rows and other parties hold on to. */
const codesOf = (secrets: Secrets): Record<string, string> => {
  const ctx: Pick<Ctx, 'secrets'> = { secrets }
  const signing = { secrets, ids: { cell: 'aa' } }
  const worker = secrets.derive('worker')
  const terms = { subject: 'wf_golden', amountUsdcMicro: 100_000n, network }
  return {
    'pairwise subject': pairwiseSubject(secrets.derive('pairwise'), agentId, personId),
    'worker of the ledger': payeeRefOf(worker, personId),
    'worker as a buyer sees them': workerRefOf(worker, { agentId, mode, personId }),
    'challenge of an assignment': sessionChallengeOf(worker, 'asg_golden'),
    'challenge of an attention check': attentionChallenge(secrets.accepted('attention')[0], {
      agentId,
      mode,
      memberId,
    }),
    'hash of the human of an outside proof': humanHashOf(
      secrets.derive('external-codes'),
      'https://login.example.com\u0000golden',
    ).toString('base64url'),
    'signal of an external proof': signalOf(secrets.accepted('external')[0], personId),
    nullifier: nullifierOf(secrets.derive('nullifier'), [agentId, mode, 'vote', personId]).toString('hex'),
    'view token': makeViewToken(signing, { agentId, mode, sessionId, viewedAt: at }),
    'task token': makeTaskToken(signing, {
      agentId,
      mode,
      taskId: 'tsk_golden',
      nonce: 'nonce',
      expiresAt: at,
    }),
    'visitor token': makeVisitorToken(signing, { agentId, mode, memberId, expiresAt: at }),
    'view token without a tag': JSON.stringify(readViewToken(signing, untaggedTokens.view)),
    'task token without a tag': JSON.stringify(readTaskToken(signing, untaggedTokens.task)),
    'payout account':
      payoutAccountOf(secrets.derive('payout-account'), 'DE89 3704 0044 0532 0130 00')?.hash.toString(
        'hex',
      ) ?? '',
    'purchase id': makePurchaseId(secrets.accepted('purchase'), terms, { id: purchaseId, at }),
    'network tag': networkTagOf(ctx as Ctx, readClientAddress('192.0.2.1')),
  }
}

/** Names of accounts, hashes of stored lines, headers and cookies. */
const namesOf = (): Record<string, string> => {
  const signed = signedHeadersOf([signingKeyOf(`whsec_${Buffer.alloc(24, 3).toString('base64')}`)], {
    id: 'evt_golden',
    at,
    body: '{}',
  })
  const entry = {
    seq: 1n,
    at,
    operatorId: 'opr_golden',
    action: 'key.rotate',
    target: 'live',
    details: { a: 1 },
  }
  return {
    'hash of an audit line': hashEntry(initialHash, entry).toString('hex'),
    'account of a partner user': userAccountOf(agentId, 'user-1'),
    'account of a held payout': holdAccountOf('pay_golden'),
    'account of vesting Stars': vestingAccountOf('wrk_golden'),
    'account of a free month': freeAccountOf('2026-01'),
    'conversion without a key': claimOf({ userRef: 'user-1', points: 5, key: undefined }),
    'conversion with a key': claimOf({ userRef: 'user-1', points: 5, key: 'k' }),
    'agent of the platform, live': platformAgentId({ CELL: 'aa' }, 'live'),
    'agent of the platform, test': platformAgentId({ CELL: 'aa' }, 'test'),
    'hash of a browser key': browserHashOf('agt_golden', 'live', {
      kty: 'EC',
      crv: 'P-256',
      x: 'x',
      y: 'y',
    }).toString('hex'),
    'record key': recordKey(Buffer.alloc(32, 1), sessionId, 0).toString('hex'),
    'pointing probe': JSON.stringify(expectedAnswerOf({ kind: 'point', seed: 'golden' })),
    'choosing probe': JSON.stringify(expectedAnswerOf({ kind: 'choose', seed: 'golden' })),
    'simulated telemetry': JSON.stringify(singleChunkTelemetry(Buffer.alloc(16, 1), { a: 1 })),
    'journal id': typedId('statuslist+jwt', { a: 1 }),
    'journal hash': payloadHash({ b: 1, a: 2 }),
    'purchase secret hash': secretHashOf(purchaseId).toString('hex'),
    'purchase recovery message': JSON.stringify(recoveryMessage('https://pohf.example', purchaseId, '1')),
    'cookie of a person': loginCookie('token'),
    'no cookie': expiredLoginCookie,
    ...Object.fromEntries(Object.entries(signed).map(([name, value]) => [`webhook header ${name}`, value])),
  }
}

/** Every value by its name, one for each line. */
export const storedFormats = (): string[] => {
  const secrets = fixedSecrets()
  const values = {
    ...codesOf(secrets),
    ...namesOf(),
    'journal key of an act': actKeyOf(
      { secrets },
      { agentId: 'agt_golden', mode: 'live', act: 'purchase', reference: 'pur_golden' },
    ),
    'journal key of a payment': journalKeyOf({ secrets }, 'payment', 'agt_golden agentpay:visa:1 ses_golden'),
    'sealed text of a webhook': secrets.open('webhook', sealedTexts.webhook),
    'sealed text of a caller': openFor('svc_test_golden', sealedTexts.caller),
  }
  return [
    ...purposeLines(findSecretUses(readSources()), secrets),
    ...Object.entries(values).map(([name, value]) => `${name}\t${value}`),
  ].toSorted()
}
