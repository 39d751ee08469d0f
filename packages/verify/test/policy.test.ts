import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  credentialKinds,
  verifyCredential,
  type ApprovalPolicy,
  type CredentialKind,
  type Policy,
  type Reason,
} from '../src/index.ts'
import { makeIssuer, organization, origin } from './issuer.ts'

const issuer = makeIssuer()
const { entries, inputs } = JSON.parse(
  readFileSync(new URL('../../server/src/credentials/forging/prices.json', import.meta.url), 'utf8'),
)
const forging = issuer.forgingToken({ entries, inputs })
const policy: Policy = { kinds: credentialKinds, minAssurance: 'low', minQuality: 0, status: 'skip' }

/** The claims of a credential with these roots of the published table. */
const withRoots = (...kinds: readonly string[]) => ({
  roots: kinds.map((kind) => ({
    kind,
    class: String(inputs.roots[kind]?.class),
    counted: inputs.roots[kind]?.counted ?? false,
    fresh: false,
    at: 1,
    ...(kind === 'organization' ? { issuer: organization } : {}),
  })),
})
const agent = 'agt_aa0123456789'

const judge = async (
  kind: CredentialKind,
  claims: Record<string, unknown>,
  more: Partial<Policy>,
): Promise<Reason | 'accepted'> => {
  const result = await verifyCredential(issuer.mint(kind, claims), {
    issuer: origin,
    jwks: issuer.jwks,
    forging,
    fetch: async () => Promise.reject(new Error('no network in this test')),
    policy: { ...policy, ...more },
  })
  return result.ok ? 'accepted' : result.reason
}

type Case = readonly [
  name: string,
  kind: CredentialKind,
  claims: Record<string, unknown>,
  more: Partial<Policy>,
  expected: Reason | 'accepted',
]

const people = { minForgingHuman: 'F2' } as const
const perDay = (limit: number) => ({ limit: { perHumanDay: limit } })
const pinned = { pinnedAgents: [agent] }
const listed = { trustedIssuers: [organization] }
const prices: readonly Case[] = [
  ['a view at network, one vote each', 'view', withRoots('network'), people, 'not_counted'],
  ['personhood by World ID, one vote each', 'personhood', withRoots('world_id'), people, 'accepted'],
  [
    'the same, for an airdrop',
    'personhood',
    withRoots('world_id'),
    { minForgingHuman: 'F4' },
    'forging_too_cheap_human',
  ],
  [
    'personhood by a vendor, for an airdrop',
    'personhood',
    withRoots('vendor'),
    { minForgingHuman: 'F4' },
    'accepted',
  ],
  [
    'a view by a vendor, one a day of an agent that is pinned',
    'view',
    { ...withRoots('vendor'), ...perDay(1) },
    { minForging: 'F2', ...pinned },
    'accepted',
  ],
  [
    'the same of an agent that is not pinned',
    'view',
    { ...withRoots('vendor'), ...perDay(1) },
    { minForging: 'F2' },
    'forging_too_cheap',
  ],
  [
    'the same without a limit',
    'view',
    withRoots('vendor'),
    { minForging: 'F2', ...pinned },
    'forging_too_cheap',
  ],
  [
    'the same with ten agents that are pinned',
    'view',
    { ...withRoots('vendor'), ...perDay(1) },
    { minForging: 'F2', pinnedAgents: [agent, ...Array.from({ length: 9 }, (_, n) => `agt_${n}`)] },
    'forging_too_cheap',
  ],
  [
    'a view by an organization that is not listed',
    'view',
    withRoots('organization'),
    { ...people, trustedIssuers: ['https://login.other.example'] },
    'forging_too_cheap_human',
  ],
  ['the same for acts', 'view', withRoots('organization'), { minForging: 'F0' }, 'forging_too_cheap'],
  [
    'a view by an organization that is listed',
    'view',
    withRoots('organization'),
    { minForging: 'F4', minForgingHuman: 'F4', ...listed },
    'accepted',
  ],
  [
    'a root that this table does not know',
    'view',
    withRoots('moon'),
    { minForging: 'F1' },
    'forging_too_cheap',
  ],
  ['the same, for people', 'view', withRoots('moon'), people, 'not_counted'],
  [
    'both floors, of which people is missed',
    'personhood',
    withRoots('world_id'),
    { minForging: 'F0', minForgingHuman: 'F3' },
    'forging_too_cheap_human',
  ],
  [
    'both floors, of which acts is missed',
    'personhood',
    withRoots('world_id'),
    { minForging: 'F1', minForgingHuman: 'F2' },
    'forging_too_cheap',
  ],
  ['two roots that add', 'view', withRoots('world_id', 'sms'), { minForgingHuman: 'F3' }, 'accepted'],
  ['one of them', 'view', withRoots('world_id'), { minForgingHuman: 'F3' }, 'forging_too_cheap_human'],
]

