import type { RefusalsBelow } from '../shared/person/messages.ts'
import {
  failureTexts,
  reasonTexts,
  signInTexts,
  texts,
  type RecordingReason,
} from '../shared/person/texts.ts'

/** Every text of the approver's pages. `{n}` and the like are filled in; `one` is for one of what `n` counts. */
export const english = {
  ...texts,
  name: 'Approvals',
  all: 'All requests',
  you: 'you',

  signIn: {
    ...signInTexts,
    title: 'Requests that wait for your decision.',
    lead: 'An agent may do some things only after a person has agreed. Here you see exactly what it wants to do, and you decide.',
    steps: [
      'You read what the agent wants to do. We show every field; the agent cannot style or hide anything.',
      'You answer one short question. It shows that a person is looking.',
      'You approve or deny with your passkey. No answer counts as no.',
    ],
  },

  firstTime: {
    title: 'No passkey yet?',
    lead: 'Open the link in your invitation mail. There you make your passkey, and its last step leads back here. If you have no such mail or its link no longer works, ask the person who wants you to approve to invite you again.',
  },
  otherPasskey: 'Sign in with another passkey',
  notYours: {
    title: 'What can be the reason, and what to do',
    reasons: [
      'The request is for another passkey than the one you are signed in with. Sign in with that one.',
      'You are no longer an approver of this agent. Ask the person who invited you.',
      'The address is incomplete, or the request was deleted. Open the link in the mail again, or look at all requests.',
    ],
  },

  list: {
    waiting: '{n} requests wait for you.',
    waitingOne: 'One request waits for you.',
    none: 'Nothing waits for you.',
    noneLead: 'When an agent needs your decision, you get a mail, and the request appears here.',
    noneExpected:
      'Did you expect one? Then somebody else has decided it, its time is over, or it is for another passkey.',
    open: 'Open it',
    more: 'More requests wait. They appear here as you decide these.',
    from: '{agent} asks',
    due: 'decide by {time}',
    decidedTitle: 'Decided and past',
    unregistered: 'An action of type {type}',
  },
  states: {
    approve: 'you approved',
    deny: 'you denied',
    pending: 'waiting',
    approved: 'approved',
    denied: 'denied',
    expired: 'expired',
    consumed: 'done',
  },

  figures: {
    title: 'Your own figures',
    lead: 'Some requests are tests that should be denied. The owners of an agent see how each of its tests was decided and the figures of all its approvers together. They see the figures of each person only if they have turned on names in their report.',
    decisions: 'Decisions',
    decisionsOf: '{n}: {approved} approved, {denied} denied',
    caught: 'Tests you denied',
    share: '{n} of {of}',
    none: 'none yet',
    fast: 'Faster than reading',
    time: 'Usual time in view',
    knownBad: 'Tests you have decided',
  },

  asks: '{agent} asks you to approve',
  youAreOnly: 'You are {name}, the only approver.',
  youAreOneOf: 'You are {name}, one of {n} approvers. {quorum} of them must approve.',
  question: '{title}?',
  questionUnregistered: 'Approve an action of type {type}?',
  refused:
    'The field {label} contains a character that can be mistaken for another. The service refuses such requests, so this one cannot be approved. Tell the person who runs this service.',
  unregistered:
    'Nobody at your organisation has described this kind of action to us. We show every field under the name that the agent uses, and the strictest rules apply.',
  decideBy: 'Decide by {time}',
  left: '{time} left. No answer counts as no.',
  slowDown: 'Your last decisions were faster than it takes to read them. Take your time with this one.',
  retryAt:
    'You have approved many requests within an hour. You can approve again at {time}. You can deny at any time.',

  critical: 'What matters most',
  allFields: 'Every field of this action',
  allFieldsLead: 'Shown by us from the signed request. The agent cannot style or hide anything here.',
  type: 'Type',
  requestId: 'Reference',
  audience: 'Carried out by',
  audienceSame: 'the agent {id}',
  until: 'May be used until',
  quorum: 'Needs',
  quorumOf: '{n} approvals',
  quorumOne: 'your approval',
  delay: 'Then waits',
  delayFor: '{time}. Until then every approver can still deny it.',
  passkey: 'Passkey',
  passkeyDeviceBound: 'Only one in hardware that does not copy it, such as a security key',
  agentTitle: 'Title by the agent',
  agentWords: 'Reason by the agent',
  noWords: 'none',
  new: 'New: you have not approved this value before',
  kinds: {
    number: 'a number',
    boolean: 'true or false',
    null: 'no value (null)',
    list: 'an empty list',
    object: 'an empty object',
    absent: 'Not in this request',
    empty: 'Empty text',
  },
  notes: {
    not_permitted: 'Contains a character that no value may have. It is shown by its code point.',
    hidden_characters: 'Contains characters that cannot be seen or that move others. They are marked.',
    mixed_scripts: 'Mixes letters of different scripts that look alike.',
    look_alikes: 'Contains characters that look like other letters, digits or separators.',
    other_digits: 'Contains digits or numbers other than 0 to 9.',
    right_to_left:
      'Contains letters that are written from right to left. They are shown from left to right, in the order that is signed.',
    outer_spaces: 'Begins or ends with spaces.',
  },
  longValue: 'Long value of {label}',
  longRead: 'Scroll to the end of this value before you approve.',
  longDone: 'Read to the end.',
  json: 'The request as signed (JSON)',
  jsonLabel: 'Request as JSON',
  hash: 'Action hash',
  hashWhy: 'If one character changes, this approval is void.',

  recorded: {
    title: 'What is recorded',
    list: [
      'That this page was in view, for how long, how far you scrolled, how you moved and when you pressed keys, but never which ones',
      'Your answer to the question, your decision and your words',
      'A signature by your passkey over exactly what you saw',
    ],
    not: 'Not recorded: your fingerprint or face, which never leave your device, and anything you do elsewhere. The recording began when you opened this request; it ends when you decide or leave. Some requests are tests that should be denied.',
    figures: 'Your own figures show how you did.',
    opening: 'The recording is starting …',
    lost: 'The connection is lost. We keep trying; nothing you did is gone.',
    stopped: 'The recording stopped. {why} You can still deny. To approve, start it again.',
    restart: 'Start the recording again',
  },
  probe: {
    title: 'One short question',
    why: 'It shows that you are looking at {label}. You have a few seconds to answer it.',
    show: 'Show the question',
    seen: 'Seen',
    next: 'Thank you. Read the rest, then decide.',
  },

  decide: {
    approve: 'Approve',
    deny: 'Deny',
    first:
      'First answer the question beside {label}. Then confirm with your passkey: fingerprint, face or PIN.',
    refused: 'This request cannot be approved. You can deny it.',
    scroll: 'Scroll to the end of {label} first.',
    seconds: 'You can approve in {n} seconds. Please use them to read.',
    secondsOne: 'You can approve in one second.',
    confirm: 'You confirm with your passkey: fingerprint, face or PIN.',
    missedAll: 'Too many questions were missed. Start the recording again to approve, or deny.',
    waits: 'The recording is starting. You can deny already.',
    stopped: 'To approve, start the recording again. You can deny at any time.',
    why: 'Tell the agent why',
    optional: '(optional)',
    denyNow: 'Deny without words',
    denyWords: 'Deny with these words',
    steps: {
      finish: 'Ending the recording …',
      options: 'Checking the recording …',
      passkey: 'Follow the prompt on your device …',
      decide: 'Sending your decision …',
    },
    kept: 'Your recording is kept in this tab. Press the button again to continue.',
    veto: 'Deny it after all',
    vetoLead: 'It waits until {time}. Until then you can still deny it.',
  },
  unverified: {
    title: 'The recording does not show enough attention.',
    lead: 'Nothing was decided. Read the request again and answer the question, or deny.',
  },
  altered: {
    title: 'This request cannot be shown safely.',
    lead: 'What this page received does not match its hash, so nobody can be sure what an approval would cover. Nothing was decided. Tell the person who runs this service.',
    theirs: 'Hash of the service',
    ours: 'Computed here',
  },

  outcome: {
    approved: 'You approved this, {ago}.',
    denied: 'You denied this, {ago}.',
    expired: 'This request expired at {time}.',
    expiredUnused: 'This approval was not used in time.',
    consumed: 'This was approved and used.',
    othersApproved: 'Others approved this before you decided.',
    otherDenied: 'Somebody else denied this.',
    mayDo: '{agent} may do it once, until {time}.',
    mayDoAfter: '{agent} may do it once, until {time}, after {n} more people agree.',
    mayDoAfterOne: '{agent} may do it once, until {time}, after one more person agrees.',
    mayDoFrom: '{agent} may do it once, from {from} until {time}.',
    deniedLead: '{agent} has been told. It can ask again only with a new request.',
    expiredLead:
      'Nobody answered in time, and no answer counts as no. Nothing was done. If it still matters, the agent has to ask again.',
    expiredUnusedLead: 'It can no longer be used. If it still matters, the agent has to ask again.',
    consumedLead: 'The approval was used once and cannot be used again.',
    otherDeniedLead: 'Your decision is not needed any more. Nothing was done.',
    request: 'The request',
    askedBy: 'Asked by',
    action: 'Action',
    people: '{n} of {of} approvals',
    peopleStates: { approve: 'approved', deny: 'denied', none: 'waiting', over: 'no answer' },
    credential: 'Your credential',
    assurance: 'Assurance',
    inView: 'In view',
    inViewFor: '{n} seconds',
    credentialId: 'Credential',
    words: 'Your words',
    nextWaits: 'One more request waits',
    nextWaitsMany: '{n} more requests wait',
    nextDue: '{title}, decide by {time}',
  },
  assurances: { low: 'low', substantial: 'substantial', high: 'high' },

  duration: {
    seconds: '{n} seconds',
    secondsOne: 'one second',
    minutes: '{n} minutes',
    minutesOne: 'one minute',
    hours: '{n} hours',
    hoursOne: 'one hour',
    days: '{n} days',
    daysOne: 'one day',
    and: '{a} {b}',
    ago: '{time} ago',
    now: 'just now',
  },

  reasons: {
    ...reasonTexts,
    attention_unproven: 'The question was not answered rightly and in time.',
  } satisfies Readonly<Record<Exclude<RecordingReason, 'answer_wrong'>, string>>,
  /** Rules of approvals by which a decision is refused. */
  rules: {
    too_fast: 'The page was not in view for as long as this request asks for.',
    too_many_decisions: 'You have approved as often as your team allows in an hour.',
    passkey_not_device_bound:
      'This request asks for a passkey in hardware that does not copy it, such as a security key. If you have one, press Approve again and use it. If not, deny, add one on your page, and let the agent ask again.',
    passkey_too_new:
      'This passkey was added after the request. Approve with one that you had before. Without one, deny, and let the agent ask again.',
    value_not_permitted:
      'A value has a character that can be mistaken for another. You can deny the request.',
    view_differs: 'What you saw is not what the service shows for this request. Load the page again.',
    recording_missing: 'There is no recording of this page. Start it again.',
    recording_too_old: 'The recording ended more than an hour ago. Start it again.',
    recording_of_other_act: 'The recording belongs to something else. Start it again.',
    approver_not_enrolled:
      'Your enrolment is not complete, or you have withdrawn it. Ask the person who invited you for a new invitation.',
    challenge_unknown: 'You waited too long at the prompt of your device. Press the button again.',
    company_sign_in_needed: 'Your sign-in with your company is over. Load the page again and sign in.',
    company_withdrawn: 'Your company has closed your account, so you cannot decide any more.',
    suspended: 'The operator of this service accepts no sign-ins of this company at the moment.',
  },

  company: {
    title: 'Sign in with your company first',
    lead: 'The person who invited you wants {issuer} to vouch for you before you decide.',
    withdrawn:
      '{issuer} has closed your account or withdrawn it here. If that is wrong, ask them to restore it, and sign in again.',
    facts: [
      '{issuer} learns that you signed in to this service, and when. It does not learn what you decide.',
      'We keep a keyed hash of the number of your account, no name and no mail address.',
      'It takes about half a minute and counts for {hours} hours.',
    ],
    button: 'Sign in with {issuer}',
  },

  failed: {
    ...failureTexts,
    cancelled: 'Your device did not complete this. Nothing was decided.',
    challenge_mismatch:
      'Your device was asked to sign something other than what you see here. Nothing was signed. Load the page again; if it happens again, tell the person who runs this service.',
    passkey_refused:
      'This passkey could not be checked, or this request asks for another kind. Use another one.',
    not_found: 'There is no such request, or it is not for you.',
    approval_conflict: 'Somebody decided meanwhile, or the time is over.',
    approval_refused: 'A rule of this request does not allow it. Nothing was decided.',
    session_rejected: 'The recording does not show enough attention.',
    network_busy:
      'Too many people on your network have been checked this hour. Nothing is lost: press Approve again later.',
    issuer_unavailable: 'The sign-in of the company did not answer. Try again in a few minutes.',
    proof_refused: 'The sign-in of this company is not accepted.',
    root_suspended: 'Your device is not accepted at present. Use another one.',
    insufficient_credits: 'The agent’s account has no credits left, so no proof can be signed. You can deny.',
    account_in_debt: 'The agent’s account is in debt, so no proof can be signed. You can deny.',
    rate_limited: 'That was a lot in a short time. Try again in a minute.',
  } satisfies Readonly<
    Record<
      | RefusalsBelow<'/api/approve/'>
      | keyof typeof failureTexts
      | 'cancelled'
      | 'passkey_refused'
      | 'issuer_unavailable'
      | 'proof_refused'
      | 'challenge_mismatch',
      string
    >
  >,
}
export type Messages = typeof english

/** The texts of a page, and the locale of its numbers and dates. */
export type PageContext = { readonly messages: Messages; readonly locale: string }
