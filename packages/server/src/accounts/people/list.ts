import { inTransaction } from '../../platform/db/db.ts'
import type { AccountPerson } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { listInvitations, listPeople } from './store.ts'

export const peopleList = async (ctx: Ctx, { accountId, personId }: AccountPerson) =>
  inTransaction(ctx, 'system', async (tx) => {
    const people = await listPeople(tx, accountId)
    const invitations = await listInvitations(tx, accountId)
    return {
      people: people.map((row) => ({
        id: row.person_id,
        email: row.email,
        role: row.role,
        joinedAt: row.joined_at.toISOString(),
        lastSeenAt: row.last_seen_at?.toISOString() ?? null,
        isYou: row.person_id === personId,
      })),
      invitations: invitations.map((row) => ({
        id: row.invitation_id,
        email: row.email,
        role: row.role,
        invitedBy: row.inviter,
        createdAt: row.created_at.toISOString(),
        expiresAt: row.expires_at.toISOString(),
      })),
    }
  })
