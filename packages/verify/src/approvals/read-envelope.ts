import { isObject } from '../claims.ts'
import type { Envelope } from './envelope.ts'
import { structureFault } from './json.ts'

const isText = (value: unknown): value is string => typeof value === 'string'
const isWhole = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0
const isInstant = (value: unknown): boolean => isText(value) && !Number.isNaN(Date.parse(value))

type Form = Readonly<Record<string, (value: unknown) => boolean>>
const hasForm = (value: unknown, form: Form): boolean =>
  isObject(value) &&
  Object.keys(value).length === Object.keys(form).length &&
  Object.entries(form).every(([name, test]) => Object.hasOwn(value, name) && test(value[name]))

const envelopeForm: Form = {
  audience: isText,
  requestId: isText,
  salt: isText,
  type: isText,
  typeVersion: isWhole,
  action: isObject,
  approvers: (value) => Array.isArray(value) && value.every(isText),
  policy: (value) =>
    hasForm(value, {
      quorum: isWhole,
      minSeconds: isWhole,
      passkey: (passkey) => passkey === 'any' || passkey === 'device_bound',
      delaySeconds: isWhole,
    }),
  decideBy: isInstant,
  consumeBy: isInstant,
  words: (value) => hasForm(value, { title: isText, summary: isText }),
}

/** Reads an envelope from an answer or a file; undefined where it has a member too many or too few, or one of another form. */
export const readEnvelope = (value: unknown): Envelope | undefined =>
  hasForm(value, envelopeForm) && structureFault((value as Envelope).action) === undefined
    ? (value as Envelope)
    : undefined
