// Runs one first contact with a third party, or lists all of them: npm run contact [-- NAME options…]
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { ConfigFaults, readConfig, type Config } from '../packages/server/src/platform/ops/config.ts'
import { contacts, findContact, type Contact } from './contact/contacts.ts'
import { runSteps, type Options, type Run } from './contact/steps.ts'
import { reportUrlOf, today, writeReport } from './report.ts'

const usage = `
  --to ADDRESS     mail: the mailbox that gets the mail
  --port PORT      stripe, passkey: the port that waits for the event or the browser
  --wait SECONDS   how long a step waits for a person (default 600)
  --spend ID       chain: buys one unit of this workflow at BASE_URL with the wallet of PAYER_PRIVATE_KEY
  --report FOLDER  where the report is written (default docs/reports)`

const list = (write: (line: string) => void): void => {
  write('npm run contact -- NAME tries one third party for real, and writes a report:\n')
  const width = Math.max(...Object.keys(contacts).map((name) => name.length))
  for (const [name, { checks, needs }] of Object.entries(contacts)) {
    write(`${name.padEnd(width)}  ${checks}`)
    write(`${' '.repeat(width)}  needs ${needs}`)
  }
  write(usage)
}

/** No contact uses the database, so a machine without one can run them. */
const readSettings = (environment: NodeJS.ProcessEnv): Config =>
  readConfig(
    environment['DATABASE_URL'] || environment['DATABASE_URL_FILE']
      ? environment
      : { ...environment, DATABASE_URL: 'postgres://127.0.0.1/unused' },
  )

const reportOf = (name: string, { checks }: Contact, { outcomes, leftToPerson, passed }: Run): string =>
  `# First contact: ${name}, ${today()}

\`npm run contact -- ${name}\` checks ${checks}. It ${passed ? 'passed.' : 'failed at the last step below.'}

${outcomes
  .map(({ sentence, passed: ok, details }) =>
    [
      `- ${ok ? '✓' : '✗'} ${sentence}`,
      ...details.map((detail) => `  - ${detail.replaceAll('\n', ' ')}`),
    ].join('\n'),
  )
  .join('\n')}
${leftToPerson.length === 0 ? '' : `\nA person checks:\n\n${leftToPerson.map((text) => `- [ ] ${text}`).join('\n')}\n`}`

const run = async (
  name: string,
  contact: Contact,
  { options, folder }: { readonly options: Options; readonly folder: string | undefined },
): Promise<number> => {
  const config = readSettings(process.env)
  const input = { config, environment: process.env, options }
  const result = await runSteps(contact.run, input, (line) => console.log(line))
  const file = `contact-${name}.md`
  const reports = folder === undefined ? undefined : pathToFileURL(`${folder}/`)
  writeReport(file, reportOf(name, contact, result), reports)
  console.log(
    `\n${result.passed ? 'Passed.' : 'Failed.'} Report: ${fileURLToPath(reportUrlOf(file, reports))}`,
  )
  return result.passed ? 0 : 1
}

const numberOf = (value: string | undefined, name: string): number | undefined => {
  if (value === undefined) return undefined
  if (!/^\d{1,5}$/.test(value)) throw new TypeError(`--${name} must be a whole number`)
  return Number(value)
}

const main = async (): Promise<number> => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      to: { type: 'string' },
      port: { type: 'string' },
      wait: { type: 'string' },
      spend: { type: 'string' },
      report: { type: 'string' },
    },
  })
  const [name] = positionals
  if (name === undefined) {
    list(console.log)
    return 0
  }
  const contact = findContact(name)
  if (!contact) {
    console.error(`There is no contact ${name}. These exist:\n`)
    list(console.error)
    return 1
  }
  const options = {
    to: values.to,
    port: numberOf(values.port, 'port'),
    waitSeconds: numberOf(values.wait, 'wait') ?? 600,
    spend: values.spend,
  }
  return run(name, contact, { options, folder: values.report })
}

/** Faults of the command line and of the settings need no stack. */
const isUsageFault = (error: unknown): error is Error =>
  error instanceof ConfigFaults || error instanceof TypeError

try {
  process.exitCode = await main()
} catch (error) {
  if (!isUsageFault(error)) throw error
  console.error(error.message)
  process.exitCode = 1
}
