import type { Values } from './draft.ts'
import type { AnswerField } from './wire.ts'

/** Why a field is invalid. */
export type FieldError = 'missing' | 'long'

export const lengthMaxOf = (field: AnswerField): number =>
  field.maxLength ?? (field.type === 'line' ? 200 : 5_000)

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)

const valueOf = (field: AnswerField, values: Values): unknown => {
  const value = values[field.name]
  return typeof value === 'string' && field.type !== 'choice' ? value.trim() : value
}

/** The answer as it is sent, without empty fields. */
export const answerFromValues = (form: readonly AnswerField[], values: Values): Record<string, unknown> =>
  Object.fromEntries(
    form.flatMap((field) => {
      const value = valueOf(field, values)
      return isEmpty(value) ? [] : [[field.name, value]]
    }),
  )

export const validateField = (field: AnswerField, values: Values): FieldError | undefined => {
  const value = valueOf(field, values)
  if (isEmpty(value)) return field.required ? 'missing' : undefined
  if (typeof value === 'string' && value.length > lengthMaxOf(field)) return 'long'
  return undefined
}
