import { useState } from 'preact/hooks'
import { fieldId } from './answer-form.tsx'
import { saveDraft, type Values } from '../draft.ts'
import { validateField, type FieldError } from '../fields.ts'
import type { Assignment } from '../wire.ts'

/** The answer of one unit as it is filled in: each change is saved as a draft. */
export const useAnswer = ({ assignmentId, answerForm }: Assignment, initial: Values) => {
  const [values, setValues] = useState<Values>(initial)
  const [faults, setFaults] = useState<ReadonlyMap<string, FieldError>>(new Map())
  return {
    values,
    faults,
    change: (next: Values) => {
      setValues(next)
      saveDraft(assignmentId, { values: next })
      setFaults((now) => new Map([...now].filter(([name]) => next[name] === values[name])))
    },
    /** How many fields are invalid; the first of them gets the focus. */
    validate: (): number => {
      const found = new Map(
        answerForm.flatMap((field) => {
          const fault = validateField(field, values)
          return fault ? [[field.name, fault] as const] : []
        }),
      )
      setFaults(found)
      const first = answerForm.find(({ name }) => found.has(name))
      if (first) document.getElementById(fieldId(first))?.focus()
      return found.size
    },
  }
}
export type Answer = ReturnType<typeof useAnswer>
