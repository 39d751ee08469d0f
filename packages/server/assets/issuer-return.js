import { takeBegun } from './issuer.js'

// The page that an issuer leads back to. Every text comes from the page.
const root = document.getElementById('issuer-return')
const words = JSON.parse(root.dataset.words)
const { language } = root.dataset
const title = root.querySelector('h1')
const result = root.querySelector('.result')
const link = root.querySelector('a')

const answer = Object.fromEntries(new URLSearchParams(location.search))
// The code of the sign-in stays in no history.
history.replaceState(null, '', location.pathname)

const fill = (text, values) => text.replaceAll(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole)
const timeOf = (instant) =>
  new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(instant))

function end(heading, text, back, label) {
  title.textContent = heading
  result.textContent = text
  link.textContent = label
  link.href = back
  link.parentElement.hidden = false
  title.focus()
}

async function send({ finish, body, state }) {
  const response = await fetch(finish, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, state, answer }),
  }).catch(() => undefined)
  if (!response) return { code: 'offline' }
  const json = await response.json().catch(() => ({}))
  return response.ok ? { shown: json } : { code: json.details?.[0]?.code ?? json.error }
}

const hostOf = (issuerId) => (URL.canParse(issuerId) ? new URL(issuerId).host : issuerId)

const begun = takeBegun()
if (!begun) end(words.failedTitle, words.lost, '/me', words.next)
else {
  const { shown, code } = await send(begun)
  if (shown)
    end(
      words.doneTitle,
      fill(words.doneLead, { issuer: hostOf(shown.issuerId), until: timeOf(shown.expiresAt) }),
      begun.back,
      words.next,
    )
  else end(words.failedTitle, words.failed[code] ?? fill(words.otherwise, { code }), begun.back, words.back)
}
