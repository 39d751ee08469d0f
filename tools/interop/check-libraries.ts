import { execFile, spawnSync } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { makeCases, type Case, type Jwk } from './cases.ts'
import { libraries, type Library } from './libraries.ts'

const run = promisify(execFile)
const here = fileURLToPath(new URL('.', import.meta.url))
const installLimitMs = 900_000
const driverLimitMs = 120_000

const isInstalled = (name: string): boolean =>
  spawnSync('dpkg-query', ['-W', '-f', '${Status}', name])
    .stdout?.toString()
    .includes('install ok installed') ?? false
const missingOf = (library: Library): string[] => library.packages.filter((name) => !isInstalled(name))

const apt = (...parameters: string[]) =>
  spawnSync('apt-get', ['-q', ...parameters], {
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: installLimitMs,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })

/** As root it installs what is missing; otherwise it says so and leaves those libraries out. */
const install = (wanted: readonly Library[]): void => {
  const missing = [...new Set(wanted.flatMap(missingOf))]
  if (missing.length === 0) return
  if (process.getuid?.() !== 0) {
    console.log(`Not installed, and only root may: ${missing.join(' ')}`)
    return
  }
  console.log(`Installing ${missing.join(' ')} …`)
  apt('update')
  apt('install', '-y', '--no-install-recommends', ...missing)
}

const writeFolder = (folder: string, cases: readonly Case[], keys: readonly Jwk[]): void => {
  for (const name of ['pem', 'jwk', 'out']) mkdirSync(join(folder, name), { recursive: true })
  writeFileSync(join(folder, 'jwks.json'), JSON.stringify({ keys }))
  writeFileSync(join(folder, 'cases.tsv'), cases.map(({ name, token }) => `${name}\t${token}\n`).join(''))
  for (const key of keys) {
    const pem = createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
    writeFileSync(join(folder, 'pem', `${key.kid}.pem`), pem)
    writeFileSync(join(folder, 'jwk', `${key.kid}.json`), JSON.stringify(key))
  }
}

type Verdicts = ReadonlyMap<string, { readonly verdict: string; readonly why: string }>

const runLibrary = async (library: Library, folder: string): Promise<Verdicts> => {
  const program = join(folder, 'out', library.name.replaceAll(/\W/g, '-'))
  const fill = (words: readonly string[]) =>
    words.map((word) => word.replace('$HERE', here).replace('$OUT', program))
  const environment = {
    ...process.env,
    GO111MODULE: 'off',
    GOPATH: '/usr/share/gocode',
    GOCACHE: join(folder, 'go-cache'),
    GOFLAGS: '-p=2',
  }
  const options = { timeout: driverLimitMs, env: environment, maxBuffer: 1_048_576 }
  if (library.compile) {
    const [command = '', ...parameters] = fill(library.compile)
    await run(command, parameters, options)
  }
  const [command = '', ...parameters] = fill(library.run)
  const { stdout } = await run(command, [...parameters, folder], options)
  return new Map(
    stdout
      .split('\n')
      .filter((line) => line.includes('\t'))
      .map((line) => {
        const [name = '', verdict = '', why = ''] = line.split('\t')
        return [name, { verdict, why }]
      }),
  )
}

const label = ({ name, fixture }: Case) => (fixture ? `${name}*` : name)

const printTable = (cases: readonly Case[], found: ReadonlyMap<string, Verdicts>): void => {
  const width = Math.max(...libraries.map((library) => library.name.length)) + 2
  console.log(
    `\n${''.padEnd(width)}${cases.map((item) => label(item).padEnd(label(item).length + 2)).join('')}`,
  )
  for (const [name, verdicts] of found) {
    const cells = cases.map((item) => {
      const good = verdicts.get(item.name)?.verdict === item.expect
      return (good ? (item.expect === 'accept' ? '✓' : '✓ ref') : '✗ BAD').padEnd(label(item).length + 2)
    })
    console.log(`${name.padEnd(width)}${cells.join('')}`)
  }
  console.log('\n✓ accepted, ✓ ref refused, both as they should; ✗ BAD the other way round.')
  if (cases.some((item) => item.fixture))
    console.log(
      '* signed by this tool with the service’s claim schema: a minted one needs a chain, which this tool does not start.',
    )
}

export type LibraryResults = { readonly libraries: number; readonly passed: number; readonly failed: number }

/** Lets libraries of Debian judge credentials and forgeries of a running service, and prints what each said. */
export const checkLibraries = async (
  baseUrl: string,
  wanted: readonly Library[] = libraries,
): Promise<LibraryResults> => {
  const startedAt = performance.now()
  install(wanted)
  const usable = wanted.filter((library) => missingOf(library).length === 0)
  const folder = mkdtempSync(join(tmpdir(), 'pohf-interop-'))
  const found = new Map<string, Verdicts>()
  const faults: string[] = []
  try {
    const { cases, keys } = await makeCases(baseUrl)
    writeFolder(folder, cases, keys)
    for (const library of usable) {
      try {
        found.set(library.name, await runLibrary(library, folder))
      } catch (error) {
        faults.push(
          `${library.name} did not run: ${error instanceof Error ? error.message.slice(0, 500) : String(error)}`,
        )
        found.set(library.name, new Map())
      }
    }
    printTable(cases, found)
    for (const [library, verdicts] of found) {
      if (verdicts.size === 0) continue
      for (const { name, expect } of cases) {
        const { verdict = 'nothing', why = '' } = verdicts.get(name) ?? {}
        if (verdict !== expect) faults.push(`${library}, ${name}: ${verdict} ${why}, expected ${expect}`)
      }
    }
    for (const library of wanted.filter((candidate) => !usable.includes(candidate)))
      console.log(`Left out: ${library.name} (${missingOf(library).join(', ')} missing)`)
    for (const fault of faults) console.error(fault)
    const failed = [...found.values()].flatMap((verdicts) =>
      cases.filter(({ name, expect }) => verdicts.get(name)?.verdict !== expect),
    ).length
    const passed = found.size * cases.length - failed
    console.log(
      `\n${found.size} libraries, ${passed} of ${passed + failed} as expected, ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`,
    )
    return { libraries: found.size, passed, failed }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
