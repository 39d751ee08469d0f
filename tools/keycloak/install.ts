import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { installDebianPackages } from '../driver/child.ts'

const version = '26.7.3'
const archiveHash = '27a6535553c3cdcd083872ba40629efafb3475e3b758e0c6f691395561dd0f1f'
const artifact = `org.keycloak:keycloak-quarkus-dist:${version}:zip`
const mavenPlugin = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'
const javaVersionMin = 17
const limitMs = 900_000

const cache = fileURLToPath(new URL('../../node_modules/.cache/pohf-keycloak', import.meta.url))
const home = join(cache, `keycloak-${version}`)

/** Why Keycloak cannot run on this machine; undefined where it can. Installs Java and Maven where Debian's tools are. */
export const findMissing = (): string | undefined => {
  const missing = installDebianPackages(
    ['default-jre-headless', 'maven', 'unzip'],
    ['java', 'mvn', 'unzip', 'sh'],
  )
  if (missing !== undefined) return missing
  const printed = spawnSync('java', ['-version'], { encoding: 'utf8' }).stderr
  const found = Number(/version "(\d+)/.exec(printed)?.[1])
  return found >= javaVersionMin
    ? undefined
    : `Java ${javaVersionMin} or newer is needed; java -version says: ${printed.split('\n')[0]}`
}

const run = (command: string, parameters: readonly string[]): void => {
  const { status, error } = spawnSync(command, parameters, {
    stdio: ['ignore', process.stderr.fd, 'inherit'],
    timeout: limitMs,
  })
  if (status !== 0)
    throw new Error(`${command} ${parameters.join(' ')} ended with status ${status}`, { cause: error })
}

const hashOf = async (path: string): Promise<string> => {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

/** The folder of Keycloak. Maven brings it once, about 180 MB, and nothing is unpacked that has another hash. */
export const installKeycloak = async (): Promise<string> => {
  if (existsSync(home)) return home
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'install-'))
  try {
    run('mvn', ['-q', '-B', mavenPlugin, `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`])
    const archive = join(folder, `keycloak-quarkus-dist-${version}.zip`)
    const found = await hashOf(archive)
    if (found !== archiveHash)
      throw new Error(`${artifact} has the SHA-256 ${found}, expected ${archiveHash}`)
    run('unzip', ['-q', archive, '-d', folder])
    renameSync(join(folder, `keycloak-${version}`), home)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return home
}
