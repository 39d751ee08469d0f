import type { Pool } from 'pg'

/** The roles of a deployment besides its login role. A migration creates each of them, if the login role may. */
export const databaseRoles = ['pohf_app', 'pohf_mint'] as const

type Login = { readonly name: string; readonly creates: boolean; readonly privilege: 'set' | 'member' }
type Role = { readonly name: string; readonly isUnbound: boolean; readonly isGranted: boolean }

/** From PostgreSQL 16 on, a member of a role needs the right to set it. */
const findLogin = async (client: Pick<Pool, 'query'>): Promise<Login> => {
  const { rows } = await client.query<Login>(
    `select current_user as name, rolsuper or rolcreaterole as creates,
       case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end as privilege
     from pg_roles where rolname = current_user`,
  )
  const [login] = rows
  if (!login) throw new Error('login role not found in pg_roles while checking the database roles')
  return login
}

const faultOf = (name: string, role: Role | undefined, login: Login): string | undefined => {
  if (!role)
    return login.creates
      ? undefined
      : `role ${name} is missing: run create role ${name} nologin; grant ${name} to ${login.name}; as an administrator`
  if (role.isUnbound)
    return `role ${name} bypasses row-level security: run alter role ${name} nosuperuser nobypassrls; as an administrator`
  if (!role.isGranted && !login.creates)
    return `role ${login.name} is no member of ${name}: run grant ${name} to ${login.name}; as an administrator`
  return undefined
}

/** The faults of the roles, each with the statement that corrects it. */
export const checkRoles = async (client: Pick<Pool, 'query'>): Promise<string[]> => {
  const login = await findLogin(client)
  const { rows } = await client.query<Role>(
    `select rolname as name, rolsuper or rolbypassrls as "isUnbound", pg_has_role(current_user, oid, $2) as "isGranted"
     from pg_roles where rolname = any($1)`,
    [databaseRoles, login.privilege],
  )
  return databaseRoles.flatMap((name) => {
    const fault = faultOf(
      name,
      rows.find((role) => role.name === name),
      login,
    )
    return fault === undefined ? [] : [fault]
  })
}
