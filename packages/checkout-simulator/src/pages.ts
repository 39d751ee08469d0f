import { readFileSync } from 'node:fs'
import type { Simulator } from './actions.ts'
import type { Session } from './records.ts'

export const stylesheet = ['base.css', 'components.css']
  .map((name) => readFileSync(new URL(`../../web/src/shared/design/${name}`, import.meta.url), 'utf8'))
  .join('\n')

const escapes: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escape = (text: string) => text.replaceAll(/[&<>"']/g, (character) => escapes[character] ?? '')
const usd = (cents: number) => `${(cents / 100).toFixed(2)} USD`

const page = (title: string, body: string) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${escape(title)} · Checkout simulator</title>
    <link rel="stylesheet" href="/pohf.css" />
  </head>
  <body>
    <main class="page narrow">
      <p class="brand">Checkout simulator <span class="chip test">No real money</span></p>
      ${body}
    </main>
  </body>
</html>`

/** Forms may lead to this server and back to the origin that opened the session. */
export const headersOf = (session: Session | undefined): Record<string, string> => {
  const origins = session
    ? [session.successUrl, session.cancelUrl ?? session.successUrl].map((url) => new URL(url).origin)
    : []
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': `default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'; form-action ${["'self'", ...new Set(origins)].join(' ')}`,
  }
}

const button = (how: string, label: string, main = false) =>
  `<button class="btn${main ? ' main' : ''}" name="how" value="${how}">${escape(label)}</button>`

/** The hosted page, as a person sees it. */
export const payPage = (session: Session, note?: string): string => {
  if (session.status !== 'open')
    return page(
      'Nothing to pay',
      `<h1>There is nothing to pay here.</h1>
      <p>This checkout is ${session.status === 'expired' ? 'over' : 'done'}. <a href="${escape(session.successUrl)}">Back to the merchant</a></p>`,
    )
  return page(
    `Pay ${usd(session.amount)}`,
    `${note === undefined ? '' : `<p role="alert" class="result">${escape(note)}</p>`}
      <h1>Pay ${usd(session.amount)}</h1>
      <p>${escape(session.name)}</p>
      <p class="muted">This page simulates the card provider on a developer’s machine. It asks for no card and charges nothing. Each button does what a real payment of that kind would do.</p>
      <form class="stack" method="post">
        ${button('card', `Pay ${usd(session.amount)} by card`, true)}
        ${button('slow', 'Pay by slow bank debit')}
        ${button('declined', 'Try a card that is declined')}
        ${button('back', 'Go back without paying')}
      </form>
      <p class="faint small">Session <span class="id">${session.id}</span></p>`,
  )
}

export const unknownPage = (): string =>
  page(
    'Unknown session',
    '<h1>There is no such checkout.</h1><p>Its address may be cut, or it is from another start. Open a new checkout.</p>',
  )

const rowsMax = 50

const table = (head: readonly string[], rows: readonly (readonly string[])[], empty: string) =>
  rows.length === 0
    ? `<p class="muted">${empty}</p>`
    : `<div class="scroll" tabindex="0"><table><thead><tr>${head.map((name) => `<th scope="col">${name}</th>`).join('')}</tr></thead><tbody>${rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('')}</tbody></table></div>`

/** Sessions and deliveries, newest first. */
export const homePage = ({ records, deliverer }: Simulator): string => {
  const sessions = [...records.sessions.values()].toReversed().slice(0, rowsMax)
  const deliveries = deliverer.deliveries.toReversed().slice(0, rowsMax)
  return page(
    'What happened',
    `<h1>${sessions.length === 0 ? 'Nobody has opened a checkout yet.' : 'Checkouts on this machine.'}</h1>
      <p class="muted">This simulates the card provider on a developer’s machine.</p>
      <h2>Sessions</h2>
      ${table(
        ['What', 'Amount', 'State', 'Page'],
        sessions.map((session) => [
          escape(session.name),
          `<span class="num">${usd(session.amount)}</span>`,
          session.status === 'complete' ? session.paymentStatus : session.status,
          session.status === 'open' ? `<a href="/pay/${session.id}">Open</a>` : '',
        ]),
        'Buy a pack with a live key, and it is here.',
      )}
      <h2>Events sent to the webhook endpoint</h2>
      ${table(
        ['Event', 'Response'],
        deliveries.map((delivery) => [
          `<code>${delivery.type}</code>${delivery.signed === 'wrong' ? ' with a wrong signature' : ''}`,
          delivery.status === 0 ? 'no response' : String(delivery.status),
        ]),
        'None yet.',
      )}`,
  )
}
