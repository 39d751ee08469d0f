import { connect, createServer } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  arrivalPath,
  arrivalProof,
  arrivalReport,
  checkMailServer,
  loadSecrets,
  signerAddressesOf,
  type Config,
} from '@pohf/server/doctor'
import { messageOf } from '../../command/errors.ts'
import { ok, problem, warning, type Finding, type Machine } from './finding.ts'
import { checkEnd } from './machine.ts'

const timeoutMs = 3_000

const fetchText = async (
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; text: string } | undefined> => {
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(timeoutMs) })
    return { status: response.status, text: (await response.text()).slice(0, 500) }
  } catch {
    return undefined
  }
}

const checkServer = async ({ BASE_URL: url }: Config): Promise<Finding> => {
  const answer = await fetchText(`${url}/readyz`)
  if (answer === undefined)
    return problem(
      'server',
      `${url} does not respond`,
      'Start the server with npm start, or correct BASE_URL',
    )
  return answer.status === 200
    ? ok('server', `${url} is ready`)
    : problem(
        'server',
        `${url}/readyz answers ${answer.status}: ${answer.text.trim()}`,
        'Correct what it names: docs/operate/runbooks.md has each of them',
      )
}

const setProxies = 'Set TRUSTED_PROXIES to the addresses of your proxies, and to nobody else'
const setHeader = 'Let the proxy set X-Forwarded-For to the address of its client, or append it'

/** What a request through the public address says of its client when it arrives. */
const findingOfArrival = (
  { peer, forwardedFor, address }: ReturnType<typeof arrivalReport.parse>,
  isPublic: boolean,
): Finding => {
  const sent =
    forwardedFor === null ? 'no X-Forwarded-For' : `X-Forwarded-For: ${JSON.stringify(forwardedFor)}`
  if (address === 'unknown')
    return problem(
      'proxy',
      `${peer} sends ${sent}, which has no address where the client belongs: all clients share one limit`,
      setHeader,
    )
  if (address !== peer) return ok('proxy', `${peer} sends ${sent}; the client is ${address}`)
  if (forwardedFor !== null)
    return problem(
      'proxy',
      `${peer} sends ${sent} and is not trusted: all of its clients count as ${peer}`,
      setProxies,
    )
  return isPublic
    ? problem(
        'proxy',
        `requests arrive from ${peer} with no X-Forwarded-For: all clients of that proxy count as one`,
        `${setHeader}. If no proxy is there, and ${peer} is this machine, nothing is wrong`,
      )
    : ok('proxy', `requests arrive from ${peer} without a proxy`)
}

/** Asks the service through BASE_URL how the request arrived. Without the master key, and from an older server, there is no answer. */
const checkArrival = async (
  { BASE_URL: url, DATA_DIR: dataDir, loopback }: Config,
  { now }: Machine,
): Promise<Finding[]> => {
  if (!existsSync(join(dataDir, 'master.key'))) return []
  try {
    const proof = arrivalProof(loadSecrets(dataDir), new Date(now()))
    const answer = await fetchText(`${url}${arrivalPath}`, proof)
    if (answer?.status !== 200) return []
    return [findingOfArrival(arrivalReport.parse(JSON.parse(answer.text)), !loopback)]
  } catch {
    // The check of the master key reports a file that cannot be read.
    return []
  }
}

/** Why one cannot listen there; undefined where one can. */
const listenFault = (host: string, port: number): Promise<string | undefined> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', (error) => resolve('code' in error ? String(error.code) : error.message))
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(undefined)))
  })

const isOurs = async (host: string, port: number): Promise<boolean> => {
  const name = host.includes(':') ? `[${host}]` : host
  const answer = await fetchText(
    `http://${/^(0\.0\.0\.0|\[::\])$/.test(name) ? '127.0.0.1' : name}:${port}/livez`,
  )
  return answer?.text === 'alive\n'
}

