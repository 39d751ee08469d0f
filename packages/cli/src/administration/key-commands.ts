import { Option, type Command } from 'commander'
import { operatorCall, queryOf, type OperatorRemote } from '../command/operator.ts'
import { addLocal, addOperator } from '../command/options.ts'
import type { AdmitOptions, SocketOptions } from './keys.ts'

const load = () => import('./keys.ts')
const socketOption = [
  '--socket [path]',
  'operators’ socket of the signer; default: as in the settings',
] as const

const addAdmission = (keys: Command): void => {
  const admission = keys.command('admission').description('manage the key that admits signing keys')
  const add = (text: string, description: string, example: string): Command =>
    addLocal(admission, text, description, example).option(...socketOption)
  add('show', 'show the admission key, the manifest and the signers', 'keys admission show').action(
    async (options: SocketOptions) => {
      const { ask, attempt } = await load()
      await attempt(options, () => ask(options, { op: 'show' }))
    },
  )
  add(
    'export',
    'move the private half into a file, out of the key folder',
    'keys admission export --out admission.json',
  )
    .requiredOption('--out <file>', 'new file for the private half')
    .action(async (options: SocketOptions & { out: string }) => {
      const { attempt, exportAdmission } = await load()
      await attempt(options, () => exportAdmission(options))
    })
  add(
    'import <file>',
    'put the private half back into the key folder',
    'keys admission import admission.json',
  ).action(async (file: string, options: SocketOptions) => {
    const { ask, attempt } = await load()
    const { readJson } = await import('../command/files.ts')
    await attempt(options, async () => ask(options, { op: 'import', key: readJson(file) }))
  })
  add(
    'request',
    'write what this signer asks to be admitted, with keys made ahead',
    'keys admission request --reserve 3 --out request.json',
  )
    .requiredOption('--out <file>', 'new file for the request')
    .option('--reserve <number>', 'keys in reserve for each purpose, at most 12', '3')
    .action(async (options: SocketOptions & { out: string; reserve: string }) => {
      const { attempt, writeRequest } = await load()
      await attempt(options, () => writeRequest(options))
    })
  add(
    'install <file>',
    'hand the manifest of keys admit to this signer; the others get it from the apis',
    'keys admission install manifest.jwt',
  )
    .option('--replace', 'take over another line of versions; only where the admission key is')
    .action(async (file: string, options: SocketOptions & { replace?: true }) => {
      const { attempt, install } = await load()
      await attempt(options, () => install(file, options))
    })
}

const addAdmit = (keys: Command): void => {
  addLocal(
    keys,
    'admit <requests...>',
    'admit the keys of signers: here, or with --admission on a machine without a signer',
    'keys admit request.json --admission admission.json --out manifest.jwt',
  )
    .option('--admission <file>', 'file with the private half of the admission key')
    .option('--out <file>', 'new file for the signed manifest, with --admission')
    .option(
      '--identity <thumbprints...>',
      'identities of signers that are new, as keys admission show prints them',
    )
    .option('--sign-at-once', 'new keys sign before verifiers had a day to learn them')
    .option(...socketOption)
    .action(async (files: string[], options: AdmitOptions) => {
      const { admit, attempt } = await load()
      await attempt(options, () => admit(files, options))
    })
  addLocal(
    keys,
    'database <accept>',
    'let the signer sign for another database cluster from the next request on; the argument is accept',
    'keys database accept',
  )
    .option(...socketOption)
    .action(async (_accept: string, options: SocketOptions) => {
      const { ask, attempt } = await load()
      await attempt(options, () => ask(options, { op: 'accept-database' }))
    })
}

