// The landing page: draws the example seal, then the one of the visitor's own check, and gets a test key.
import { drawSeal } from './seal.js'

const byId = (id) => document.getElementById(id)
const low = 1

const show = async (id) => {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(id)))
  byId('seal').replaceChildren(drawSeal(bytes, low))
}

/** Browsers have the digest only on https and on this machine; elsewhere the seal is left out. */
const canDraw = globalThis.crypto?.subtle !== undefined
if (canDraw) void show('example')

document.addEventListener('pohf-done', ({ detail }) => {
  if (canDraw) void show(detail.sessionId)
  byId('result-tag').textContent = 'Yours'
  byId('result-title').textContent = 'You passed the check, just now.'
  const code = document.createElement('code')
  code.textContent = detail.sessionId
  code.className = 'id'
  byId('result-text').replaceChildren(
    'This seal is drawn from your session ',
    code,
    '. A site would now exchange the session for a signed credential, at assurance low.',
  )
})

const paragraph = (text, className = 'gap') => {
  const element = document.createElement('p')
  element.textContent = text
  element.className = className
  return element
}

const showKey = ({ apiKey, agentId }) => {
  const box = document.createElement('pre')
  const code = document.createElement('code')
  code.textContent = `export POHF_URL=${location.origin}\nexport POHF_KEY=${apiKey}\nexport POHF_AGENT_ID=${agentId}`
  box.append(code)
  box.tabIndex = 0
  box.setAttribute('role', 'region')
  box.setAttribute('aria-label', 'Your test key')
  const link = document.createElement('a')
  link.href = '/console'
  link.className = 'btn main'
  link.textContent = 'Open the console'
  const line = paragraph('')
  line.append(link)
  byId('key-result').replaceChildren(
    paragraph('Your test key. Copy it now: it is shown once.', 'h3'),
    box,
    line,
  )
  box.focus()
}

const form = byId('key-form')
form.hidden = false

const register = async () => {
  const response = await fetch('/api/agents/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...Object.fromEntries(new FormData(form)), mode: 'test' }),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(`${answer.message} Reference: ${answer.requestId}.`)
  form.hidden = true
  showKey(answer)
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  const button = form.querySelector('button')
  button.disabled = true
  void register()
    .catch((error) => {
      const text = error instanceof TypeError ? 'The service did not answer. Try again.' : error.message
      byId('key-result').replaceChildren(paragraph(text, 'result'))
    })
    .finally(() => {
      button.disabled = false
    })
})
