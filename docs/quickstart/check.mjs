// Reads a credential from standard input and checks it against the public keys of the service. Nothing of ours is used.
import { readFileSync } from 'node:fs'
import { createRemoteJWKSet, jwtVerify } from 'jose'

const [base] = process.argv.slice(2)
const jwt = readFileSync(0, 'utf8').trim()
const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', base))
const { payload } = await jwtVerify(jwt, keys, { algorithms: ['ES256'], issuer: `${base}/test` })
console.log(`genuine: ${payload.kind}, quality ${payload.quality}, test ${payload.test}`)
