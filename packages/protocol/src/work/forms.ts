import { z } from 'zod'
import { text } from '../platform/fields.ts'

/** The name of a field: the key of its value. */
const name = z.string().regex(/^[a-z][a-z0-9_]{0,39}$/)
const label = text(200)

/** The input of a unit of work: each field is one value of the item. `image` and `link` are https addresses. */
export const inputField = z.object({
  name,
  label,
  type: z.enum(['text', 'image', 'link']),
  required: z.boolean(),
})

/** The fields of an answer. A closed set, so that every form fits a phone and every answer can be validated. */
export const answerField = z.object({
  name,
  label,
  type: z.enum(['choice', 'many', 'scale', 'yes_no', 'line', 'paragraph']),
  required: z.boolean(),
  help: text(300).optional(),
  /** For `choice` and `many`. */
  options: z.array(text(100)).min(2).max(20).optional(),
  /** For `scale`: 1 to this. */
  steps: z.int().min(2).max(10).optional(),
  /** For `scale`: what its two ends mean. */
  ends: z.tuple([text(60), text(60)]).optional(),
  /** For `line` and `paragraph`, in characters. */
  maxLength: z.int().min(1).max(10_000).optional(),
})

export const inputForm = z.array(inputField).max(10)
export const answerForm = z.array(answerField).min(1).max(20)
export type InputForm = z.infer<typeof inputForm>
export type AnswerForm = z.infer<typeof answerForm>
