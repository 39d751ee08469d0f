import type { Pool } from 'pg'

/** The roles of a deployment besides its login role. A migration creates each of them, if the login role may. */
export const databaseRoles = ['pohf_app', 'pohf_mint'] as const

/** A row of the query: one of these roles as the login role sees it. `name` is null where none of the roles exists. */
type FoundRole = {
  readonly login: string
  readonly loginCreatesRoles: boolean
  readonly name: string | null
  readonly bypassesRowSecurity: boolean | null
  readonly isGranted: boolean | null
}

const faultOf = (name: string, found: readonly FoundRole[]): string | undefined => {
  const { login = '', loginCreatesRoles = false } = found[0] ?? {}
  const role = found.find((row) => row.name === name)
  if (role?.bypassesRowSecurity)
    return `role ${name} bypasses row-level security: run alter role ${name} nosuperuser nobypassrls; as an administrator`
  if (loginCreatesRoles || role?.isGranted) return undefined
  return role
    ? `role ${login} is no member of ${name}: run grant ${name} to ${login}; as an administrator`
    : `role ${name} is missing: run create role ${name} nologin; grant ${name} to ${login}; as an administrator`
}

/** The faults of the roles, each with the statement that corrects it. */
export const checkRoles = async (client: Pick<Pool, 'query'>): Promise<string[]> => {
  // From PostgreSQL 16 on, a member of a role also needs the right to set it.
  const { rows } = await client.query<FoundRole>(
    `select login.rolname as login, login.rolsuper or login.rolcreaterole as "loginCreatesRoles", role.rolname as name,
       role.rolsuper or role.rolbypassrls as "bypassesRowSecurity",
       pg_has_role(login.oid, role.oid,
         case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end) as "isGranted"
     from pg_roles login left join pg_roles role on role.rolname = any($1)
     where login.rolname = current_user`,
    [databaseRoles],
  )
  return databaseRoles.flatMap((name) => faultOf(name, rows) ?? [])
}
