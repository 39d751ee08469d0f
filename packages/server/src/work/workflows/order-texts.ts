import { askWorkflowId } from '@pohf/protocol'
import type { Detail } from '../../platform/http/errors.ts'
import { textErrors } from '../../platform/texts/rules.ts'

const errorsMax = 20
/** Of an order that is no question. */
const instructionsMax = 4_000

/** The texts that a value holds, with their paths. The limits of a body bound its depth. */
const textsOf = (value: unknown, path: string): (readonly [path: string, text: string])[] => {
  if (typeof value === 'string') return [[path, value]]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => textsOf(inner, `${path}.${key}`))
}

type OrderedTexts = {
  readonly items?: readonly unknown[] | undefined
  readonly instructions?: string | undefined
}
/**
 * The faults in the texts of an order: in its instructions, which speak to the worker, and in the items of a question. The items
 * of other work are what is judged or moderated and may name a host; an operator reviews those of a new buyer.
 */
export const orderTextErrors = (
  workflowId: string | undefined,
  { items = [], instructions = '' }: OrderedTexts,
): Detail[] => {
  const isQuestion = workflowId === askWorkflowId
  const errors = textErrors(instructions, 'body.instructions', isQuestion ? undefined : instructionsMax)
  const questions = isQuestion ? textsOf(items, 'body.items') : []
  for (const [path, text] of questions) {
    errors.push(...textErrors(text, path))
    if (errors.length >= errorsMax) break
  }
  return errors
}
