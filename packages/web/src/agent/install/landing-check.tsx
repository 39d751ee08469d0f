import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import { useAction } from '../../shared/api/use-action.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { Commands, ErrorNote } from '../../shared/design/components.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { visitLine } from '../attention/empty.tsx'
import type { Funnel, Verification } from '../wire.ts'

/** A beacon that arrived is shown within a second, and one that did not is explained after five. */
const watchMs = 1_000
const patienceMs = 5_000

type TestView = { readonly since: string; readonly href: string; readonly url: string }

/** The address with the token in its fragment, which no request and no log has. */
const addressWith = (url: string, vt: string): string => {
  const address = new URL(url)
  address.hash = address.hash === '' ? `pohf_vt=${vt}` : `${address.hash.slice(1)}&pohf_vt=${vt}`
  return address.href
}

/** A simulated view of the test agent, and the time before it, by the clock of the service. */
const makeTestView = async (api: Api, url: string): Promise<TestView> => {
  const { until } = await api.call<Funnel>('GET', '/api/agents/metrics/funnel')
  const sessionId = `landing-${crypto.randomUUID()}`
  const { vt } = await api.call<Verification>('POST', '/api/agents/verify', { sessionId })
  return { since: until, href: addressWith(url, vt ?? ''), url }
}

const Causes = ({ url }: { url: string }) => (
  <>
    <p class="gap">Nothing arrived within 5 seconds. Possible causes:</p>
    <ul class="causes">
      <li>The page does not have the line, or has it in a part that is not delivered yet.</li>
      <li>
        Its Content Security Policy lacks <code>{location.origin}</code> in <code>script-src</code> or{' '}
        <code>connect-src</code>.
      </li>
      <li>
        It waits for consent, or your browser sends Global Privacy Control: then call{' '}
        <code>pohf.consent(true)</code>.
      </li>
      <li>The page is in a background tab: a visit begins when it is in view.</li>
    </ul>
    <p class="gap">This command loads the page and names the cause:</p>
    <Commands
      label="Command that checks your landing page"
      text={`npx pohf tag check '${new URL(url).href.replaceAll("'", '%27')}' \\
  --url ${location.origin}`}
    />
  </>
)

/** Waits for the first beacon of the test view. */
const LandingWatch = ({ api, view }: { api: Api; view: TestView }) => {
  const [openedAt, setOpenedAt] = useState<number>()
  const address = `/api/agents/metrics/funnel?${new URLSearchParams({ since: view.since }).toString()}`
  const { value, error } = useQuery(() => api.call<Funnel>('GET', address), address, watchMs)
  const isSeen = (value?.landed ?? 0) > 0
  const isLate = !isSeen && openedAt !== undefined && Date.now() - openedAt > patienceMs
  return (
    <>
      <p class="gap">
        <a
          class="btn"
          href={view.href}
          target="_blank"
          rel="noopener noreferrer"
          onClick={() => setOpenedAt(Date.now())}
        >
          Open your landing page
        </a>
      </p>
      <p class={`gap ${isSeen ? 'seen-text' : ''}`} role="status">
        {isSeen
          ? `✓ We saw your landing page${(value?.engaged ?? 0) > 0 ? ', and that somebody used it' : ''}.`
          : openedAt === undefined
            ? 'It opens in a new tab, with the token of a simulated view.'
            : isLate
              ? 'Still waiting for the first beacon.'
              : 'Waiting for the first beacon…'}
      </p>
      {isSeen ? (
        <p class="gap">
          <a href={hrefOf(['funnel'])}>Open the funnel</a>
        </p>
      ) : null}
      {isLate ? <Causes url={view.url} /> : null}
      {error ? <ErrorNote error={error} /> : null}
    </>
  )
}

const isAddress = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)

/** Tries the landing page with a simulated view: the browser of the reader opens it, the service fetches nothing. */
const LandingForm = ({ api }: { api: Api }) => {
  const [url, setUrl] = useState('')
  const [view, setView] = useState<TestView>()
  const action = useAction(() => undefined)
  return (
    <>
      <form
        class="paste"
        onSubmit={(event) => {
          event.preventDefault()
          if (isAddress(url)) void action.run('', async () => setView(await makeTestView(api, url)))
        }}
      >
        <label for="landing-url">Address of your landing page</label>
        <input
          id="landing-url"
          type="url"
          required
          pattern="https?://.+"
          maxLength={1_000}
          placeholder="https://shop.example/offer"
          value={url}
          onInput={(event) => setUrl(event.currentTarget.value)}
        />
        <button class="btn" type="submit" disabled={action.busy}>
          Check my installation
        </button>
      </form>
      {action.error ? <ErrorNote error={action.error} /> : null}
      {view ? <LandingWatch key={view.since} api={api} view={view} /> : null}
    </>
  )
}

/** The line for landing pages, and whether it works. */
export const LandingCard = ({ api }: { api: Api }) => (
  <section class="card pad" aria-labelledby="landing">
    <h2 class="h3" id="landing">
      5. Report visits after the click
    </h2>
    <p class="muted gap">
      One line in the page that a link leads to, and the view token in the address of the link:{' '}
      <code>?pohf_vt=</code> with <code>vt</code> of the event <code>pohf-done</code>. No cookie, no storage.
    </p>
    <Commands text={visitLine(location.origin)} label="Line for your landing page" />
    {api.mode === 'test' ? (
      <LandingForm api={api} />
    ) : (
      <p class="muted gap">
        In test mode this page opens your landing page with a simulated view and says whether a beacon
        arrives.
      </p>
    )}
  </section>
)
