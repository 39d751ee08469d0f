// The health check of a container: exits with 0 if the process of this role can do its work.
// node deploy/health.ts api|signer
import { connect } from 'node:net'

/** Asks the api, which asks the database and the signer. It answers within two seconds. */
const checkApi = async (): Promise<boolean> => {
  const { ok } = await fetch(`http://127.0.0.1:${process.env['PORT'] ?? 3_000}/readyz`)
  return ok
}

/** Lets the signer sign and verify with each of its keys. */
const checkSigner = (): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const socket = connect(process.env['SIGNER_SOCKET'] ?? `${process.env['DATA_DIR']}/signer.sock`)
    socket.setEncoding('utf8').on('error', reject)
    socket.on('close', () => resolve(false))
    socket.on('data', (line: string) => resolve('id' in JSON.parse(line) && !('error' in JSON.parse(line))))
    socket.write(`${JSON.stringify({ id: 1, op: 'self-test' })}\n`)
  })

const checks: Readonly<Record<string, () => Promise<boolean>>> = { api: checkApi, signer: checkSigner }
const healthy = await (checks[process.argv[2] ?? '']?.() ?? false)
process.exit(healthy ? 0 : 1)