const approval: ApprovalPolicy = {
  enrolledBy: agent,
  minApprovers: 2,
  keyBound: true,
  minKeyAgeDays: 1,
  minShownSeconds: 10,
}
const { approval: decision, approver } = issuer.claimsOf('approval') as Record<
  'approval' | 'approver',
  Record<string, unknown>
>
const by = (more: object) => ({ approver: { ...approver, ...more } })
const shown = (more: object) => ({ approval: { ...decision, ...more } })
const nobody = { keyBound: false, minApprovers: 1, minKeyAgeDays: 0, minShownSeconds: 0 }
const approvals: readonly Case[] = [
  ['approved by two, key bound to its device, 34 s', 'approval', {}, { approval }, 'accepted'],
  ['a denial beside two approvals', 'approval', shown({ decision: 'deny' }), { approval }, 'not_approved'],
  ['by a synced passkey', 'approval', by({ key: 'synced' }), { approval }, 'key_not_bound'],
  ['by a passkey of an unknown kind', 'approval', by({ key: 'unknown' }), { approval }, 'key_not_bound'],
  ['for another agent', 'approval', { agent: 'agt_evil' }, { approval }, 'not_enrolled_by'],
  [
    'for another agent, enrolled by a person of the same id',
    'approval',
    { agent: 'agt_evil', ...by({ enrolled: { by: agent, way: 'in_console', at: 1 } }) },
    { approval },
    'not_enrolled_by',
  ],
  [
    'by one, where two were configured',
    'approval',
    by({ decided: 1, needed: 2 }),
    { approval },
    'too_few_approvers',
  ],
  [
    'by two, where three were configured',
    'approval',
    by({ decided: 2, needed: 3 }),
    { approval },
    'accepted',
  ],
  ['by a key of this morning', 'approval', by({ key_age: 3_600 }), { approval }, 'key_too_new'],
  ['shown for 9 s', 'approval', shown({ shown_seconds: 9 }), { approval }, 'shown_too_short'],
  [
    'shown for a time that nobody counted',
    'approval',
    shown({ shown_seconds: undefined }),
    { approval },
    'shown_too_short',
  ],
  [
    'the same where no time is demanded',
    'approval',
    { ...shown({ shown_seconds: undefined }), ...by({ key: 'synced', decided: 1, key_age: 0 }) },
    { approval: { ...approval, ...nobody } },
    'accepted',
  ],
  ['no policy of approvals and no price', 'approval', {}, {}, 'accepted'],
  [
    'a price of acts without a policy of approvals',
    'approval',
    {},
    { minForging: 'F0' },
    'approval_policy_missing',
  ],
  [
    'a price of people without a policy of approvals',
    'approval',
    { ...withRoots('vendor') },
    { minForgingHuman: 'F0', ...listed },
    'approval_policy_missing',
  ],
  [
    'a price and a policy of approvals, which decides',
    'approval',
    {},
    { minForging: 'F4', minForgingHuman: 'F4', approval },
    'accepted',
  ],
  ['a view under a policy of approvals', 'view', {}, { approval }, 'accepted'],
  ['no approver', 'approval', { approver: undefined }, { approval }, 'claims_malformed'],
  ['a count of another form', 'approval', by({ decided: '2' }), { approval }, 'claims_malformed'],
  ['an age of another form', 'approval', by({ key_age: -1 }), { approval }, 'claims_malformed'],
  ['a time of another form', 'approval', shown({ shown_seconds: 'long' }), { approval }, 'claims_malformed'],
]

