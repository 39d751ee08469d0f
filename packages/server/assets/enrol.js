// Leads an invited person through consent, passkey and attention check. Every text comes from the page.
const root = document.getElementById('enrol')
const words = JSON.parse(root.dataset.words)
const result = root.querySelector('.result')
const { token, version, language } = root.dataset

const toText = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
const toBytes = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0))

class Failed extends Error {
  constructor(code, message) {
    super(message ?? words.failed[code] ?? code)
    this.code = code
  }
}

async function call(path, body) {
  let response
  try {
    response = await fetch(`/api/members/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  } catch {
    throw new Failed('offline')
  }
  const answer = await response.json()
  if (response.ok) return answer
  throw new Failed(answer.error, words.failed[answer.error] ?? `${answer.message} (${answer.requestId})`)
}

async function ask(work) {
  if (!window.PublicKeyCredential) throw new Failed('unsupported')
  result.textContent = words.waitDevice
  try {
    return await work()
  } catch {
    throw new Failed('cancelled')
  }
}

const listOf = (credentials = []) => credentials.map((one) => ({ ...one, id: toBytes(one.id) }))

async function create() {
  const { publicKey } = await call('passkey-options', { purpose: 'create', token })
  const made = await ask(() =>
    navigator.credentials.create({
      publicKey: {
        ...publicKey,
        challenge: toBytes(publicKey.challenge),
        user: { ...publicKey.user, id: toBytes(publicKey.user.id) },
        excludeCredentials: listOf(publicKey.excludeCredentials),
      },
    }),
  )
  return {
    id: made.id,
    rawId: made.id,
    type: made.type,
    clientExtensionResults: {},
    response: {
      clientDataJSON: toText(made.response.clientDataJSON),
      attestationObject: toText(made.response.attestationObject),
    },
  }
}

async function signIn() {
  const { publicKey } = await call('passkey-options', { purpose: 'sign_in' })
  const used = await ask(() =>
    navigator.credentials.get({
      publicKey: {
        ...publicKey,
        challenge: toBytes(publicKey.challenge),
        allowCredentials: listOf(publicKey.allowCredentials),
      },
    }),
  )
  const credential = {
    id: used.id,
    rawId: used.id,
    type: used.type,
    clientExtensionResults: {},
    response: {
      clientDataJSON: toText(used.response.clientDataJSON),
      authenticatorData: toText(used.response.authenticatorData),
      signature: toText(used.response.signature),
    },
  }
  await call('sign-in', { credential })
}

function show(name) {
  for (const section of root.querySelectorAll('section')) section.hidden = section.id !== `step-${name}`
  result.textContent = ''
  root.querySelector(`#step-${name} h2`).focus()
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function tie(sessionId) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await call('attention', { token, sessionId })
    } catch (error) {
      if (error.code !== 'session_not_ready' || tries >= 20) throw error
      result.textContent = error.message
      await pause(1_000)
    }
  }
}

function askForCheck({ site, challenge }) {
  const place = root.querySelector('#step-check')
  place.querySelector('pohf-check')?.remove()
  const check = document.createElement('pohf-check')
  check.setAttribute('site', site)
  check.setAttribute('challenge', challenge)
  place.append(check)
  check.addEventListener('pohf-done', (event) => {
    result.textContent = words.wait
    tie(event.detail.sessionId).then(
      () => show('done'),
      (error) => {
        askForCheck({ site, challenge })
        result.textContent = error.message
      },
    )
  })
}

function next(enrolled) {
  if (enrolled.status === 'enrolled') return show('done')
  askForCheck(enrolled)
  if (!enrolled.recoveryCodes) return show('check')
  root.querySelector('.codes').textContent = enrolled.recoveryCodes.join('\n')
  root.querySelector('#step-codes button').addEventListener('click', () => show('check'), { once: true })
  return show('codes')
}

const form = root.querySelector('form')
form.addEventListener('submit', (event) => {
  event.preventDefault()
  void act(event.submitter?.value)
})

async function act(way) {
  if (!form.elements.agree.checked) {
    result.textContent = words.agreeFirst
    form.elements.agree.focus()
    return
  }
  const buttons = form.querySelectorAll('button')
  for (const button of buttons) button.disabled = true
  result.textContent = words.wait
  const agreed = { token, consentVersion: version, language }
  try {
    if (way === 'sign_in') {
      await signIn()
      next(await call('enrol', agreed))
    } else next(await call('enrol', { ...agreed, credential: await create() }))
  } catch (error) {
    result.textContent = error.message
  }
  for (const button of buttons) button.disabled = false
}
