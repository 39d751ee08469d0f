import { useState } from 'preact/hooks'
import { toApiError, type Api, type ApiError } from '../../shared/api/client.ts'
import { ErrorNote } from '../../shared/design/components.tsx'
import { formatUtc, pluralize } from '../../shared/design/time.ts'
import { Facts } from '../facts.tsx'
import type { CreditsCheck, LedgerCheck, Overview } from '../wire.ts'
import { formatBounded } from './messages.ts'

type Results = { readonly at: string; readonly ledger: LedgerCheck; readonly credits: CreditsCheck }

const DifferenceList = ({ ledger, credits }: Results) => (
  <ul class="plainlist lines">
    {ledger.drift.map((drift) => (
      <li key={`${drift.agentId} ${drift.finding} ${drift.subject}`} class="said">
        {drift.finding}: {drift.subject}, {drift.detail}, agent {drift.agentId}, found{' '}
        {formatUtc(drift.foundAt)}
      </li>
    ))}
    {credits.faults.map((fault) => (
      <li key={`${fault.checkoutId} ${fault.fault}`} class="said">
        {fault.fault}: checkout {fault.checkoutId}, agent {fault.agentId}
      </li>
    ))}
    {credits.unmatched.map((event) => (
      <li key={event.eventId} class="said">
        Event {event.eventId} ({event.type}) of the card provider matches no checkout, received{' '}
        {formatUtc(event.receivedAt)}
      </li>
    ))}
  </ul>
)

const useMoneyChecks = (api: Api) => {
  const [results, setResults] = useState<Results>()
  const [error, setError] = useState<ApiError>()
  const [busy, setBusy] = useState(false)
  const check = async () => {
    setBusy(true)
    setError(undefined)
    try {
      const ledger = await api.call<LedgerCheck>('GET', '/operator/ledger/check')
      const credits = await api.call<CreditsCheck>('GET', '/operator/credits/check')
      setResults({ at: new Date().toISOString(), ledger, credits })
    } catch (caught) {
      setError(toApiError(caught))
    } finally {
      setBusy(false)
    }
  }
  return { results, error, busy, check }
}

const ResultFacts = ({ at, ledger, credits }: Results) => (
  <Facts
    rows={[
      ['Checked', formatUtc(at)],
      ['Ledger', `${pluralize(ledger.accounts, 'account')}, ${pluralize(ledger.driftTotal, 'difference')}`],
      [
        'Card payments',
        `${pluralize(credits.checkouts, 'checkout')}, ${pluralize(credits.faultsTotal + credits.unmatched.length, 'difference')}`,
      ],
    ]}
  />
)

const resultText = (results: Results | undefined): string => {
  if (!results) return ''
  return results.ledger.ok && results.credits.ok ? 'No difference was found.' : 'Differences were found.'
}

/** The ledger and the card payments: what the reconciler found, and a check on request. */
export const MoneyCard = ({ api, overview }: { api: Api; overview: Overview }) => {
  const { results, error, busy, check } = useMoneyChecks(api)
  return (
    <section class="card pad" aria-labelledby="money">
      <h2 class="h3" id="money">
        Ledger and credits
      </h2>
      <p class={overview.ledgerDifferences > 0 ? 'bad gap' : 'muted gap'}>
        {overview.ledgerDifferences > 0
          ? `The reconciler found differences that are still open: ${formatBounded(overview.ledgerDifferences)}.`
          : 'The reconciler runs every minute and has found no open difference.'}
      </p>
      {results ? (
        <>
          <ResultFacts {...results} />
          <DifferenceList {...results} />
        </>
      ) : null}
      {error ? <ErrorNote error={error} /> : null}
      <p class="acts">
        <button type="button" class="btn" disabled={busy} onClick={() => void check()}>
          {busy ? 'Checking…' : 'Check both now'}
        </button>
      </p>
      <p class="hidden" role="status">
        {resultText(results)}
      </p>
    </section>
  )
}
