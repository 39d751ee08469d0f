import type { AnswerForm } from '@pohf/protocol'
import type { Detail } from '../platform/http/errors.ts'
import { textErrors } from '../platform/texts/rules.ts'

type Field = AnswerForm[number]
type Json = Readonly<Record<string, unknown>>
type Parsed<T> = { readonly value: T } | { readonly errors: readonly Detail[] }

/** The field of a schema that is no object. Its value is the whole answer. */
const singleField = 'single_answer'

const fieldsMax = 10
const lineMax = 200
const textMax = 5_000
const textDefault = 2_000
const namePattern = /^[a-z][a-z0-9_]{0,39}$/

const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const refused = (path: string, code: string, message: string): Parsed<never> => ({
  errors: [{ path, code, message }],
})
const isWhole = (value: unknown): value is number => typeof value === 'number' && Number.isInteger(value)

/** `title` and `description` say what a field means; every other keyword must be one that a form can keep. */
const refuseKeywords = (schema: Json, path: string, known: readonly string[]): Parsed<never> | undefined => {
  const allowed = new Set(['type', 'title', 'description', ...known])
  const unknown = Object.keys(schema).find((keyword) => !allowed.has(keyword))
  return unknown === undefined
    ? undefined
    : refused(
        `${path}.${unknown.slice(0, 60)}`,
        'keyword_not_supported',
        'is no keyword of the supported subset',
      )
}

/** The options of an enum, from 2 to 20 different texts. */
const parseOptions = (value: unknown, path: string): Parsed<string[]> => {
  if (!Array.isArray(value) || value.length < 2 || value.length > 20)
    return refused(path, 'enum', 'must have 2 to 20 values')
  const options = value.filter((one) => typeof one === 'string' && one.trim() !== '' && one.length <= 100)
  if (options.length !== value.length || new Set(options).size !== options.length)
    return refused(path, 'enum', 'must be different texts of at most 100 characters')
  const errors = options.flatMap((option: string) => textErrors(option, path))
  return errors.length > 0 ? { errors } : { value: options }
}

type Kind = Omit<Field, 'name' | 'label' | 'required' | 'help'>

const parseString = (schema: Json, path: string): Parsed<Kind> => {
  const { maxLength = textDefault } = schema
  if (!isWhole(maxLength) || maxLength < 1 || maxLength > textMax)
    return refused(`${path}.maxLength`, 'max_length', `must be from 1 to ${textMax}`)
  return { value: { type: maxLength <= lineMax ? 'line' : 'paragraph', maxLength } }
}
const parseInteger = (schema: Json, path: string): Parsed<Kind> => {
  const { minimum, maximum } = schema
  if (minimum !== 1 || !isWhole(maximum) || maximum < 2 || maximum > 10)
    return refused(path, 'scale', 'must have minimum 1 and a maximum from 2 to 10')
  return { value: { type: 'scale', steps: maximum } }
}
const parseEnum = (schema: Json, path: string): Parsed<Kind> => {
  const options = parseOptions(schema['enum'], `${path}.enum`)
  return 'errors' in options ? options : { value: { type: 'choice', options: options.value } }
}
const parseArray = (schema: Json, path: string): Parsed<Kind> => {
  const { items, uniqueItems = true } = schema
  if (!isRecord(items) || !('enum' in items) || uniqueItems !== true)
    return refused(path, 'array', 'must have items with an enum, each at most once')
  const wrong = refuseKeywords(items, `${path}.items`, ['enum'])
  if (wrong) return wrong
  const options = parseOptions(items['enum'], `${path}.items.enum`)
  return 'errors' in options ? options : { value: { type: 'many', options: options.value } }
}

const kinds: Readonly<
  Record<string, { keywords: readonly string[]; parse: (schema: Json, path: string) => Parsed<Kind> }>
> = {
  enum: { keywords: ['enum'], parse: parseEnum },
  string: { keywords: ['maxLength'], parse: parseString },
  boolean: { keywords: [], parse: () => ({ value: { type: 'yes_no' } }) },
  integer: { keywords: ['minimum', 'maximum'], parse: parseInteger },
  array: { keywords: ['items', 'uniqueItems'], parse: parseArray },
}

/** The label and help of a field: text that a worker reads. */
const parseWords = (schema: Json, path: string): Parsed<{ label?: string; help?: string }> => {
  const parts = { label: schema['title'], help: schema['description'] }
  for (const [part, keyword, max] of [
    ['label', 'title', 200],
    ['help', 'description', 300],
  ] as const) {
    const value = parts[part]
    if (value === undefined) continue
    if (typeof value !== 'string' || value.trim() === '' || value.length > max)
      return refused(`${path}.${keyword}`, keyword, `must be a text of at most ${max} characters`)
    const errors = textErrors(value, `${path}.${keyword}`)
    if (errors.length > 0) return { errors }
  }
  const { label, help } = parts
  return {
    value: {
      ...(typeof label === 'string' ? { label } : {}),
      ...(typeof help === 'string' ? { help } : {}),
    },
  }
}

