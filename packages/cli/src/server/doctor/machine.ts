import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { discovery, firstEndOf, KeyFolderMismatch, requireKeyFolder, type Config } from '@pohf/server/doctor'
import { messageOf } from '../../command/errors.ts'
import { ok, problem, warning, type Finding, type Machine } from './finding.ts'

/** A journal line and a mail need kilobytes; below this, PostgreSQL and logs soon stop everything. */
const freeBytesMin = 2 ** 30
const gigabytes = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`

/** The folder itself, or the folder in which it will be made. */
const existingFolder = (folder: string): string =>
  existsSync(folder) ? folder : existingFolder(dirname(folder))

const checkFolder = (name: string, folder: string, machine: Machine): Finding => {
  const place = existingFolder(folder)
  try {
    accessSync(place, constants.R_OK | constants.W_OK)
  } catch (error) {
    return problem(
      'disk',
      `${name}: ${messageOf(error)}`,
      `Run doctor as the user of the service, or give that user ${place}`,
    )
  }
  const free = machine.freeBytes(place)
  return free < freeBytesMin
    ? problem(
        'disk',
        `${gigabytes(free)} are free for ${name} (${folder})`,
        `Free space: at least ${gigabytes(freeBytesMin)}`,
      )
    : ok('disk', `${gigabytes(free)} are free for ${name}`)
}

const checkKeyFolder = (config: Config): Finding => {
  try {
    requireKeyFolder(config)
    return ok('key-folder', `${config.KEYS_DIR} belongs to this deployment`)
  } catch (error) {
    if (!(error instanceof KeyFolderMismatch))
      return problem('key-folder', messageOf(error), 'Run doctor as the user of the signer')
    const [note = '', ...steps] = error.message.split('\n')
    return problem('key-folder', note, steps.map((step) => step.replace(/^ +- /, '')).join(' '))
  }
}

const certificateDaysMin = 14
const dayMs = 86_400_000

/** Whether a certificate ends soon. */
export const checkEnd = (name: string, endsAtMs: number, { now }: Machine): Finding => {
  const date = new Date(endsAtMs).toISOString().slice(0, 10)
  const days = Math.floor((endsAtMs - now()) / dayMs)
  return days < certificateDaysMin
    ? problem(
        'certificate',
        `${name} ${days < 0 ? 'expired' : 'expires'} on ${date}`,
        'Renew it, install it and start the processes that use it again',
      )
    : ok('certificate', `${name} is valid until ${date}`)
}

const checkSignerCertificates = (config: Config, machine: Machine): Finding[] =>
  (['SIGNER_TLS_CERT', 'SIGNER_TLS_CA'] as const).flatMap((name): Finding[] => {
    const path = config[name]
    if (path === undefined || !existsSync(path)) return []
    try {
      return [checkEnd(`${name} (${path})`, firstEndOf(readFileSync(path), name) * 1_000, machine)]
    } catch (error) {
      return [problem('certificate', `${name}: ${messageOf(error)}`, 'Name a file with a certificate in PEM')]
    }
  })

const checkPages = (): Finding =>
  discovery.isWebBuilt() && discovery.isTagBuilt()
    ? ok('pages', 'built')
    : warning('pages', 'web pages or scripts are not built and answer 503', 'Run npm run build')

const isReadable = (folder: string): boolean => {
  try {
    accessSync(folder, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** Folders, disks and files of this machine. A signer with a user or container of its own keeps its folder to itself. */
export const checkMachine = (config: Config, machine: Machine, signerAnswers: boolean): Finding[] => {
  const isSignerHere = config.SIGNER_URL.length === 0 && (isReadable(config.KEYS_DIR) || !signerAnswers)
  return [
    checkFolder('DATA_DIR', config.DATA_DIR, machine),
    ...(isSignerHere ? [checkFolder('KEYS_DIR', config.KEYS_DIR, machine), checkKeyFolder(config)] : []),
    ...checkSignerCertificates(config, machine),
    checkPages(),
  ]
}
