import { connectButtons } from './issuer.js'
import { callOurs, createWith, signInByPasskey, useWith } from './passkey.js'

// A person answers with an authenticator for one session. Every text comes from the page. The browser remembers the id of
// the key, so that the next answer is by the same key.
const root = document.getElementById('step-up')
const words = JSON.parse(root.dataset.words)
const { token } = root.dataset
const result = root.querySelector('.result')
const buttons = root.querySelectorAll('#step-ask button')
const stored = 'pohf-step-up-key'

const page = {
  words,
  base: '/api/step-up',
  say: (text) => {
    result.textContent = text
  },
}

// A proof of a company is about a person: who is not signed in signs in first.
const members = { ...page, base: '/api/members/' }
const callMembers = async (path, body) => {
  try {
    return await callOurs(members, path, body)
  } catch (error) {
    if (error.code !== 'sign_in_required') throw error
    await signInByPasskey(members)
    return callOurs(members, path, body)
  }
}
connectButtons(root, { call: callMembers, say: page.say, words })

const [use, other] = buttons
use.addEventListener('click', () => void act(use, localStorage.getItem(stored) ?? undefined))
other.addEventListener('click', () => void act(other, undefined))
other.hidden = localStorage.getItem(stored) === null

async function act(pressed, keyId) {
  for (const button of buttons) button.disabled = true
  page.say(words.wait)
  try {
    const options = await callOurs(page, '/options', { token, keyId })
    const credential = await (options.use ? useWith(page, options.use) : createWith(page, options.create))
    const { attested, reason } = await callOurs(page, '', { token, nonce: options.nonce, credential })
    if (attested) return finish(credential.id)
    page.say(words.refused[reason] ?? words.refused.other)
  } catch (error) {
    page.say(error.message)
  }
  other.hidden = false
  for (const button of buttons) button.disabled = false
  // A disabled button loses the keyboard focus.
  pressed.focus()
}

function finish(keyId) {
  localStorage.setItem(stored, keyId)
  root.querySelector('#step-ask').hidden = true
  page.say('')
  const done = root.querySelector('#step-done')
  done.hidden = false
  done.querySelector('h1').focus()
}
