import { connectButtons } from './issuer.js'
import { callOurs, createPasskey, signInByPasskey } from './passkey.js'

// Leads an invited person through consent, passkey and attention check. Every text comes from the page.
const root = document.getElementById('enrol')
const words = JSON.parse(root.dataset.words)
const result = root.querySelector('.result')
const { token, version, language } = root.dataset

const link = {
  words,
  say: (text) => {
    result.textContent = text
  },
}
const call = (path, body) => callOurs(link, path, body)
connectButtons(root, { call, say: link.say, words })

/** An owner may want the person to sign in with their company before the end. */
const last = root.querySelector('#step-company') ? 'company' : 'done'

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
      () => show(last),
      (error) => {
        askForCheck({ site, challenge })
        result.textContent = error.message
      },
    )
  })
  // The check tells the person why it did not pass. The service counts it, and it suffices here where only a place in the
  // budget of the network is missing.
  check.addEventListener('pohf-failed', (event) => {
    if (event.detail.sessionId)
      tie(event.detail.sessionId).then(
        () => show(last),
        () => {
          result.textContent = ''
        },
      )
  })
}

function next(enrolled) {
  if (!enrolled.checkRequired) return show(last)
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
      await signInByPasskey(link)
      next(await call('enrol', agreed))
    } else next(await call('enrol', { ...agreed, credential: await createPasskey(link, token) }))
  } catch (error) {
    result.textContent = error.message
  }
  for (const button of buttons) button.disabled = false
}
