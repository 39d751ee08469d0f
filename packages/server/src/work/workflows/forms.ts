import type { AnswerForm, InputForm } from '@pohf/protocol'
import type { Detail } from '../../platform/http/errors.ts'

const inputTextMax = 10_000
const linkMax = 2_000
const lineMax = 200
const paragraphMax = 5_000

type InputField = InputForm[number]
type AnswerField = AnswerForm[number]
type FieldError = { readonly code: string; readonly message: string }

const fieldError = (code: string, message: string): FieldError => ({ code, message })
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isWebAddress = (value: string): boolean =>
  value.length <= linkMax && URL.canParse(value) && new URL(value).protocol === 'https:'

const validateInput = (field: InputField, value: unknown): FieldError | undefined => {
  if (typeof value !== 'string' || value === '') return fieldError('type', 'must be text')
  if (field.type !== 'text')
    return isWebAddress(value) ? undefined : fieldError('address', 'must be an https address')
  return value.length <= inputTextMax
    ? undefined
    : fieldError('too_long', `is longer than ${inputTextMax} characters`)
}

const validateText = (value: unknown, max: number): FieldError | undefined => {
  if (typeof value !== 'string' || value.trim() === '') return fieldError('type', 'must be text')
  return value.length <= max ? undefined : fieldError('too_long', `is longer than ${max} characters`)
}

const answerValidators: Readonly<
  Record<AnswerField['type'], (field: AnswerField, value: unknown) => FieldError | undefined>
> = {
  choice: ({ options = [] }, value) =>
    typeof value === 'string' && options.includes(value)
      ? undefined
      : fieldError('option', 'is none of the options'),
  many: ({ options = [] }, value) =>
    Array.isArray(value) &&
    value.length <= options.length &&
    new Set(value).size === value.length &&
    value.every((one) => options.includes(one))
      ? undefined
      : fieldError('option', 'must be a list of options, each at most once'),
  scale: ({ steps = 5 }, value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= steps
      ? undefined
      : fieldError('scale', `must be a whole number from 1 to ${steps}`),
  yes_no: (_field, value) =>
    typeof value === 'boolean' ? undefined : fieldError('type', 'must be true or false'),
  line: ({ maxLength = lineMax }, value) =>
    validateText(value, maxLength) ??
    (/[\r\n]/.test(String(value)) ? fieldError('line', 'must be one line') : undefined),
  paragraph: ({ maxLength = paragraphMax }, value) => validateText(value, maxLength),
}

type Field = { readonly name: string; readonly required: boolean }
const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)

/** An error for each field that is missing, unknown or invalid; at most 20. */
const validateFields = <F extends Field>(
  form: readonly F[],
  value: unknown,
  path: string,
  check: (field: F, value: unknown) => FieldError | undefined,
): Detail[] => {
  if (!isRecord(value))
    return [{ path, code: 'type', message: 'must be an object with a value for each field' }]
  const known = new Map(form.map((field) => [field.name, field]))
  const unknownFields = Object.keys(value)
    .filter((name) => !known.has(name))
    .map((name) => ({
      path: `${path}.${name}`,
      code: 'unknown_field',
      message: 'is not a field of the form',
    }))
  const invalidFields = form.flatMap((field) => {
    const fieldValue = value[field.name]
    if (isEmpty(fieldValue))
      return field.required
        ? [{ path: `${path}.${field.name}`, ...fieldError('missing', 'is required') }]
        : []
    const found = check(field, fieldValue)
    return found ? [{ path: `${path}.${field.name}`, ...found }] : []
  })
  return [...unknownFields, ...invalidFields].slice(0, 20)
}

/** The errors of an answer; empty where it is valid. */
export const validateAnswer = (form: AnswerForm, answer: unknown): Detail[] =>
  validateFields(form, answer, 'body.answer', (field, value) => answerValidators[field.type](field, value))

/** Drops empty optional fields, so that a buyer sees an answer or none. */
export const omitEmptyFields = (answer: unknown): Record<string, unknown> =>
  isRecord(answer) ? Object.fromEntries(Object.entries(answer).filter(([, value]) => !isEmpty(value))) : {}

/** A plain text is the value of the only field of a form, or of its only required field. */
const normalizeItem = (form: InputForm, item: unknown): unknown => {
  const [only, ...others] = form.length === 1 ? form : form.filter(({ required }) => required)
  return only && others.length === 0 && typeof item === 'string' ? { [only.name]: item } : item
}

/** The buyer's inputs by field name, or their errors. A form without fields accepts any input. */
export const normalizeItems = (
  form: InputForm,
  items: readonly unknown[],
  quantity: number,
): { readonly items: readonly unknown[] } | { readonly errors: readonly Detail[] } => {
  if (items.length > quantity)
    return {
      errors: [
        {
          path: `body.items.${quantity}`,
          code: 'too_many',
          message: `there are ${items.length} items for ${quantity} units`,
        },
      ],
    }
  if (form.length === 0) return { items }
  const named = items.map((item) => normalizeItem(form, item))
  const errors = named.flatMap((item, index) =>
    validateFields(form, item, `body.items.${index}`, validateInput),
  )
  return errors.length > 0 ? { errors: errors.slice(0, 20) } : { items: named }
}

const normalizeForComparison = (value: unknown): unknown => {
  if (typeof value === 'string')
    return value
      .normalize('NFKC')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
      .trim()
  return Array.isArray(value)
    ? value.map((one) => String(normalizeForComparison(one))).toSorted((a, b) => a.localeCompare(b))
    : value
}
/** Whether an answer equals the known answer in its known fields, ignoring case, punctuation and order of options. */
export const matchesKnownAnswer = (known: unknown, answer: unknown): boolean =>
  isRecord(known) &&
  isRecord(answer) &&
  Object.entries(known).every(
    ([name, value]) =>
      JSON.stringify(normalizeForComparison(value)) === JSON.stringify(normalizeForComparison(answer[name])),
  )
