import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const checksumsFile = 'SHA256SUMS'
export const signatureFile = `${checksumsFile}.sig`
/** Signatures of this name are valid for releases and for nothing else that the key signs. */
const namespace = 'pohf-release'

const sha256Of = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex')

const filesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name !== checksumsFile && name !== signatureFile)
    .toSorted()

/** Writes the SHA-256 of every file of a folder, as `sha256sum --check` reads them. */
export const writeChecksums = (folder: string): void => {
  const lines = filesIn(folder).map((name) => `${sha256Of(join(folder, name))}  ${name}\n`)
  writeFileSync(join(folder, checksumsFile), lines.join(''))
}

/** Signs the checksums with an SSH key, which may be in an agent or on a security key. */
export const signChecksums = (folder: string, key: string): void => {
  rmSync(join(folder, signatureFile), { force: true })
  execFileSync('ssh-keygen', ['-Y', 'sign', '-f', key, '-n', namespace, join(folder, checksumsFile)], {
    stdio: ['inherit', 'ignore', 'pipe'],
  })
}

const signatureFaults = (folder: string, signers: string, identity: string): string[] => {
  const signature = join(folder, signatureFile)
  if (!existsSync(signature)) return [`${signatureFile} is missing`]
  const { status, stderr, stdout } = spawnSync(
    'ssh-keygen',
    ['-Y', 'verify', '-f', signers, '-I', identity, '-n', namespace, '-s', signature],
    { input: readFileSync(join(folder, checksumsFile)), encoding: 'utf8' },
  )
  return status === 0 ? [] : [`${checksumsFile} is not signed by ${identity}: ${`${stdout}${stderr}`.trim()}`]
}

/** What is wrong with the files of a release. `signers` is a file of allowed signers of OpenSSH. */
export const releaseFaults = (folder: string, signers: string, identity: string): string[] => {
  const sums = join(folder, checksumsFile)
  if (!existsSync(sums)) return [`${checksumsFile} is missing`]
  const unsigned = signatureFaults(folder, signers, identity)
  // Checksums that nobody signed say nothing.
  if (unsigned.length > 0) return unsigned
  const listed = new Map(
    readFileSync(sums, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => [line.slice(66), line.slice(0, 64)]),
  )
  const present = filesIn(folder)
  return [
    ...[...listed.keys()].filter((name) => !present.includes(name)).map((name) => `${name} is missing`),
    ...present.filter((name) => !listed.has(name)).map((name) => `${name} is not in ${checksumsFile}`),
    ...present
      .filter((name) => listed.has(name) && listed.get(name) !== sha256Of(join(folder, name)))
      .map((name) => `${name} was changed`),
  ]
}
