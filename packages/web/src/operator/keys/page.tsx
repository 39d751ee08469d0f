import { useState } from 'preact/hooks'
import { toApiError, type Api, type ApiError } from '../../shared/api/client.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { Commands, ErrorNote, Skeleton } from '../../shared/design/components.tsx'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { formatUtc, pluralize, timeAgo, timeUntil } from '../../shared/design/time.ts'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { Facts } from '../facts.tsx'
import type { KeysCheck, SigningKey, SigningKeys } from '../wire.ts'

const stateTones: Readonly<Record<string, string>> = { active: 'ok', revoked: 'stop', pending: 'warn' }

/** A time of the past or the future. */
const Instant = ({ at, now }: { at: string; now: number }) => (
  <time class="moment" dateTime={at}>
    <span class="num">{at.slice(0, 16).replace('T', ' ')}</span>{' '}
    <span class="faint">{Date.parse(at) > now ? timeUntil(at, now) : timeAgo(at, now)}</span>
  </time>
)

/** Keys that sign first, then the newest. */
const inOrder = (keys: readonly SigningKey[]): readonly SigningKey[] =>
  keys.toSorted(
    (a, b) =>
      Number(b.state === 'active') - Number(a.state === 'active') || b.activeFrom.localeCompare(a.activeFrom),
  )

const KeyTable = ({ keys }: { keys: readonly SigningKey[] }) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Signing keys">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">Purpose</th>
            <th scope="col">State</th>
            <th scope="col">Signer</th>
            <th scope="col">Signs from, UTC</th>
            <th scope="col">Signs until, UTC</th>
            <th scope="col">Published until, UTC</th>
          </tr>
        </thead>
        <tbody>
          {inOrder(keys).map((key) => (
            <tr key={`${key.signer} ${key.kid}`}>
              <th scope="row">
                <CopyId value={key.kid} label="key" />
              </th>
              <td>{key.purpose}</td>
              <td>
                <span class={`chip ${stateTones[key.state] ?? ''}`}>{key.state}</span>{' '}
                {key.admitted ? null : <span class="chip stop">not admitted</span>}
              </td>
              <td data-label="Signer">
                <CopyId value={key.signer} label="signer" />
              </td>
              <td data-label="Signs from">
                <Instant at={key.activeFrom} now={now} />
              </td>
              <td data-label="Signs until">
                <Instant at={key.activeUntil} now={now} />
              </td>
              <td data-label="Published until">
                <Instant at={key.removeAt} now={now} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const CheckResult = ({ check }: { check: KeysCheck }) => (
  <>
    <p class={`note ${check.ok ? 'ok' : 'stop'}`} role="status">
      {check.ok
        ? 'Every stored credential is in the journal of a signer, with the same content and key.'
        : `${pluralize(check.differencesTotal, 'credential differs', 'credentials differ')} from the journals. Treat the keys as compromised until you know why.`}
    </p>
    <Facts
      rows={[
        ['From', formatUtc(check.from)],
        ['To', formatUtc(check.to)],
        ['Signed', check.signed.toLocaleString('en')],
        ['Stored', check.stored.toLocaleString('en')],
        ['Signed and never stored', check.neverStored.toLocaleString('en')],
      ]}
    />
    {check.differences.length === 0 ? null : (
      <ul class="plainlist lines">
        {check.differences.map(({ credentialId, fault }) => (
          <li key={credentialId} class="spread">
            <CopyId value={credentialId} label="credential" />
            {fault.replaceAll('_', ' ')}
          </li>
        ))}
      </ul>
    )}
  </>
)

const CheckCard = ({ api }: { api: Api }) => {
  const [check, setCheck] = useState<KeysCheck>()
  const [error, setError] = useState<ApiError>()
  const [busy, setBusy] = useState(false)
  const run = async () => {
    setBusy(true)
    setError(undefined)
    try {
      setCheck(await api.call<KeysCheck>('GET', '/operator/keys/check'))
    } catch (caught) {
      setError(toApiError(caught))
    } finally {
      setBusy(false)
    }
  }
  return (
    <section class="card pad" aria-labelledby="check">
      <h2 class="h3" id="check">
        Check of the last day
      </h2>
      <p class="muted gap">
        Compares the journals of the signers with the stored credentials. A credential that no journal has was
        signed by somebody else.
      </p>
      {check ? <CheckResult check={check} /> : null}
      {error ? <ErrorNote error={error} /> : null}
      <p class="acts">
        <button type="button" class="btn" disabled={busy} onClick={() => void run()}>
          {busy ? 'Checking…' : 'Check now'}
        </button>
      </p>
    </section>
  )
}

const finding = (keys: readonly SigningKey[], now: number): string => {
  const [first] = keys
    .filter(({ state }) => state === 'active')
    .toSorted((a, b) => a.activeUntil.localeCompare(b.activeUntil))
  return first
    ? `The next key to rotate signs until ${formatUtc(first.activeUntil)}, ${timeUntil(first.activeUntil, now)}`
    : 'No key signs'
}

/** Page "Signing keys": which keys sign, and whether anything was signed outside the journals. */
export const KeysPage = ({ api }: PageProps) => {
  const loaded = useQuery(() => api.call<SigningKeys>('GET', '/operator/keys'), 'keys', 30_000)
  const keys = loaded.value?.keys
  return (
    <>
      <PageHead name="Signing keys" finding={keys ? finding(keys, Date.now()) : undefined}>
        Keys are rotated and revoked at the command line, because both are rare and neither can be undone.
      </PageHead>
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {keys === undefined && loaded.slow ? <Skeleton /> : null}
      {keys ? <KeyTable keys={keys} /> : null}
      <div class="two">
        <CheckCard api={api} />
        <section class="card pad" aria-labelledby="rotate">
          <h2 class="h3" id="rotate">
            Rotate or revoke
          </h2>
          <p class="muted gap">
            A rotation publishes the successor; it signs a day later. Revoke a key only if it is compromised:
            everything that it signed becomes invalid.
          </p>
          <Commands
            text={`npx pohf keys list\nnpx pohf keys rotate PURPOSE\nnpx pohf keys revoke KID --reason TEXT`}
            label="Commands for signing keys"
          />
        </section>
      </div>
    </>
  )
}
