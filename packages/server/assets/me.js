// The page of one's own data: sign in, add a passkey, take consent back, delete everything.
import { connectButtons } from './issuer.js'
import { callOurs, createPasskey, signInByPasskey, usePasskey } from './passkey.js'

const root = document.getElementById('me')
const words = JSON.parse(root.dataset.words)
const result = root.querySelector('.result')
const page = {
  words,
  say: (text) => {
    result.textContent = text
  },
}
const { language } = root.dataset
const reload = () => location.reload()
connectButtons(root, { call: (path, body) => callOurs(page, path, body), say: page.say, words })

const acts = {
  'sign-in': () => signInByPasskey(page).then(reload),
  recover: (form) => callOurs(page, 'sign-in', { recoveryCode: form.elements.code.value }).then(reload),
  'sign-out': () => callOurs(page, 'sign-out', {}).then(reload),
  'add-passkey': async () => {
    await callOurs(page, 'me/passkeys', { credential: await createPasskey(page) })
    reload()
  },
  'renew-codes': async (form) => {
    const credential = await usePasskey(page, 'confirm')
    const { recoveryCodes } = await callOurs(page, 'me/recovery-codes', { credential })
    const section = document.getElementById('new-codes')
    section.querySelector('.codes').textContent = recoveryCodes.join('\n')
    section.querySelector('button').addEventListener('click', reload, { once: true })
    form.hidden = true
    section.hidden = false
    section.querySelector('h3').focus()
    page.say('')
  },
  withdraw: (form) => callOurs(page, 'me/withdraw', { memberId: form.dataset.member, language }).then(reload),
  erase: async (form) => {
    if (!form.elements.sure.checked) throw new Error(words.sureFirst)
    await callOurs(page, 'me/erase', { confirm: 'delete everything' })
    root.replaceChildren(result)
    page.say(words.erased)
    result.focus()
  },
}

async function act(form) {
  const button = form.querySelector('button')
  button.disabled = true
  page.say(words.wait)
  try {
    await acts[form.dataset.act](form)
  } catch (error) {
    page.say(error.message)
    result.focus()
  }
  button.disabled = false
}

async function copyId(button) {
  const shown = button.lastElementChild
  const text = shown.textContent
  try {
    await navigator.clipboard.writeText(button.dataset.copy)
  } catch {
    // Without a secure context, or without permission: the whole id is in the title.
    return
  }
  shown.textContent = words.copied
  setTimeout(() => {
    shown.textContent = text
  }, 1_500)
}
for (const button of root.querySelectorAll('[data-copy]'))
  button.addEventListener('click', () => void copyId(button))

for (const form of root.querySelectorAll('form'))
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void act(form)
  })
