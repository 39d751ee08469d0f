import { after } from 'node:test'
import { returnPath } from '../../packages/server/src/issuers/index.ts'
import { writeIssuersFile } from '../../packages/server/test/fixtures/people/company-issuer.ts'
import { startLine } from './line.ts'
import { clientSecret, importRealm, type Keycloak } from './realm.ts'

/** The Keycloak that the battery started; undefined in every other run. */
export const findKeycloak = (): Keycloak | undefined => {
  const url = process.env['POHF_KEYCLOAK_URL']
  const adminPassword = process.env['POHF_KEYCLOAK_PASSWORD']
  return url === undefined || adminPassword === undefined ? undefined : { url, adminPassword }
}
export const withoutKeycloak = 'npm run battery -- company-sign-in starts the Keycloak of this test'

/** A sign-in with a password and a code is admitted. */
const admit = { amr: [['pwd', 'otp']] }

/** A realm of its own behind a line, and the settings of a service at this address whose company it is. */
export const openCompanyRealm = async (
  keycloak: Keycloak,
  url: string,
  moreEntries: readonly Readonly<Record<string, unknown>>[] = [],
) => {
  const line = await startLine(keycloak.url)
  after(() => line.close())
  const realm = await importRealm(keycloak, `${url}${returnPath}`)
  const issuer = `${line.url}${realm.path}`
  const entry = {
    name: 'acme',
    adapter: 'oidc',
    issuer,
    clientId: 'pohf',
    clientSecretFile: 'client.secret',
    admit,
  }
  return {
    line,
    realm,
    issuer,
    returnAddress: `${url}${returnPath}`,
    settings: {
      ISSUERS_FILE: writeIssuersFile([entry, ...moreEntries.map((more) => ({ ...entry, ...more }))], {
        'client.secret': clientSecret,
      }),
    },
  }
}
