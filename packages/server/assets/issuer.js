// Begins a sign-in at an outside issuer. The tab keeps the sealed state, and the page that the issuer leads back to sends it with
// the answer: another browser, or another tab, cannot finish it.
const kept = 'pohf-issuer-check'

/** Leads the browser to the issuer. `call` asks for the begin; `finish` and `body` say how the page of the return ends it. */
export async function goToIssuer({ begin, finish, body, back }) {
  const { request, state } = await begin()
  sessionStorage.setItem(kept, JSON.stringify({ state, finish, body, back }))
  location.assign(request.url)
}

/** What this tab began; it is forgotten, because it works once. */
export function takeBegun() {
  const text = sessionStorage.getItem(kept)
  sessionStorage.removeItem(kept)
  return text === null ? undefined : JSON.parse(text)
}

/** Lets every button of a page that names an issuer begin its sign-in, for the person who is signed in. */
export function connectButtons(root, { call, say, words }) {
  for (const button of root.querySelectorAll('button[data-issuer]'))
    button.addEventListener('click', () => void press(button, { call, say, words }))
}

async function press(button, { call, say, words }) {
  const { issuer, member, back } = button.dataset
  button.disabled = true
  say(words.wait)
  try {
    await goToIssuer({
      begin: () => call('me/proofs/begin', { issuer, ...(member ? { memberId: member } : {}) }),
      finish: '/api/members/me/proofs/finish',
      body: {},
      back,
    })
  } catch (error) {
    say(error.message)
    button.disabled = false
  }
}
