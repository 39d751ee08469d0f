import { inTransaction } from '../../platform/db/db.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { listOperators } from '../store.ts'
import { passkeysList } from './list.ts'
import { removePasskey } from './remove.ts'

/** The passkeys of the operators with this name who are not revoked, for the command line. */
export const listPasskeysByName = async (ctx: Ctx, name: string) => {
  const rows = await inTransaction(ctx, 'system', listOperators)
  const operators = []
  for (const { operator_id: operatorId } of rows.filter((row) => row.name === name && !row.revoked_at))
    operators.push({ operatorId, ...(await passkeysList(ctx, { operatorId })) })
  return { operators }
}

/** Removes a passkey of an operator with this name from the command line, for an operator who lost both device and key. */
export const removePasskeyByName = async (ctx: Ctx, name: string, passkeyId: string) => {
  const { operators } = await listPasskeysByName(ctx, name)
  const owner = operators.find(({ passkeys }) => passkeys.some(({ id }) => id === passkeyId))
  return removePasskey(ctx, 'machine', { operatorId: owner?.operatorId ?? '', passkeyId })
}
