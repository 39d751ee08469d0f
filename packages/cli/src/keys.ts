import { readFileSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { requireServer } from './missing-server.ts'
import { operatorCall, type Remote } from './operator.ts'

type SocketOptions = { readonly socket?: string | true }
type Message = { readonly op: string; readonly [field: string]: unknown }

/** Loaded on demand: the npm package has no server, and the calls of the operators' listener do not need it. */
const loadServer = () => {
  requireServer()
  return import('@pohf/server/keys')
}

const causeOf = (error: unknown): string =>
  error instanceof Error
    ? `${error.message} ${error.cause instanceof Error ? error.cause.message : ''}`
    : String(error)

/** Prints the result of an operation as JSON; a failure sets the exit code 1. */
const attempt = async (work: () => Promise<unknown>): Promise<void> => {
  try {
    console.log(JSON.stringify(await work(), null, 2))
  } catch (error) {
    console.error(causeOf(error).trim())
    process.exitCode = 1
  }
}
/** Asks at the operators' socket: that of `--socket`, or where the settings of the environment put it. */
const ask = async ({ socket }: SocketOptions, message: Message): Promise<unknown> => {
  const { connectOperatorSocket, readSignerConfig } = await loadServer()
  const path = typeof socket === 'string' ? socket : readSignerConfig().SIGNER_OPERATOR_SOCKET
  return connectOperatorSocket(path).request(message)
}

/** Files with keys are new files that only this user can read. */
const writeNew = (path: string, text: string): void =>
  writeFileSync(path, text, { flag: 'wx', mode: 0o600, flush: true })
const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'))

const exportAdmission = async (options: SocketOptions & { readonly out: string }): Promise<unknown> => {
  const { statementKeyOf } = await loadServer()
  const key = statementKeyOf(await ask(options, { op: 'export' }))
  writeNew(options.out, `${JSON.stringify(key.jwk)}\n`)
  // The copy in the key folder goes only after the file can be read back.
  if (statementKeyOf(readJson(options.out)).kid !== key.kid)
    throw new Error(`${options.out} does not hold the admission key: nothing was removed from the key folder`)
  await ask(options, { op: 'forget' })
  return { kid: key.kid, file: options.out }
}

const writeRequest = async (
  options: SocketOptions & { readonly out: string; readonly reserve: string },
): Promise<unknown> => {
  const request = await ask(options, { op: 'request', reserve: Number(options.reserve) })
  const { manifest } = (await ask(options, { op: 'show' })) as { manifest: string | null }
  const revocations = await ask(options, { op: 'revocations' })
  writeNew(options.out, `${JSON.stringify({ request, manifest, revocations })}\n`)
  return { file: options.out }
}

type AdmitOptions = SocketOptions & {
  readonly admission?: string
  readonly out?: string
  readonly signAtOnce?: true
  readonly identity?: string[]
}
const admit = async (files: readonly string[], options: AdmitOptions): Promise<unknown> => {
  const { admitOffline, describeRequest, statementKeyOf } = await loadServer()
  const requests = files.map(readJson)
  const identities = options.identity ?? []
  const admitted = requests.map(describeRequest)
  if (options.admission === undefined) {
    for (const file of requests)
      await ask(options, {
        op: 'admit',
        request: (file as { request?: unknown }).request,
        atOnce: options.signAtOnce === true,
        identities,
      })
    return { admitted }
  }
  if (options.out === undefined)
    throw new Error('--out is needed with --admission: the file for the new manifest')
  const signFrom = options.signAtOnce ? 'at-once' : 'published-ahead'
  const key = statementKeyOf(readJson(options.admission))
  const versions = admitOffline(key, requests, { now: Date.now(), signFrom, newIdentities: identities })
  writeNew(options.out, versions.map((jws) => `${jws}\n`).join(''))
  return { file: options.out, versions: versions.length, admitted }
}

const install = async (
  file: string,
  options: SocketOptions & { readonly replace?: true },
): Promise<unknown> => {
  let answer: unknown
  for (const manifest of readFileSync(file, 'utf8').split('\n').filter(Boolean))
    answer = await ask(options, { op: 'install', manifest, replace: options.replace === true })
  return answer
}

const socketOption = [
  '--socket [path]',
  'operators’ socket of the signer; default: as in the settings',
] as const

const addAdmission = (keys: Command): void => {
  const admission = keys.command('admission').description('manage the key that admits signing keys')
  admission
    .command('show')
    .description('show the admission key, the manifest and the signers')
    .option(...socketOption)
    .action((options: SocketOptions) => attempt(() => ask(options, { op: 'show' })))
  admission
    .command('export')
    .description('move the private half into a file, out of the key folder')
    .requiredOption('--out <file>', 'new file for the private half')
    .option(...socketOption)
    .action((options: SocketOptions & { out: string }) => attempt(() => exportAdmission(options)))
  admission
    .command('import <file>')
    .description('put the private half back into the key folder')
    .option(...socketOption)
    .action((file: string, options: SocketOptions) =>
      attempt(async () => ask(options, { op: 'import', key: readJson(file) })),
    )
  admission
    .command('request')
    .description('write what this signer asks to be admitted, with keys made ahead')
    .requiredOption('--out <file>', 'new file for the request')
    .option('--reserve <number>', 'keys in reserve for each purpose, at most 12', '3')
    .option(...socketOption)
    .action((options: SocketOptions & { out: string; reserve: string }) =>
      attempt(() => writeRequest(options)),
    )
  admission
    .command('install <file>')
    .description('hand the manifest of keys admit to this signer; the others get it from the apis')
    .option('--replace', 'take over another line of versions; only where the admission key is')
    .option(...socketOption)
    .action((file: string, options: SocketOptions & { replace?: true }) =>
      attempt(() => install(file, options)),
    )
}

const addAdmit = (keys: Command): void => {
  keys
    .command('admit <requests...>')
    .description('admit the keys of signers: here, or with --admission on a machine without a signer')
    .option('--admission <file>', 'file with the private half of the admission key')
    .option('--out <file>', 'new file for the signed manifest, with --admission')
    .option(
      '--identity <thumbprints...>',
      'identities of signers that are new, as keys admission show prints them',
    )
    .option('--sign-at-once', 'new keys sign before verifiers had a day to learn them')
    .option(...socketOption)
    .action((files: string[], options: AdmitOptions) => attempt(() => admit(files, options)))
  keys
    .command('database')
    .argument('<accept>', 'accept')
    .description('let the signer sign for another database cluster from the next request on')
    .option(...socketOption)
    .action((_accept: string, options: SocketOptions) =>
      attempt(() => ask(options, { op: 'accept-database' })),
    )
}

/** The commands of the signer's operators. `rotate` and `revoke` also work through the operators' listener. */
export const addKeys = (program: Command, operatorCommand: (command: Command) => Command): void => {
  const keys = program.command('keys').description('manage the keys that sign credentials')
  operatorCommand(keys.command('list'))
    .description('list the keys and their states')
    .option(...socketOption)
    .action((options: Remote & SocketOptions) =>
      options.socket === undefined
        ? operatorCall(options, 'GET', '/operator/keys')
        : attempt(async () => ({ keys: await ask(options, { op: 'list' }) })),
    )
  operatorCommand(keys.command('onchain'))
    .description('print the calls that register the on-chain keys with the registry contract')
    .action((options: Remote) => operatorCall(options, 'GET', '/operator/keys/onchain'))
  operatorCommand(keys.command('rotate'))
    .argument('<purpose>', 'live, test, status, epoch, onchain, onchain-test or forging')
    .description('publish the successor of a key; it signs a day later, on-chain keys 30 days later')
    .option(...socketOption)
    .action((purpose: string, options: Remote & SocketOptions) =>
      options.socket === undefined
        ? operatorCall(options, 'POST', '/operator/keys/rotate', { purpose })
        : attempt(async () => ({ purpose, pendingKid: await ask(options, { op: 'rotate', purpose }) })),
    )
  operatorCommand(keys.command('revoke <kid>'))
    .description('revoke a compromised key and remove it from the published keys at once')
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .option(...socketOption)
    .action((kid: string, options: Remote & SocketOptions & { reason: string }) => {
      const { reason } = options
      if (options.socket === undefined)
        return operatorCall(options, 'POST', `/operator/keys/${encodeURIComponent(kid)}/revoke`, { reason })
      return attempt(async () => {
        if (!(await ask(options, { op: 'revoke', kid, reason })))
          throw new Error(`there is no key ${kid} that could be revoked`)
        return { kid, revoked: true }
      })
    })
  operatorCommand(keys.command('check'))
    .description('compare the signers’ journals with the stored credentials; exit code 1: they differ')
    .option('--from <time>', 'ISO time; default: a day before --to')
    .option('--to <time>', 'ISO time; default: now')
    .action((options: Remote & Partial<Record<'from' | 'to', string>>) => {
      const query = new URLSearchParams()
      for (const name of ['from', 'to'] as const) {
        const time = options[name]
        if (time !== undefined) query.set(name, time)
      }
      return operatorCall(options, 'GET', `/operator/keys/check?${query.toString()}`)
    })
  addAdmit(keys)
  addAdmission(keys)
}
