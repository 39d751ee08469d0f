// Every attack on an approval that a test makes, with who gains by it and the rule that refuses it. The tests take the rule from
// here (run-attack.ts), and docs/evidence/approval-attacks.md is written from here by npm run generate.

const agent = 'the agent that asks'
const otherAgent = 'another agent'
const approver = 'an approver who does not read'
const thief = 'a thief of a login'
const insider = 'an approver who was not asked'
const program = 'the program that acts'
const service = 'a service that lies'

type Row = readonly [attack: string, gain: string, rule: string]

/** By the file of their test, and by id. */
const attacksByFile = {
  'packages/server/src/approvals/administration/administration.test.ts': {
    'key-reads-invitation': ['A key asks for the link by which an approver enrols', agent, 'forbidden'],
    'key-names-own-member': [
      'A key names a person as approver whom it invited itself',
      agent,
      'approval_refused approver_unknown',
    ],
    'retired-type': [
      'A request of a retired type lowers the strictest policy',
      agent,
      'approval_refused policy_lowered',
    ],
    'group-with-stranger': [
      'A group has an approver of another agent',
      otherAgent,
      'approval_refused approver_unknown',
    ],
  },
  'packages/server/src/approvals/requests/create.test.ts': {
    'changed-argument': [
      'An argument changes under the reference of a request that people were asked about',
      agent,
      'approval_conflict request_id_reused',
    ],
    'reordered-keys': [
      'The keys of the action are in another order. This is no attack: RFC 8785 makes both the same bytes',
      'nobody',
      'equal hash, same approval',
    ],
    'duplicated-keys': [
      'A key appears twice, also with escapes and in a nested object',
      agent,
      'invalid_json duplicate_key',
    ],
    'number-forms': [
      'Numbers that readers round: 9007199254740992, 0.1, -0',
      agent,
      'approval_refused number',
    ],
    'altered-numbers': [
      'Numbers that JSON.parse makes whole or finite: 9007199254740990.6, 0.99999999999999999, 9007199254740993, 1e400',
      agent,
      'invalid_json number_altered',
    ],
    'long-value': [
      'An action longer than 32 KB or with more than 500 values',
      agent,
      'approval_refused size',
    ],
    'deep-action': ['An action of 9 levels', agent, 'approval_refused depth'],
    'look-alike-field': [
      'A second field whose name looks the same, with a Cyrillic letter',
      agent,
      'approval_refused schema',
    ],
    'policy-lowered': [
      'A request asks for fewer people, less time, any passkey or no delay',
      agent,
      'approval_refused policy_lowered',
    ],
    'unregistered-type': [
      'A request avoids the policy of a type by a name that nobody registered',
      agent,
      'approval_refused policy_lowered',
    ],
    'unknown-approver': [
      'A request names a person of another agent, one who was removed, or a simulated one in live mode',
      agent,
      'approval_refused approver_unknown',
    ],
    'approver-named-twice': [
      'A quorum of two is filled by one approver who is named twice',
      agent,
      'approval_refused approver_repeated',
    ],
    'endless-approval': [
      'A request can be decided or consumed at any later time',
      agent,
      'approval_refused decide_by',
    ],
  },
  'packages/server/src/approvals/requests/attacks.test.ts': {
    'key-enrols-approver': ['The requesting key invites an approver', agent, 'forbidden'],
    'key-registers-type': ['The requesting key registers a type with an easy policy', agent, 'forbidden'],
    'key-writes-group': ['The requesting key writes a group', agent, 'forbidden'],
    'key-lifts-hourly-limit': ['The requesting key raises the limit of decisions', agent, 'forbidden'],
    'owner-of-yesterday': [
      'A sign-in of an owner that is older than an hour invites an approver',
      thief,
      'sign_in_again',
    ],
    'lone-surrogate': [
      'A lone surrogate in a value or a key, which programs write differently',
      agent,
      'approval_refused surrogate',
    ],
    'nul-character': ['The character NUL, at which some programs end a text', agent, 'approval_refused nul'],
    'moved-digits': [
      'A Hebrew hyphen, apostrophe or letter in an account, an amount or a date moves the digits that people see',
      agent,
      'approval_refused value_not_permitted',
    ],
    'struck-out-digits': [
      'Combining marks strike out digits or make others of them',
      agent,
      'approval_refused value_not_permitted',
    ],
    'imitated-characters': [
      'Mathematical letters, circled digits or Roman numerals stand for letters and digits',
      agent,
      'approval_refused value_not_permitted',
    ],
    'stored-value': [
      'A stored approval has a value that a request could not have, and a person approves it',
      'somebody with the database',
      'approval_refused value_not_permitted',
    ],
    'look-alike-separator': [
      'An amount with a look-alike of the comma is approved by the view of the one with a comma',
      agent,
      'approval_refused view_differs',
    ],
    'look-alike-word': [
      'A recipient wholly of Cyrillic letters is approved by the view of the name that it looks like',
      agent,
      'approval_refused view_differs',
    ],
    'bidi-text': [
      'A text with a bidi control is approved by the view that it pretends to be',
      agent,
      'approval_refused view_differs',
    ],
    'look-alike-value': [
      'A recipient with a Cyrillic letter is approved by the view of the name that it looks like',
      agent,
      'approval_refused view_differs',
    ],
    'changed-in-database': [
      'The stored envelope is changed in the database before people decide',
      'somebody with the database',
      'internal_error',
    ],
    'changed-before-consume': [
      'The stored envelope is changed in the database after people decided',
      'somebody with the database',
      'internal_error',
    ],
    'limit-in-parallel': [
      'Twenty decisions of one person at once, to pass the limit of an hour',
      approver,
      'approval_refused too_many_decisions',
    ],
  },
  'packages/server/src/approvals/requests/consume.test.ts': {
    'consumed-twice': [
      'One approval is consumed 100 times at once; 99 are refused',
      program,
      'approval_conflict consumed',
    ],
    'other-audience': [
      'The requester, a stranger or the other mode consumes what is for another agent',
      otherAgent,
      'not_found',
    ],
    'test-key-for-live': ['A test key of the same account consumes a live approval', agent, 'not_found'],
    'equal-action-other-request': [
      'An approval is consumed with the hash of an equal action with another requestId',
      program,
      'approval_conflict envelope_hash',
    ],
    'consume-undecided': [
      'An approval that waits for people is consumed',
      program,
      'approval_conflict pending',
    ],
    'consume-denied': ['An approval that a person denied is consumed', program, 'approval_conflict denied'],
    'consume-in-delay': ['An approval is consumed within its delay', program, 'approval_conflict delay'],
    'consume-stale': [
      'An approval is consumed after its deadline, before and after the job that ends it',
      program,
      'approval_conflict expired',
    ],
    'consume-known-bad': ['A known-bad request that somebody approved is consumed', agent, 'not_found'],
  },
  'packages/server/src/approvals/decisions/attacks.test.ts': {
    'other-approver': ['Another approver of the agent decides', insider, 'not_found'],
    'challenge-of-other-approver': [
      'One of two approvers uses the challenge of the other',
      insider,
      'approval_refused challenge_unknown',
    ],
    'passkey-of-other-person': [
      'The passkey of another approver signs the right challenge',
      insider,
      'passkey_refused',
    ],
    'unregistered-passkey': ['A passkey that nobody registered signs', thief, 'passkey_refused'],
    'login-alone': ['A login without a passkey decides', thief, 'passkey_refused'],
    'no-login': ['Somebody decides without a login', thief, 'sign_in_required'],
    'other-site': ['A page of another site decides with the cookie', thief, 'forbidden'],
    'key-as-approver': ['The requesting key decides', agent, 'sign_in_required'],
    'no-user-verification': ['A passkey signs without checking who uses it', thief, 'passkey_refused'],
    'other-origin': ['A passkey signs on the page of another site', thief, 'passkey_refused'],
    'denial-as-approval': [
      'The signature of a denial, of another approval or of an earlier challenge approves',
      agent,
      'passkey_refused',
    ],
    'stale-challenge': [
      'A challenge is used after a newer one replaced it',
      thief,
      'approval_refused challenge_unknown',
    ],
    'expired-challenge': [
      'A challenge is used after its five minutes',
      thief,
      'approval_refused challenge_unknown',
    ],
    'failed-challenge': [
      'A challenge is used again after a failed attempt',
      thief,
      'approval_refused challenge_unknown',
    ],
    'replayed-decision': ['A decision is sent again', agent, 'approval_refused challenge_unknown'],
    'replayed-assertion': ['The assertion of one approval is sent for another', agent, 'passkey_refused'],
    'copied-passkey': ['A passkey whose counter does not move signs', thief, 'passkey_refused'],
    'late-decision': ['A person decides after the deadline', approver, 'approval_conflict too_late'],
    'decision-after-the-end': [
      'A person decides what was consumed or denied',
      approver,
      'approval_conflict not_pending',
    ],
    'two-approvers-one-person': [
      'One person enrols as two approvers of an agent',
      approver,
      'member_not_enrolled duplicate',
    ],
    'removed-approver': ['An approver decides after an owner removed them', insider, 'not_found'],
    'withdrawn-approver': [
      'An approver decides after they withdrew their consent',
      insider,
      'approval_refused approver_not_enrolled',
    ],
    'left-company': [
      'An approver decides after their company has withdrawn its word for them',
      insider,
      'approval_refused company_withdrawn',
    ],
    'added-passkey': [
      'A passkey that was added after the request approves it',
      thief,
      'approval_refused passkey_too_new',
    ],
  },
  'packages/server/src/approvals/decisions/decide.test.ts': {
    'quorum-by-one-person': [
      'One person approves twice where two people are needed',
      approver,
      'approval_conflict already_decided',
    ],
  },
  'packages/server/src/approvals/decisions/recording-attacks.test.ts': {
    'view-of-other-renderer': [
      'A decision with the view hash of another renderer or of another action',
      agent,
      'approval_refused view_differs',
    ],
    'no-attention': ['An approval without a recording', approver, 'approval_refused recording_missing'],
    'attention-of-another': [
      'An approval with the recording of another person, approval, kind or agent',
      approver,
      'approval_refused recording_of_other_act',
    ],
    'under-a-script': ['A script approves', approver, 'session_rejected flag_automation_env'],
    'page-in-background': [
      'A page that nobody sees is recorded and approved',
      approver,
      'session_rejected focus_low',
    ],
    'recording-as-credential': [
      'The requester turns the recording of a decision into a credential of its own',
      agent,
      'session_rejected session_of_approval',
    ],
    'too-fast': ['An approval in less than the seconds of the policy', approver, 'approval_refused too_fast'],
    'old-recording': [
      'An approval with a recording that ended more than an hour ago',
      approver,
      'approval_refused recording_too_old',
    ],
    'too-many-decisions': [
      'More approvals in an hour than the team allows',
      approver,
      'approval_refused too_many_decisions',
    ],
    'synced-passkey': [
      'A synced passkey, or one without attestation, where hardware is required',
      thief,
      'approval_refused passkey_not_device_bound',
    ],
  },
  'packages/verify/test/approvals/verify-approval.test.ts': {
    'executor-other-amount': ['The program acts on another amount', agent, 'wrong_action'],
    'executor-number-for-text': ['The program acts on a number in place of a text', agent, 'wrong_action'],
    'executor-other-audience': [
      'An approval for another program is shown to this one',
      otherAgent,
      'wrong_audience',
    ],
    'executor-other-request': [
      'Credentials of an equal action with another requestId',
      agent,
      'wrong_envelope',
    ],
    'executor-approvers-of-credential': [
      'Approvers are taken from the credential: a person whom the program does not accept',
      agent,
      'not_an_approver',
    ],
    'executor-quorum-of-envelope': [
      'The quorum is taken from the envelope: one credential where the program wants two',
      agent,
      'quorum_not_reached',
    ],
    'executor-credential-twice': ['The same credential twice for a quorum of two', agent, 'same_approver'],
    'executor-person-twice': ['One person enrolled as two approvers', agent, 'same_person'],
    'executor-denial-hidden': ['A denial beside enough approvals', agent, 'denied'],
    'executor-unknown-view': ['A credential of a renderer that is unknown', service, 'unknown_view'],
    'executor-other-view': ['A credential over another view', service, 'wrong_view'],
    'executor-test-credential': ['A test credential for a live tool', agent, 'test_credential'],
    'executor-other-issuer': ['A credential that a stranger signed', agent, 'unknown_key'],
    'executor-stale': ['Credentials after the time to use them', agent, 'consume_by_past'],
  },
  'packages/sdk/test/approvals/guard-lies.test.ts': {
    'guard-denial-called-approved': ['The service calls a denial approved', service, 'denied'],
    'guard-other-request': [
      'The service answers with the approval of another request',
      service,
      'wrong_answer',
    ],
    'guard-consumed-before': ['The service answers with a consumed approval', service, 'not_consumed'],
    'guard-refused-value': [
      'A tool is called with digits that people would see moved, struck out or imitated',
      agent,
      'value_not_permitted',
    ],
    'guard-polluted-options': [
      'Object.prototype of the caller says that test approvals pass',
      'a dependency of the program that acts',
      'test_credential',
    ],
  },
} as const satisfies Record<string, Record<string, Row>>

type IdsOf<Group> = Group extends unknown ? keyof Group & string : never
export type AttackId = IdsOf<(typeof attacksByFile)[keyof typeof attacksByFile]>

export type Attack = {
  readonly id: string
  readonly attack: string
  readonly gain: string
  readonly rule: string
  /** Of its test, below the root of the repository. */
  readonly file: string
}

export const attacks: readonly Attack[] = Object.entries(attacksByFile).flatMap(([file, rows]) =>
  Object.entries<Row>(rows).map(([id, [attack, gain, rule]]) => ({ id, attack, gain, rule, file })),
)
