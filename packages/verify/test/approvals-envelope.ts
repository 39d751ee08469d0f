import type { ActionType, Envelope, Json } from '../src/approvals.ts'

/** An invoice, as an administrator registered it. */
export const definition: ActionType = {
  type: 'invoice.pay',
  version: 3,
  title: 'Pay an invoice',
  labels: { '/amount': 'Amount', '/recipient': 'Recipient', '/memo': 'Memo' },
  critical: ['/recipient', '/amount', '/account'],
}

export const envelopeOf = (
  action: { readonly [key: string]: Json },
  changes: Partial<Envelope> = {},
): Envelope => ({
  audience: 'agt_executor',
  requestId: 'invoice-1187',
  salt: 'AAAAAAAAAAAAAAAAAAAAAA',
  type: 'invoice.pay',
  typeVersion: 3,
  action,
  approvers: ['apv_1', 'apv_2'],
  policy: { quorum: 2, minSeconds: 15, passkey: 'any', delaySeconds: 0 },
  decideBy: '2026-11-17T14:30:00.000Z',
  consumeBy: '2026-11-17T15:30:00.000Z',
  words: { title: 'October newsprint', summary: 'Matches purchase order 5521.' },
  ...changes,
})

/** Texts that show less, or something else, than they are. */
export const trickyTexts = [
  'plain',
  '',
  ' padded ',
  'Newsprint \u202e44 yreviled',
  'zero\u200bwidth\u2060joiner\ufeff',
  'tags\u{e0041}\u{e0042}',
  'no\u00a0break\u3000wide',
  'hangul\u3164filler\uffa0',
  'joiner\u034fselector\ufe0f',
  'braille\u2800blank',
  '\u0301accent on nothing, e\u0301 on a letter',
  'p\u0430ypal',
  '\u0430\u0440\u0440\u04cf\u0435.com',
  '\u039f\u0421',
  '\u09ea0',
  '東京 Tokyo東京',
  '\u27e6U+202E\u27e7',
  'line\nbreak\r\n\ttab',
  '<img src=x onerror=alert(1)>&amp;',
  '\u{1f600} \u{1f468}\u200d\u{1f469}',
] as const