const parseField = (
  schema: unknown,
  path: string,
  { name, label, required }: { readonly name: string; readonly label: string; readonly required: boolean },
): Parsed<Field> => {
  if (!isRecord(schema)) return refused(path, 'type', 'must be a JSON Schema')
  const { type } = schema
  const isEnum = 'enum' in schema && (type === undefined || type === 'string')
  const kindName = isEnum ? 'enum' : String(type)
  const kind = Object.hasOwn(kinds, kindName) ? kinds[kindName] : undefined
  if (!kind)
    return refused(
      `${path}.type`,
      'type_not_supported',
      'must be string, enum, boolean, integer from 1 to n, or array of enum',
    )
  const wrong = refuseKeywords(schema, path, kind.keywords)
  if (wrong) return wrong
  const words = parseWords(schema, path)
  if ('errors' in words) return words
  const parsed = kind.parse(schema, path)
  return 'errors' in parsed
    ? parsed
    : { value: { name, label: words.value.label ?? label, required, ...words.value, ...parsed.value } }
}

const parseObject = (schema: Json, path: string): Parsed<AnswerForm> => {
  const wrong = refuseKeywords(schema, path, ['properties', 'required', 'additionalProperties'])
  if (wrong) return wrong
  const { properties, required = [], additionalProperties = false } = schema
  if (additionalProperties !== false)
    return refused(`${path}.additionalProperties`, 'keyword_not_supported', 'can only be false')
  const names = isRecord(properties) ? Object.keys(properties) : []
  if (!isRecord(properties) || names.length < 1 || names.length > fieldsMax)
    return refused(`${path}.properties`, 'properties', `must have 1 to ${fieldsMax} fields`)
  const isNamed = (name: unknown) => typeof name === 'string' && names.includes(name)
  if (!Array.isArray(required) || !required.every(isNamed))
    return refused(`${path}.required`, 'required', 'must list fields of properties')
  const fields: Field[] = []
  for (const name of names) {
    const at = `${path}.properties.${name.slice(0, 60)}`
    if (!namePattern.test(name) || name === singleField)
      return refused(at, 'field_name', `must be lower case letters, digits and _, and not ${singleField}`)
    const label = name.replaceAll('_', ' ')
    const parsed = parseField(properties[name], at, { name, label, required: required.includes(name) })
    if ('errors' in parsed) return parsed
    // A field without a title has its name as the label.
    const errors = textErrors(parsed.value.label, at)
    if (errors.length > 0) return { errors }
    fields.push(parsed.value)
  }
  // A form that can be sent empty would let a worker be paid for nothing.
  if (required.length === 0)
    return refused(`${path}.required`, 'required', 'must name at least one field that has to be answered')
  return { value: fields }
}

/** The form that a worker fills in for an answer schema, or the first reason why there is none. */
export const answerFormOf = (schema: unknown): Parsed<AnswerForm> => {
  const path = 'body.answerSchema'
  if (schema === undefined) return answerFormOf({ type: 'string' })
  if (isRecord(schema) && schema['type'] === 'object') return parseObject(schema, path)
  const parsed = parseField(schema, path, { name: singleField, label: 'Your answer', required: true })
  return 'errors' in parsed ? parsed : { value: [parsed.value] }
}

/** An answer in the form of its schema: the value alone where the schema is no object. */
export const answerBySchema = (form: AnswerForm, answer: unknown): unknown => {
  if (!isRecord(answer)) return null
  return form.length === 1 && form[0]?.name === singleField ? (answer[singleField] ?? null) : answer
}

const simulatedValues: Readonly<Record<Field['type'], (field: Field) => unknown>> = {
  choice: ({ options = [] }) => options[0],
  many: ({ options = [] }) => options.slice(0, 1),
  scale: ({ steps = 5 }) => Math.ceil(steps / 2),
  yes_no: () => true,
  line: ({ maxLength = lineMax }) => 'Simulated answer.'.slice(0, maxLength),
  paragraph: () => 'Simulated answer. No person has read the question.',
}
/** What the simulated worker answers: the first option, the middle of a scale, yes. */
export const simulatedAnswerOf = (form: AnswerForm): Record<string, unknown> =>
  Object.fromEntries(form.map((field) => [field.name, simulatedValues[field.type](field)]))
