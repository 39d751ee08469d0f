import { askWorkflowId, textErrors } from '@pohf/protocol'
import type { Detail } from '../../platform/http/errors.ts'

const errorsMax = 20

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
/** The faults in the texts of an order of the workflow of questions. Other workflows have no such rules. */
export const questionOrderErrors = (
  workflowId: string | undefined,
  { items = [], instructions = '' }: OrderedTexts,
): Detail[] => {
  if (workflowId !== askWorkflowId) return []
  const errors: Detail[] = []
  for (const [path, text] of [
    ...textsOf(items, 'body.items'),
    ...textsOf(instructions, 'body.instructions'),
  ]) {
    errors.push(...textErrors(text, path))
    if (errors.length >= errorsMax) break
  }
  return errors
}
