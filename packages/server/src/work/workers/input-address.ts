import type { InputForm } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { findOrder } from '../orders/store.ts'
import { readShownInput } from './present.ts'
import type { Assignment } from './store.ts'

/** The address in a field of what the person is shown; undefined where there is none of this type. */
export const readInputAddress = async (
  tx: Tx,
  assignment: Assignment,
  { field, type }: { readonly field: string; readonly type: Exclude<InputForm[number]['type'], 'text'> },
): Promise<string | undefined> => {
  const order = await findOrder(tx, assignment)
  if (!order?.terms?.inputForm.some((one) => one.name === field && one.type === type)) return undefined
  const input = await readShownInput(tx, assignment, order)
  const value =
    typeof input === 'object' && input !== null ? (input as Record<string, unknown>)[field] : undefined
  return typeof value === 'string' && URL.canParse(value) ? value : undefined
}
