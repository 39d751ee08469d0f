// Talks to our own endpoints and to the authenticator. `page` has the words and shows what is going on.
const toText = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
const toBytes = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0))

class Failed extends Error {
  constructor(code, message) {
    super(message)
    this.code = code
  }
}

export async function callOurs({ words, base = '/api/members/' }, path, body) {
  let response
  try {
    response = await fetch(`${base}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  } catch {
    throw new Failed('offline', words.failed.offline)
  }
  const answer = await response.json()
  if (response.ok) return answer
  throw new Failed(answer.error, words.failed[answer.error] ?? `${answer.message} (${answer.requestId})`)
}

async function ask({ words, say }, work) {
  if (!window.PublicKeyCredential) throw new Failed('unsupported', words.failed.unsupported)
  say(words.waitDevice)
  try {
    return await work()
  } catch {
    throw new Failed('cancelled', words.failed.cancelled)
  }
}

const listOf = (credentials = []) => credentials.map((one) => ({ ...one, id: toBytes(one.id) }))

/** A new passkey, as JSON; `token` is that of an invitation. */
export async function createPasskey(page, token) {
  const { publicKey } = await callOurs(page, 'passkey-options', { purpose: 'create', token })
  return createWith(page, publicKey)
}

/** A new key by these options, as JSON. */
export async function createWith(page, publicKey) {
  const made = await ask(page, () =>
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

/** What a passkey of this device signs for `sign_in` or `confirm`, as JSON. */
export async function usePasskey(page, purpose) {
  const { publicKey } = await callOurs(page, 'passkey-options', { purpose })
  return useWith(page, publicKey)
}

/** What a known key signs by these options, as JSON. */
export async function useWith(page, publicKey) {
  const used = await ask(page, () =>
    navigator.credentials.get({
      publicKey: {
        ...publicKey,
        challenge: toBytes(publicKey.challenge),
        allowCredentials: listOf(publicKey.allowCredentials),
      },
    }),
  )
  return {
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
}

export async function signInByPasskey(page) {
  await callOurs(page, 'sign-in', { credential: await usePasskey(page, 'sign_in') })
}
