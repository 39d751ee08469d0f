import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../packages/server/dev/cluster.ts'
import { pollUntil } from '../../packages/server/test/fixtures/polling.ts'
import { waitForExit } from '../../packages/server/test/fixtures/processes/restarts.ts'
import { processTree, signalAll } from '../driver/closing.ts'

/** The first start of an installation builds it, which takes a minute and a half on a busy machine. */
const startMsMax = 480_000
const stopMsMax = 30_000

/** Keycloak at a free port of this machine, with nothing in it but its administrator. What it stores is gone when it ends. */
export const startKeycloak = async (home: string, folder: string) => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const adminPassword = randomBytes(16).toString('hex')
  const logFile = join(folder, 'keycloak.log')
  const log = openSync(logFile, 'a')
  const child = spawn(
    join(home, 'bin/kc.sh'),
    ['start-dev', '--http-host=127.0.0.1', `--http-port=${port}`, '--db=dev-mem', '--cache=local'],
    {
      stdio: ['ignore', log, log],
      env: {
        ...process.env,
        KC_BOOTSTRAP_ADMIN_USERNAME: 'admin',
        KC_BOOTSTRAP_ADMIN_PASSWORD: adminPassword,
      },
    },
  )
  closeSync(log)
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
    const timer = setTimeout(() => signalAll(processTree(child.pid ?? 0), 'SIGKILL'), stopMsMax)
    await waitForExit(child)
    clearTimeout(timer)
  }
  const isServing = async (): Promise<boolean> => {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`Keycloak ended before it served: ${readFileSync(logFile, 'utf8').slice(-2_000)}`)
    return fetch(`${url}/realms/master`, { signal: AbortSignal.timeout(5_000) }).then(
      ({ ok }) => ok,
      () => false,
    )
  }
  try {
    await pollUntil(`Keycloak answers at ${url}`, isServing, startMsMax)
  } catch (error) {
    await stop()
    throw error
  }
  return { url, adminPassword, stop }
}
