import { Commands } from '../../shared/design/components.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { timeAgo } from '../../shared/design/time.ts'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { matchText } from '../../shared/lists/count.ts'
import { filterValues, periodFilter } from '../../shared/lists/filter.ts'
import { Filters } from '../../shared/lists/filters.tsx'
import { FindForm } from '../../shared/lists/find-form.tsx'
import { ListBody, NoMatch, Pager, useListPage } from '../../shared/lists/list-view.tsx'
import type { Credentials } from '../wire.ts'
import { CredentialDrawer } from './credential-drawer.tsx'
import { credentialFilters } from './messages.ts'
import { CredentialTable } from './table.tsx'

const filters = [...credentialFilters, periodFilter()]
const filterNames = filters.map(({ name }) => name)

const mintCommands = (origin: string, isTest: boolean): string => `curl -s ${origin}/api/agents/verify \\
  -H "Authorization: Bearer $POHF_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"sessionId":"${isTest ? 'my-first-session' : 'SESSION_OF_YOUR_FORM'}"}'`

const NoCredentials = ({ isTest }: { isTest: boolean }) => (
  <section class="card pad" aria-labelledby="mint">
    <h2 class="h3" id="mint">
      Mint the first one
    </h2>
    <p class="muted gap">
      {isTest
        ? 'With a test key any session id stands for an attentive person. Run this, and the credential appears here:'
        : 'A person does the check on your page, and your server asks for the credential of that session:'}
    </p>
    <Commands text={mintCommands(location.origin, isTest)} label="Command that mints a credential" />
    {isTest ? null : (
      <p class="gap">
        <a href="#/install">Add the check to your page first</a>
      </p>
    )}
  </section>
)

const finding = (
  { credentials, nextCursor }: Credentials,
  now: number,
  isFiltered: boolean,
  cursor: string | null,
): string => {
  if (isFiltered) return matchText(credentials.length, 'credential', { cursor, nextCursor })
  const [latest] = credentials
  if (!latest) return 'No credential yet'
  return `The latest credential was issued ${timeAgo(latest.issuedAt, now)}`
}

/** Page "Credentials": what the service has signed for this agent. */
export const CredentialsPage = ({ api, issuer, query }: PageProps) => {
  const values = filterValues(query, filterNames)
  const cursor = query.get('cursor')
  const chosen = query.get('credential')
  const { period, ...wanted } = values
  const now = Date.now()
  const loaded = useListPage<Credentials>(api, '/api/agents/credentials', {
    limit: '50',
    ...wanted,
    since: { last: period },
    cursor: cursor ?? undefined,
  })
  const page = loaded.value
  const isFiltered = Object.values(values).some((value) => value !== undefined) || cursor !== null
  const here = { ...values, cursor: cursor ?? undefined }
  return (
    <>
      <PageHead name="Credentials" finding={page ? finding(page, now, isFiltered, cursor) : undefined}>
        Each says how a person was shown to be behind a session, for whoever you show it to.
      </PageHead>
      <div class="listhead">
        <Filters path="credentials" query={query} filters={filters} />
        <FindForm
          label="By id"
          placeholder="crd_…"
          onFind={(id) => (location.hash = hrefOf(['credentials'], { ...here, credential: id }))}
        />
      </div>
      <ListBody
        loaded={loaded}
        count={page?.credentials.length}
        empty={
          isFiltered ? (
            <NoMatch what="credentials" hasMore={page !== undefined && page.nextCursor !== null} />
          ) : (
            <NoCredentials isTest={api.mode === 'test'} />
          )
        }
      >
        <section class="card pad" aria-label="Credentials">
          <CredentialTable
            credentials={page?.credentials ?? []}
            hrefOfCredential={(credential) => hrefOf(['credentials'], { ...here, credential })}
          />
        </section>
      </ListBody>
      <Pager path="credentials" values={values} cursor={cursor} nextCursor={page?.nextCursor ?? null} />
      {chosen === null ? null : (
        <CredentialDrawer
          key={chosen}
          api={api}
          issuer={issuer}
          credentialId={chosen}
          onClose={() => (location.hash = hrefOf(['credentials'], here))}
        />
      )}
    </>
  )
}
