import type { AnswerForm, InputForm } from '@pohf/protocol'

export type InputField = InputForm[number]
export type AnswerField = AnswerForm[number]

export const inputTypes: Readonly<Record<InputField['type'], string>> = {
  text: 'Text',
  image: 'Picture, by its address',
  link: 'Link',
}
export const answerTypes: Readonly<Record<AnswerField['type'], string>> = {
  choice: 'One of several',
  many: 'Some of several',
  scale: 'Scale',
  yes_no: 'Yes or no',
  line: 'A line of text',
  paragraph: 'A longer text',
}

/** The default key of a field, made from its label. */
export const keyFromLabel = (label: string): string =>
  label
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replace(/^[^a-z]+/, '')
    .slice(0, 40)
    .replace(/_+$/, '')

/** A field as its type allows: what belongs to another type is left out, and what the type needs is there. */
export const normalizeField = (field: AnswerField): AnswerField => {
  const { name, label, type, required, help } = field
  const plain = { name, label, type, required, ...(help === undefined || help === '' ? {} : { help }) }
  switch (type) {
    case 'choice':
    case 'many':
      return { ...plain, options: nonEmptyLines((field.options ?? []).join('\n')) }
    case 'scale': {
      const ends = field.ends ?? ['', '']
      return {
        ...plain,
        steps: field.steps ?? 5,
        ...(ends[0] === '' || ends[1] === '' ? {} : { ends }),
      }
    }
    case 'line':
      return { ...plain, maxLength: field.maxLength ?? 200 }
    case 'paragraph':
      return { ...plain, maxLength: field.maxLength ?? 2_000 }
    case 'yes_no':
      return plain
  }
}

/** The list with one of its entries another. */
export const replaceAt = <T>(list: readonly T[], index: number, value: T): T[] =>
  list.map((one, at) => (at === index ? value : one))
export const removeAt = <T>(list: readonly T[], index: number): T[] => list.filter((_, at) => at !== index)

/** Lines of a text, without the empty ones. */
export const nonEmptyLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
