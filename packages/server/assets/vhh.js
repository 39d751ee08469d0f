// The button "Verify" of /vhh: computes a month of the index again in this browser, from its published inputs.

const decode = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
const utf8 = new TextEncoder()
const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
const prefixed = (first, ...parts) => new Uint8Array([first, ...parts.flatMap((part) => [...part])])

/** The signed claims of an epoch, or an error that says what is wrong. */
const openEpoch = async (jws, jwks) => {
  const [header, payload, signature] = jws.split('.')
  const { alg, typ, kid } = JSON.parse(new TextDecoder().decode(decode(header)))
  if (alg !== 'ES256' || typ !== 'vhh-epoch+jwt') throw new Error('this is not a signed epoch')
  const jwk = jwks.keys.find((key) => key.kid === kid && key.pohf_purpose === 'epoch')
  if (!jwk) throw new Error('it is not signed by a key for epochs')
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  const { kty, crv, x, y } = jwk
  const key = await crypto.subtle.importKey('jwk', { kty, crv, x, y }, algorithm, false, ['verify'])
  const signed = utf8.encode(`${header}.${payload}`)
  const fits = await crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, decode(signature), signed)
  if (!fits) throw new Error('the signature does not fit')
  return JSON.parse(new TextDecoder().decode(decode(payload)))
}

/** The Merkle tree hash of RFC 6962 over the inputs, as they are signed. */
const rootOf = async ({ code, epoch, method, rows, workers }) => {
  const leaves = [
    `inputs\t${code}\t${epoch}\t${method}`,
    ...rows.map((row) => `row\t${row.cluster}\t${row.units}\t${row.seconds}\t${row.usdMicro}`),
    ...workers.map((worker) => `worker\t${worker}`),
  ]
  const hashTree = async (hashes) => {
    if (hashes.length === 1) return hashes[0]
    const split = 2 ** Math.floor(Math.log2(hashes.length - 1))
    return sha256(prefixed(1, await hashTree(hashes.slice(0, split)), await hashTree(hashes.slice(split))))
  }
  return hex(await hashTree(await Promise.all(leaves.map((leaf) => sha256(prefixed(0, utf8.encode(leaf)))))))
}

/** The method vhh-1: the median price, weighted by seconds, with at most 5 % of all seconds for a cluster. */
const valueOf = ({ rows }) => {
  const seconds = new Map()
  for (const row of rows) seconds.set(row.cluster, (seconds.get(row.cluster) ?? 0) + row.seconds)
  const total = BigInt(rows.reduce((sum, row) => sum + row.seconds, 0))
  const weighted = rows
    .map((row) => {
      const ofCluster = BigInt(seconds.get(row.cluster))
      const weight = BigInt(row.seconds) * 1_000_000n
      return { row, weight: ofCluster * 20n > total ? (weight * total) / (20n * ofCluster) : weight }
    })
    .toSorted((a, b) => {
      const difference =
        BigInt(a.row.usdMicro) * BigInt(b.row.seconds) - BigInt(b.row.usdMicro) * BigInt(a.row.seconds)
      return difference < 0n ? -1 : difference > 0n ? 1 : 0
    })
  const all = weighted.reduce((sum, { weight }) => sum + weight, 0n)
  let reached = 0n
  const { row } = weighted.find(({ weight }) => (reached += weight) * 2n >= all)
  const [numerator, denominator] = [BigInt(row.usdMicro) * 3_600n, BigInt(row.seconds) * 10_000n]
  return Number((2n * numerator + denominator) / (2n * denominator)) / 100
}

const readJson = async (path) => {
  const answer = await fetch(path)
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`)
  return answer.json()
}

const checkInputs = async (claims, inputs) => {
  const root = await rootOf(inputs)
  const value = inputs.method === 'vhh-1' ? valueOf(inputs) : undefined
  return [
    [
      root === claims.inputsRoot,
      `The ${inputs.rows.length} rows of inputs have the signed root ${root.slice(0, 16)}…`,
    ],
    [value === claims.value, `Computed here: $${value?.toFixed(2)}. Signed: $${claims.value?.toFixed(2)}.`],
  ]
}

const verify = async (month) => {
  const [{ epoch, inputs }, jwks] = await Promise.all([
    readJson(`/api/index/vhh/inputs?epoch=${month}`),
    readJson('/.well-known/jwks.json'),
  ])
  const claims = await openEpoch(epoch.jws, jwks)
  const fits = claims.value === epoch.value && claims.epoch === month && claims.status === epoch.status
  return [
    [fits, `${month} is signed by a key of this service for epochs.`],
    ...(inputs
      ? await checkInputs(claims, inputs)
      : [[claims.value === null, 'It has no value, so it has no inputs to compute from.']]),
  ]
}

const show = (list, findings) =>
  list.replaceChildren(
    ...findings.map(([passed, text]) => {
      const item = document.createElement('li')
      item.className = passed ? 'yes' : 'no'
      const sign = document.createElement('span')
      sign.className = 'sign'
      sign.textContent = passed ? '✓' : '✕'
      item.append(sign, `${passed ? '' : 'Not true: '}${text}`)
      return item
    }),
  )

const button = document.getElementById('verify-epoch')
const list = document.getElementById('verify-result')
const showVerification = async () => {
  button.disabled = true
  try {
    show(list, await verify(button.dataset.epoch))
  } catch (error) {
    show(list, [[false, error instanceof Error ? error.message : String(error)]])
  } finally {
    button.disabled = false
  }
}
button?.addEventListener('click', () => void showVerification())