const addChanges = (keys: Command): void => {
  addOperator(
    keys,
    'rotate',
    'publish the successor of a key; it signs a day later, on-chain keys 30 days later',
    'keys rotate live',
  )
    .argument('<purpose>', 'live, test, status, epoch, onchain, onchain-test, forging, order or report')
    .option(...socketOption)
    .action(async (purpose: string, options: OperatorRemote & SocketOptions) => {
      if (options.socket === undefined)
        return operatorCall(options, 'POST', '/operator/keys/rotate', { purpose })
      const { ask, attempt } = await load()
      return attempt(options, async () => ({
        purpose,
        pendingKid: await ask(options, { op: 'rotate', purpose }),
      }))
    })
  addOperator(
    keys,
    'revoke <kid>',
    'revoke a compromised key and remove it from the published keys at once',
    "keys revoke KID --reason 'the machine of the signer was entered'",
  )
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .option(...socketOption)
    .action(async (kid: string, options: OperatorRemote & SocketOptions & { reason: string }) => {
      const { reason } = options
      if (options.socket === undefined)
        return operatorCall(options, 'POST', `/operator/keys/${encodeURIComponent(kid)}/revoke`, { reason })
      const { ask, attempt } = await load()
      return attempt(options, async () => {
        if (!(await ask(options, { op: 'revoke', kid, reason })))
          throw new Error(`there is no key ${kid} that could be revoked`)
        return { kid, revoked: true }
      })
    })
}

const loadMaster = () => import('./master-key.ts')

const addMaster = (keys: Command): void => {
  addLocal(
    keys,
    'rewrap',
    'seal every stored value under the newest version of the master key; repeat it after an interruption',
    'keys rewrap',
    'keys rewrap --json',
  ).action(async (options: { json?: boolean }) => (await loadMaster()).rewrap(options))
  const master = keys.command('master').description('manage the versions of the master key')
  addLocal(
    master,
    'add',
    'add a version to master.key of this machine; nothing is sealed under it before keys rewrap',
    'keys master add',
  ).action(async (options: { json?: boolean }) => (await loadMaster()).addVersion(options))
  addLocal(
    master,
    'show',
    'show the versions, and which of them each process has',
    'keys master show',
  ).action(async (options: { json?: boolean }) => (await loadMaster()).showVersions(options))
  addLocal(
    master,
    'retire',
    'end the versions before the one that seals, and remove them from master.key of this machine',
    'keys master retire',
    'keys master retire --at-once',
  )
    .option('--at-once', 'do not wait until tokens of these versions have expired: they are then refused')
    .action(async (options: { json?: boolean; atOnce?: true }) => (await loadMaster()).retire(options))
}

type CheckOptions = OperatorRemote & Partial<Record<'since' | 'until' | 'from' | 'to', string>>

/** The keys that sign credentials, and the versions of the master key. `list`, `rotate` and `revoke` also work at the socket of the signer. */
export const addKeys = (program: Command): void => {
  const keys = program
    .command('keys')
    .description('manage the keys that sign credentials, and the master key')
  addOperator(keys, 'list', 'list the keys and their states', 'keys list', 'keys list --socket')
    .option(...socketOption)
    .action(async (options: OperatorRemote & SocketOptions) => {
      if (options.socket === undefined) return operatorCall(options, 'GET', '/operator/keys')
      const { ask, attempt } = await load()
      return attempt(options, async () => ({ keys: await ask(options, { op: 'list' }) }))
    })
  addOperator(
    keys,
    'onchain',
    'print the calls that register the on-chain keys with the registry contract',
    'keys onchain',
  ).action((options: OperatorRemote) => operatorCall(options, 'GET', '/operator/keys/onchain'))
  addChanges(keys)
  addOperator(
    keys,
    'check',
    'compare the signers’ journals with the stored credentials; exit code 1: they differ',
    'keys check --since 2026-11-01 --until 2026-11-02',
  )
    .option('--since <time>', 'ISO time; default: a day before --until')
    .option('--until <time>', 'ISO time; default: now')
    // The names of the first release.
    .addOption(new Option('--from <time>').hideHelp())
    .addOption(new Option('--to <time>').hideHelp())
    .action(({ since, until, from = since, to = until, ...remote }: CheckOptions) =>
      operatorCall(remote, 'GET', `/operator/keys/check?${queryOf({ from, to })}`),
    )
  addAdmit(keys)
  addAdmission(keys)
  addMaster(keys)
}
