import { isObject, type Claims } from '../claims.ts'
import { envelopeHash, type ActionType, type Envelope } from './envelope.ts'
import { readEnvelope } from './read-envelope.ts'
import { approvalView, viewHash, viewName, type ApprovalView } from './view.ts'

export type EnvelopeComparison =
  | {
      readonly ok: true
      readonly envelope: Envelope
      /** What the approver was shown; undefined where the definition of the type was not given. */
      readonly view: ApprovalView | undefined
    }
  | {
      readonly ok: false
      readonly reason:
        'envelope_malformed' | 'wrong_envelope' | 'unknown_view' | 'wrong_definition' | 'wrong_view'
      readonly message: string
    }

const refused = (
  reason: Extract<EnvelopeComparison, { ok: false }>['reason'],
  message: string,
): EnvelopeComparison => ({ ok: false, reason, message })

/**
 * Compares an envelope with the credential that was given for it, and makes the view that the approver saw. `value` is an envelope,
 * or the answer of the service with `envelope` and `definition`. The credential must have been verified before.
 */
export const compareEnvelope = async (
  approval: NonNullable<Claims['approval']>,
  value: unknown,
): Promise<EnvelopeComparison> => {
  const answer = isObject(value) && 'envelope' in value ? value : { envelope: value }
  const envelope = readEnvelope(answer['envelope'])
  if (!envelope) return refused('envelope_malformed', 'This is no envelope: a member is missing or unknown.')
  if ((await envelopeHash(envelope)) !== approval.envelope_hash)
    return refused('wrong_envelope', 'The credential was given for another envelope.')
  if (approval.view !== viewName)
    return refused('unknown_view', `The view ${approval.view.slice(0, 32)} is unknown.`)
  const definition =
    'definition' in answer && isObject(answer['definition']) ? answer['definition'] : undefined
  if (definition === undefined && envelope.typeVersion !== 0) return { ok: true, envelope, view: undefined }
  try {
    const view = approvalView(envelope, definition as ActionType | undefined)
    return (await viewHash(view)) === approval.view_hash
      ? { ok: true, envelope, view }
      : refused('wrong_view', 'The approver was shown something else than this definition gives.')
  } catch {
    return refused(
      'wrong_definition',
      'The definition is not the one of the type and version in the envelope.',
    )
  }
}
