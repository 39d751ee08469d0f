import { sql } from 'kysely'
import type { AccountRole } from '@pohf/protocol'
import { now, type Tx } from '../../platform/db/db.ts'
import { accountsPerPersonMax, invitationDays, peopleMax } from '../rules.ts'

/** True where the address is new. */
export const insertPerson = async (tx: Tx, personId: string, email: string): Promise<boolean> => {
  const result = await tx
    .insertInto('account_people')
    .values({ person_id: personId, email })
    .onConflict((conflict) => conflict.column('email').doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

export const findPersonByEmail = async (tx: Tx, email: string) =>
  tx.selectFrom('account_people').select('person_id').where('email', '=', email).executeTakeFirst()

/** Serializes what one person joins and leaves. False where the person was deleted meanwhile. */
export const lockPerson = async (tx: Tx, personId: string): Promise<boolean> => {
  const found = await tx
    .selectFrom('account_people')
    .select('person_id')
    .where('person_id', '=', personId)
    .forUpdate()
    .executeTakeFirst()
  return found !== undefined
}

/** Deletes a person without an account. */
export const deletePerson = async (tx: Tx, personId: string): Promise<void> => {
  await tx.deleteFrom('account_people').where('person_id', '=', personId).execute()
}

type HeldRole = { readonly accountId: string; readonly personId: string; readonly role: AccountRole }

/** Does not change a role that the person has already. */
export const insertRole = async (tx: Tx, held: HeldRole): Promise<void> => {
  await tx
    .insertInto('account_roles')
    .values({ account_id: held.accountId, person_id: held.personId, role: held.role })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export const findRole = async (
  tx: Tx,
  accountId: string,
  personId: string,
): Promise<AccountRole | undefined> => {
  const row = await tx
    .selectFrom('account_roles')
    .select('role')
    .where('account_id', '=', accountId)
    .where('person_id', '=', personId)
    .executeTakeFirst()
  return row?.role
}

export const updateRole = async (tx: Tx, { accountId, personId, role }: HeldRole): Promise<void> => {
  await tx
    .updateTable('account_roles')
    .set({ role })
    .where('account_id', '=', accountId)
    .where('person_id', '=', personId)
    .execute()
}

export const deleteRole = async (tx: Tx, accountId: string, personId: string): Promise<void> => {
  await tx
    .deleteFrom('account_roles')
    .where('account_id', '=', accountId)
    .where('person_id', '=', personId)
    .execute()
}

export const listPeople = async (tx: Tx, accountId: string) =>
  tx
    .selectFrom('account_roles as held')
    .innerJoin('account_people as person', 'person.person_id', 'held.person_id')
    .select(['held.person_id', 'person.email', 'held.role', 'held.joined_at', 'held.last_seen_at'])
    .where('held.account_id', '=', accountId)
    .orderBy('held.person_id')
    .limit(peopleMax)
    .execute()

/** The accounts of a person, the one that was used last first. */
export const listAccountsOf = async (tx: Tx, personId: string) =>
  tx
    .selectFrom('account_roles as held')
    .innerJoin('accounts as account', 'account.account_id', 'held.account_id')
    .select(['held.account_id', 'account.name', 'held.role'])
    .where('held.person_id', '=', personId)
    .orderBy(sql`coalesce(held.last_seen_at, held.joined_at)`, 'desc')
    .limit(accountsPerPersonMax)
    .execute()

/** The account in which a person signs in. Every person has one. */
export const findLatestAccount = async (tx: Tx, personId: string): Promise<string> => {
  const [latest] = await listAccountsOf(tx, personId)
  if (!latest) throw new Error(`person ${personId} is in no account while signing in`)
  return latest.account_id
}

type NewInvitation = {
  readonly invitationId: string
  readonly accountId: string
  readonly email: string
  readonly role: AccountRole
  readonly invitedBy: string
}
/** Invites an address; a second invitation replaces the first. */
export const upsertInvitation = async (
  tx: Tx,
  invitation: NewInvitation,
): Promise<{ invitationId: string; expiresAt: Date }> => {
  const values = {
    role: invitation.role,
    invited_by: invitation.invitedBy,
    expires_at: sql<Date>`pohf_now() + make_interval(days => ${invitationDays})`,
  }
  const row = await tx
    .insertInto('account_invitations')
    .values({
      invitation_id: invitation.invitationId,
      account_id: invitation.accountId,
      email: invitation.email,
      ...values,
    })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'email']).doUpdateSet({ ...values, created_at: now() }),
    )
    .returning(['invitation_id', 'expires_at'])
    .executeTakeFirstOrThrow(
      () =>
        new Error(`invitation ${invitation.invitationId} to account ${invitation.accountId} was not stored`),
    )
  return { invitationId: row.invitation_id, expiresAt: row.expires_at }
}

/** The invitations of an account that are open. */
export const listInvitations = async (tx: Tx, accountId: string) =>
  tx
    .selectFrom('account_invitations as invitation')
    .innerJoin('account_people as inviter', 'inviter.person_id', 'invitation.invited_by')
    .select(['invitation.invitation_id', 'invitation.email', 'invitation.role', 'inviter.email as inviter'])
    .select(['invitation.created_at', 'invitation.expires_at'])
    .where('invitation.account_id', '=', accountId)
    .where('invitation.expires_at', '>', now())
    .orderBy('invitation.invitation_id')
    .limit(peopleMax)
    .execute()

/** The open invitations to an address, the newest first. */
export const listInvitationsTo = async (tx: Tx, email: string) =>
  tx
    .selectFrom('account_invitations as invitation')
    .innerJoin('accounts as account', 'account.account_id', 'invitation.account_id')
    .innerJoin('account_people as inviter', 'inviter.person_id', 'invitation.invited_by')
    .select(['invitation.account_id', 'invitation.role', 'account.name', 'inviter.email as inviter'])
    .where('invitation.email', '=', email)
    .where('invitation.expires_at', '>', now())
    .orderBy('invitation.created_at', 'desc')
    .limit(accountsPerPersonMax)
    .execute()

/** Consumes an invitation; returns its role. */
export const consumeInvitation = async (
  tx: Tx,
  accountId: string,
  email: string,
): Promise<AccountRole | undefined> => {
  const row = await tx
    .deleteFrom('account_invitations')
    .where('account_id', '=', accountId)
    .where('email', '=', email)
    .where('expires_at', '>', now())
    .returning('role')
    .executeTakeFirst()
  return row?.role
}

export const deleteInvitation = async (tx: Tx, accountId: string, invitationId: string): Promise<boolean> => {
  const result = await tx
    .deleteFrom('account_invitations')
    .where('invitation_id', '=', invitationId)
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return result.numDeletedRows === 1n
}

/** Deletes the invitations by a person who may no longer invite. */
export const deleteInvitationsBy = async (tx: Tx, accountId: string, personId: string): Promise<void> => {
  await tx
    .deleteFrom('account_invitations')
    .where('account_id', '=', accountId)
    .where('invited_by', '=', personId)
    .execute()
}