const checkPort = async (name: string, host: string, port: number): Promise<Finding> => {
  const fault = port === 0 ? undefined : await listenFault(host, port)
  if (fault === undefined) return ok('port', `${name}: ${host}:${port} is free`)
  if (fault === 'EADDRINUSE' && (await isOurs(host, port)))
    return ok('port', `${name}: the service listens at ${host}:${port}`)
  return fault === 'EADDRINUSE'
    ? problem(
        'port',
        `${name}: another program listens at ${host}:${port}`,
        `Stop it (ss -ltnp 'sport = :${port}' names it), or set ${name} to another port`,
      )
    : problem('port', `${name}: cannot listen at ${host}:${port} (${fault})`, `Correct ${name} or its host`)
}

type SignerTarget = ReturnType<typeof signerAddressesOf>[number]
const nameOf = (target: SignerTarget): string =>
  'path' in target ? target.path : `${target.host}:${target.port}`

/** Connects and closes; with TLS, both certificates are checked. */
const reach = (target: SignerTarget): Promise<void> =>
  new Promise((resolve, reject) => {
    const isTls = 'host' in target
    const socket = isTls
      ? connectTls({ host: target.host, port: target.port, servername: target.host, ...target.identity })
      : connect(target.path)
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error('no answer within 3 s')))
    socket.once('error', reject)
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      socket.destroy()
      resolve()
    })
  })

const checkSigners = async (config: Config): Promise<Finding[]> => {
  try {
    return await Promise.all(
      signerAddressesOf(config).map(async (target) =>
        reach(target).then(
          () => ok('signer', `${nameOf(target)} answers`),
          (error: unknown) =>
            problem(
              'signer',
              `${nameOf(target)} does not answer: ${messageOf(error)}`,
              'Start the signer, or correct SIGNER_URL or SIGNER_SOCKET. Its user or group must be that of SIGNER_SOCKET_MODE',
            ),
        ),
      ),
    )
  } catch (error) {
    return [problem('signer', messageOf(error), 'Correct SIGNER_TLS_CERT, SIGNER_TLS_KEY and SIGNER_TLS_CA')]
  }
}

const checkMail = async ({ SMTP_URL: url, loopback }: Config): Promise<Finding> => {
  if (url === undefined)
    return (loopback ? warning : problem)(
      'mail',
      'mails wait in the outbox',
      'Set SMTP_URL to your mail server',
    )
  return checkMailServer(url).then(
    () => ok('mail', 'the mail server accepts this service'),
    (error: unknown) =>
      problem(
        'mail',
        `the mail server does not accept this service: ${messageOf(error)}`,
        'Start it, or correct SMTP_URL: host, port, user and password',
      ),
  )
}

/** The certificate that clients of BASE_URL see. */
const checkPublicCertificate = ({ BASE_URL: url }: Config, machine: Machine): Promise<Finding[]> => {
  const { protocol, hostname, port } = new URL(url)
  if (protocol !== 'https:') return Promise.resolve([])
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[(.+)\]$/, '$1')
    const socket = connectTls({
      host,
      port: Number(port || 443),
      servername: host,
      rejectUnauthorized: false,
    })
    const end = (findings: Finding[]) => {
      socket.destroy()
      resolve(findings)
    }
    // No answer is no finding here: the check of the server reports it.
    socket.setTimeout(timeoutMs, () => end([]))
    socket.once('error', () => end([]))
    socket.once('secureConnect', () => {
      const expiry = checkEnd(
        `the certificate of ${url}`,
        Date.parse(socket.getPeerCertificate().valid_to),
        machine,
      )
      const isTrusted = socket.authorized || expiry.level === 'problem'
      end([
        isTrusted
          ? expiry
          : problem(
              'certificate',
              `clients do not trust the certificate of ${url}: ${String(socket.authorizationError)}`,
              'Install a certificate for this host name from an authority that clients trust, with its chain',
            ),
      ])
    })
  })
}

/** Checks the connections from and to this machine. */
export const checkNetwork = async (config: Config, machine: Machine): Promise<Finding[]> => {
  const found = await Promise.all([
    checkServer(config),
    checkArrival(config, machine),
    checkPort('PORT', config.HOST, config.PORT),
    checkPort('OPERATOR_PORT', config.OPERATOR_HOST, config.OPERATOR_PORT),
    checkSigners(config),
    checkMail(config),
    checkPublicCertificate(config, machine),
  ])
  return found.flat()
}