const levels: readonly Case[] = [
  [
    'an organization that is listed reaches substantial',
    'view',
    withRoots('organization'),
    { minAssurance: 'substantial', ...listed },
    'accepted',
  ],
  [
    'an organization that is listed does not reach high',
    'view',
    withRoots('organization'),
    { minAssurance: 'high', ...listed },
    'assurance_too_low',
  ],
  [
    'an organization that is not listed stays low',
    'view',
    withRoots('organization'),
    { minAssurance: 'substantial' },
    'assurance_too_low',
  ],
  [
    'the listed name on another root',
    'view',
    { roots: [{ ...withRoots('vendor').roots[0], issuer: organization }] },
    { minAssurance: 'substantial', ...listed },
    'assurance_too_low',
  ],
  [
    'the listed name on an organization of another class',
    'view',
    { roots: [{ ...withRoots('organization').roots[0], class: 'document' }] },
    { minAssurance: 'substantial', ...listed },
    'assurance_too_low',
  ],
  [
    'a stronger level stays',
    'view',
    { ...withRoots('vendor', 'organization'), assurance: 'high' },
    { minAssurance: 'high', ...listed },
    'accepted',
  ],
]

const versions: readonly Case[] = [
  [
    'a credential of version 2',
    'view',
    { vct: `${origin}/credentials/view/v2`, evidence: 'in another form' },
    {},
    'unknown_version',
  ],
  ['one of version 0', 'view', { vct: `${origin}/credentials/view/v0` }, {}, 'unknown_version'],
  ['one of no version', 'view', { vct: `${origin}/credentials/view` }, {}, 'wrong_kind'],
  ['one of another kind', 'view', { vct: `${origin}/credentials/work/v1` }, {}, 'wrong_kind'],
]

for (const [name, kind, claims, more, expected] of [...prices, ...approvals, ...levels, ...versions])
  test(`policy: ${name} is ${expected}`, async () => {
    assert.equal(await judge(kind, claims, more), expected)
  })

test('a listed organization needs no table, and an approval none', async () => {
  const offline = {
    issuer: origin,
    jwks: issuer.jwks,
    fetch: async () => Promise.reject(new Error('no network in this test')),
  }
  for (const [token, more] of [
    [issuer.mint('view', withRoots('organization')), { minForging: 'F4', ...listed }],
    [issuer.mint('approval'), { minForging: 'F4', approval }],
  ] as const) {
    const result = await verifyCredential(token, { ...offline, policy: { ...policy, ...more } })
    assert.ok(result.ok, JSON.stringify(result))
  }
})

test('a demand that is misspelt or of another form throws, and the error names it', async () => {
  const misuses: readonly (readonly [RegExp, Record<string, unknown>])[] = [
    [/policy\.minForgingHumans is unknown; there are .*minForgingHuman/, { minForgingHumans: 'F2' }],
    [/policy\.trustedIssuer is unknown/, { trustedIssuer: organization }],
    [/policy\.toString is unknown/, { toString: 1 }],
    [/policy\.minForgingHuman must be/, { minForgingHuman: 'F9' }],
    [/policy\.trustedIssuers must be/, { trustedIssuers: organization }],
    [/policy\.trustedIssuers must be/, { trustedIssuers: [''] }],
    [/policy\.pinnedAgents must be/, { pinnedAgents: Array.from({ length: 101 }, () => agent) }],
    [/policy\.approval must be/, { approval: true }],
    [/policy\.approval\.minApprover is unknown/, { approval: { ...approval, minApprover: 1 } }],
    [/policy\.approval\.enrolledBy must be/, { approval: { ...approval, enrolledBy: undefined } }],
    [/policy\.approval\.minApprovers must be/, { approval: { ...approval, minApprovers: 0 } }],
    [/policy\.approval\.keyBound must be/, { approval: { ...approval, keyBound: 'yes' } }],
    [/policy\.approval\.minKeyAgeDays must be/, { approval: { ...approval, minKeyAgeDays: -1 } }],
    [/policy\.approval\.minShownSeconds must be/, { approval: { ...approval, minShownSeconds: Number.NaN } }],
  ]
  for (const [message, more] of misuses)
    await assert.rejects(judge('view', {}, more), (error) => {
      assert.ok(error instanceof TypeError)
      assert.match(error.message, message)
      return true
    })
})
