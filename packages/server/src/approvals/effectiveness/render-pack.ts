import { reportMethod, type ApprovalFigures, type ApprovalReport, type Mode } from '@pohf/protocol'
import { knownBadMin } from '@pohf/verify/approvals'
import { html, Html } from '../../platform/http/html.ts'

type Pack = {
  readonly issuer: string
  readonly agentId: string
  readonly mode: Mode
  /** In seconds. */
  readonly signedAt: number
  readonly report: ApprovalReport
  readonly jws: string
}

const styles = new Html(`
  body { font: 15px/1.5 system-ui, sans-serif; color: #16181d; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
  h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
  table { border-collapse: collapse; width: 100%; } caption { text-align: left; padding-bottom: .4rem; }
  th, td { text-align: left; padding: .35rem .6rem .35rem 0; border-top: 1px solid #c9ccd3; vertical-align: top; }
  td { font-variant-numeric: tabular-nums; } .jws { overflow-wrap: anywhere; font: 11px/1.4 ui-monospace, monospace; }
  @media print { body { margin: 0; } table, tr { break-inside: avoid; } }`)

const percent = (value: number): string => `${(value * 100).toFixed(1)}%`
const shareText = ({ n, of, share, low, high }: ApprovalFigures['caught']): string =>
  share === null || low === null || high === null
    ? 'none'
    : `${n} of ${of}: ${percent(share)} (${percent(low)} to ${percent(high)})`
const orNone = (value: number | null, unit = ''): string =>
  value === null ? 'none' : `${Math.round(value * 100) / 100}${unit}`

const rowsOf = (report: ApprovalReport): readonly (readonly [name: string, value: string | number])[] => [
  ['Requests', report.requests],
  ['Requests that expired', report.expired],
  ['Approvals that were consumed', report.consumed],
  ['Decisions, with those about known-bad requests', report.team.decisions],
  ['Approved', report.team.approved],
  ['Denied', report.team.denied],
  ['Known-bad requests that were caught', shareText(report.team.caught)],
  ['Approvals faster than the reading time', shareText(report.team.fast)],
  ['Median time in view', orNone(report.team.medianSecondsInView, ' s')],
  ['Median quality of the recording', orNone(report.team.medianAttention)],
]

const team = (report: ApprovalReport): Html => html`
  <h2>Team</h2>
  <table>
    ${rowsOf(report).map(
      ([name, value]) =>
        html`<tr>
          <th scope="row">${name}</th>
          <td>${value}</td>
        </tr>`,
    )}
  </table>
`

const people = ({ perPerson }: ApprovalReport): Html =>
  perPerson === null
    ? html`<h2>People</h2>
        <p>This report names nobody: an owner has not turned that on.</p>`
    : html`<h2>People</h2>
        <table>
          <caption>
            People who decided at least ${knownBadMin} known-bad requests. Left out, with fewer:
            ${perPerson.tooFew}.
          </caption>
          <tr>
            <th scope="col">Person</th>
            <th scope="col">Decisions</th>
            <th scope="col">Known-bad requests caught</th>
            <th scope="col">Faster than reading</th>
            <th scope="col">Below the team</th>
          </tr>
          ${perPerson.people.map(
            (person) =>
              html`<tr>
                <th scope="row">${person.name}</th>
                <td>${person.decisions}</td>
                <td>${shareText(person.caught)}</td>
                <td>${shareText(person.fast)}</td>
                <td>${person.belowTeam ? 'yes' : 'no'}</td>
              </tr>`,
          )}
        </table>`

const method = html`
  <h2>How to read it</h2>
  <p>
    A known-bad request was sent by an administrator and should have been denied. Approvers could not tell it
    from others, and it could never be consumed. Intervals are those of Wilson at 95 percent. A person is
    below the team where Fisher's exact test, at 1 percent for the whole team, says that they caught fewer
    than the others, and their interval lies below the share of the others. An approval is faster than reading
    where the page was in view for less time than a fast reader needs.
  </p>
  <p>
    The figures say how often people denied what should be denied, and how long they looked. They do not say
    that anybody understood a request, nor what a person would have decided about another one.
  </p>
`

/** A page to print, without scripts and without files of its own. */
export const renderPack = ({ issuer, agentId, mode, signedAt, report, jws }: Pack): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Approvals, ${report.from.slice(0, 10)} to ${report.to.slice(0, 10)}</title>
        <style>
          ${styles}
        </style>
      </head>
      <body>
        <main>
          <h1>How attentive approvals were</h1>
          <p>
            Agent ${agentId}, ${mode} mode, from ${report.from} to ${report.to}. Signed by ${issuer} at
            ${new Date(signedAt * 1_000).toISOString()}, by the rules ${reportMethod}.
          </p>
          ${team(report)} ${people(report)} ${method}
          <h2>Signed form</h2>
          <p>
            The text below is the same report, signed. The guide "Measure whether oversight works" says how to
            verify it without a connection.
          </p>
          <p class="jws">${jws}</p>
        </main>
      </body>
    </html>`.text
