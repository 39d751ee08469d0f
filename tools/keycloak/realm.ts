import { createHmac, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { signInAt } from '../../packages/server/test/fixtures/people/provider-browser.ts'

const realmFile = new URL('realm.json', import.meta.url)
/** The client of the service in `realm.json`. */
export const clientSecret = 'a secret of the company'
export const otherClient = { id: 'other', secret: 'a secret of the other client' }

/** The people of `realm.json`: Ada and Ben have a password and codes, Cleo a password alone. */
export type Login = 'ada' | 'ben' | 'cleo'
export const passwordOf = (login: Login): string => `password of ${login}`

const periodMs = 30_000
/** The code of a person's app now (RFC 6238). The realm takes a code again, so that nobody waits for the next. */
export const codeOf = (login: Login): string => {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / periodMs)))
  const mac = createHmac('sha1', `codes of ${login}`).update(counter).digest()
  const value = mac.readUInt32BE((mac.at(-1) ?? 0) & 15) & 0x7fffffff
  return String(value % 1_000_000).padStart(6, '0')
}

/** A person signs in at the pages of Keycloak; undefined where it lets them not in. */
export const signInAtKeycloak = async (
  address: string,
  returnAddress: string,
  login: Login,
): Promise<Record<string, string> | undefined> => {
  const filled = new Set<string>()
  return signInAt(address, returnAddress, (page) => {
    const field = page.includes('name="password"') ? 'password' : 'otp'
    // A page that asks again has refused the first answer.
    if (filled.has(field)) return undefined
    filled.add(field)
    if (field === 'password') return { username: login, password: passwordOf(login), credentialId: '' }
    return page.includes('name="otp"') ? { otp: codeOf(login) } : undefined
  })
}

type Representation = Readonly<Record<string, unknown>>
type RealmFile = { readonly clients: readonly Representation[] }
type Named = { readonly id: string; readonly name?: string; readonly clientId?: string }
export type Keycloak = { readonly url: string; readonly adminPassword: string }

const textOf = async (response: Response, what: string): Promise<string> => {
  const text = await response.text()
  if (!response.ok) throw new Error(`Keycloak answered ${what} with ${response.status}: ${text}`)
  return text
}

/** Calls Keycloak as its administrator. */
const makeAdministrator = ({ url, adminPassword }: Keycloak) => {
  const signIn = async (): Promise<string> => {
    const response = await fetch(`${url}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'password',
        client_id: 'admin-cli',
        username: 'admin',
        password: adminPassword,
      }),
    })
    const { access_token } = JSON.parse(await textOf(response, 'the sign-in of its administrator')) as {
      access_token: string
    }
    return access_token
  }
  return async (method: string, path: string, body?: unknown): Promise<unknown> => {
    // Its token lives for a minute.
    const response = await fetch(`${url}/admin/realms${path}`, {
      method,
      headers: { authorization: `Bearer ${await signIn()}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await textOf(response, `${method} ${path}`)
    return text === '' ? undefined : (JSON.parse(text) as unknown)
  }
}

const requireOne = <T>(found: readonly T[], what: string): T => {
  const [first] = found
  if (first === undefined || found.length > 1) throw new Error(`Keycloak has ${found.length} of ${what}`)
  return first
}

/** Imports `realm.json` under a name of its own; its clients lead back to this address. */
export const importRealm = async (keycloak: Keycloak, returnAddress: string) => {
  const administer = makeAdministrator(keycloak)
  const realm = `company-${randomBytes(4).toString('hex')}`
  const file = JSON.parse(readFileSync(realmFile, 'utf8')) as RealmFile
  await administer('POST', '', {
    ...file,
    realm,
    clients: file.clients.map((client) => ({ ...client, redirectUris: [returnAddress] })),
  })
  const findUser = async (login: Login) =>
    requireOne((await administer('GET', `/${realm}/users?exact=true&username=${login}`)) as Named[], login)
  const findClient = async () =>
    requireOne((await administer('GET', `/${realm}/clients?clientId=pohf`)) as Named[], 'client pohf')
  const scopesPath = async (name: string): Promise<string> => {
    const scopes = (await administer('GET', `/${realm}/client-scopes`)) as Named[]
    const scope = requireOne(
      scopes.filter((each) => each.name === name),
      `scope ${name}`,
    )
    return `/${realm}/clients/${(await findClient()).id}/default-client-scopes/${scope.id}`
  }
  return {
    realm,
    path: `/realms/${realm}`,
    /** The id that the company gives this person: the subject of their sign-ins. */
    subjectOf: async (login: Login): Promise<string> => (await findUser(login)).id,
    removeUser: async (login: Login) => administer('DELETE', `/${realm}/users/${(await findUser(login)).id}`),
    setEnabled: async (login: Login, enabled: boolean) =>
      administer('PUT', `/${realm}/users/${(await findUser(login)).id}`, { enabled }),
    endSession: (session: string) => administer('DELETE', `/${realm}/sessions/${session}`),
    /** Runs the work while the client has these attributes besides. */
    withAttributes: async <T>(attributes: Representation, work: () => Promise<T>): Promise<T> => {
      const client = (await findClient()) as Named & { readonly attributes: Representation }
      const path = `/${realm}/clients/${client.id}`
      await administer('PUT', path, { ...client, attributes: { ...client.attributes, ...attributes } })
      const before = Object.fromEntries(Object.keys(attributes).map((name) => [name, '']))
      try {
        return await work()
      } finally {
        await administer('PUT', path, { ...client, attributes: { ...before, ...client.attributes } })
      }
    },
    /** Runs the work while the tokens of the client have what this mapper adds. */
    withMapper: async <T>(protocolMapper: string, config: Representation, work: () => Promise<T>) => {
      const path = `/${realm}/clients/${(await findClient()).id}/protocol-mappers/models`
      const mapper = { name: 'changed', protocol: 'openid-connect', protocolMapper, config }
      await administer('POST', path, mapper)
      const made = (await administer('GET', path)) as Named[]
      const { id } = requireOne(
        made.filter(({ name }) => name === 'changed'),
        'the mapper',
      )
      try {
        return await work()
      } finally {
        await administer('DELETE', `${path}/${id}`)
      }
    },
    /** Runs the work while the client lacks a mapper of `realm.json`. */
    withoutMapper: async <T>(wanted: string, work: () => Promise<T>): Promise<T> => {
      const path = `/${realm}/clients/${(await findClient()).id}/protocol-mappers/models`
      const mapper = requireOne(
        ((await administer('GET', path)) as Named[]).filter(({ name }) => name === wanted),
        `mapper ${wanted}`,
      )
      await administer('DELETE', `${path}/${mapper.id}`)
      try {
        return await work()
      } finally {
        await administer('POST', path, { ...mapper, id: undefined })
      }
    },
    /** Runs the work while the client lacks a scope, such as the one that brings the time of the sign-in. */
    withoutScope: async <T>(name: string, work: () => Promise<T>): Promise<T> => {
      const path = await scopesPath(name)
      await administer('DELETE', path)
      try {
        return await work()
      } finally {
        await administer('PUT', path)
      }
    },
  }
}
