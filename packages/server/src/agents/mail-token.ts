import type { Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { tokenHashOf } from '../platform/ops/tokens.ts'
import { mailTokenPrefixes, type MailTokenPurpose } from './rules.ts'
import { findAgent, updateMailTokenUsed } from './store.ts'

/** The agent whose mailed link the token is from. The token works once. */
export const consumeMailToken = async (tx: Tx, purpose: MailTokenPurpose, token: string) => {
  const hash = tokenHashOf(tx.ids, mailTokenPrefixes[purpose], token)
  const agentId = hash && (await updateMailTokenUsed(tx, hash, purpose))
  const agent = agentId === undefined ? undefined : await findAgent(tx, agentId)
  if (!agent)
    throw new Refusal('not_found', {
      message: 'This link is invalid, already used or expired. Request a new one.',
    })
  return agent
}
